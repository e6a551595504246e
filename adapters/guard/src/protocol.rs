//! What the daemon and a guard say to each other over the socket pair that is the guard's standard input.
//!
//! It must never block or allocate: requests are single bytes, reports have one fixed length. The two sides are always
//! of one build (the daemon starts the guard that was installed beside it), so there is no version.

/// What the daemon asks of a guard: one byte each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request {
    /// Start the program. Sent once the ledger names the group; a guard that sees the end of its input before has
    /// started nothing.
    Start,
    /// SIGINT to the group.
    Interrupt,
    /// SIGTERM to the group.
    Terminate,
    /// SIGKILL to everything that descends from the guard.
    Kill,
}

impl Request {
    /// The byte that stands for it.
    pub const fn to_byte(self) -> u8 {
        match self {
            Self::Start => b'S',
            Self::Interrupt => b'I',
            Self::Terminate => b'T',
            Self::Kill => b'K',
        }
    }

    /// What `byte` stands for, `None` where it stands for nothing.
    pub const fn from_byte(byte: u8) -> Option<Self> {
        match byte {
            b'S' => Some(Self::Start),
            b'I' => Some(Self::Interrupt),
            b'T' => Some(Self::Terminate),
            b'K' => Some(Self::Kill),
            _ => None,
        }
    }
}

/// What a guard tells the daemon. The program's end is told before the guard ends, so a guard that ended without telling
/// it was killed, and its program with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Report {
    /// The program runs: its `execve` succeeded.
    Started,
    /// The program could not be started; the errno says why. Nothing runs, and the guard ends.
    Failed(i32),
    /// The program exited with this code.
    Exited(i32),
    /// The program was ended by this signal.
    Signaled(i32),
}

impl Report {
    /// The length of an encoded report in bytes.
    pub const LENGTH: usize = 5;

    /// A tag followed by the number in little-endian order.
    pub const fn encode(self) -> [u8; Self::LENGTH] {
        let (tag, number) = match self {
            Self::Started => (b'S', 0),
            Self::Failed(errno) => (b'F', errno),
            Self::Exited(code) => (b'X', code),
            Self::Signaled(signal) => (b'Q', signal),
        };
        let [first, second, third, fourth] = number.to_le_bytes();
        [tag, first, second, third, fourth]
    }

    /// The inverse of `encode`, `None` for bytes that it never returns.
    pub const fn decode(bytes: [u8; Self::LENGTH]) -> Option<Self> {
        let [tag, first, second, third, fourth] = bytes;
        let number = i32::from_le_bytes([first, second, third, fourth]);
        match tag {
            b'S' => Some(Self::Started),
            b'F' => Some(Self::Failed(number)),
            b'X' => Some(Self::Exited(number)),
            b'Q' => Some(Self::Signaled(number)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::start(Request::Start)]
    #[case::interrupt(Request::Interrupt)]
    #[case::terminate(Request::Terminate)]
    #[case::kill(Request::Kill)]
    fn a_request_survives_the_wire(#[case] request: Request) {
        assert_eq!(Request::from_byte(request.to_byte()), Some(request));
    }

    #[rstest]
    #[case::started(Report::Started)]
    #[case::failed(Report::Failed(2))]
    #[case::exited(Report::Exited(255))]
    #[case::signaled(Report::Signaled(9))]
    #[case::negative(Report::Exited(-1))]
    fn a_report_survives_the_wire(#[case] report: Report) {
        assert_eq!(Report::decode(report.encode()), Some(report));
    }

    #[test]
    fn bytes_of_no_meaning_are_refused() {
        assert_eq!(Request::from_byte(0), None);
        assert_eq!(Report::decode([0; Report::LENGTH]), None);
    }
}
