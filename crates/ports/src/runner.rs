//! Running a program as a supervised process group.
//!
//! It must never expose a handle: groups are named by `GroupId`, so that mocks stay flat.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use async_trait::async_trait;
use thiserror::Error;

use crate::process::Environment;

/// What to run. There is never a shell, and stdin is always `/dev/null`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandSpec {
    /// The program, as an absolute path.
    pub program: PathBuf,
    /// Its arguments, without the program's name.
    pub arguments: Vec<OsString>,
    /// Its working directory.
    pub directory: PathBuf,
    /// Its whole environment; nothing is inherited from the daemon.
    pub environment: Environment,
    /// How many bytes of each of stdout and stderr are kept: half from the start, half from the end.
    pub capture_limit: usize,
    /// How long the group's guard waits between INT and KILL once the daemon is gone. A Ladybug writer is ruined by
    /// anything harder than INT and takes up to 27 s to obey it (cgc 0.6.13), so its guard is patient.
    pub orphan_grace: Duration,
    /// Added to the nice value of the group.
    pub niceness: u8,
}

/// A supervised process group. It stays valid after the group ended and is never reused within a daemon's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupId(pub u64);

/// How hard a group is asked to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stop {
    /// SIGINT: cgc closes its database and exits.
    Interrupt,
    /// SIGTERM: cgc dies without closing; an embedded database replays its log at the next opening.
    Terminate,
    /// SIGKILL to the whole group and to what escaped from it.
    Kill,
}

/// How the program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Exit {
    /// It exited with this code.
    Code(i32),
    /// It was ended by this signal.
    Signal(i32),
}

/// Which of its two outputs a program wrote to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OutputStream {
    /// File descriptor 1.
    Stdout,
    /// File descriptor 2.
    Stderr,
}

/// One line of output, without its line ending; bytes that are no UTF-8 are replaced, overlong lines are cut.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputLine {
    /// Where it was written.
    pub stream: OutputStream,
    /// What was written.
    pub text: String,
}

/// A bounded copy of one output stream.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Captured {
    /// The first bytes.
    pub head: Vec<u8>,
    /// The last bytes, as far as they are not in `head`.
    pub tail: Vec<u8>,
    /// How many bytes between the two were dropped.
    pub dropped: u64,
}

impl Captured {
    /// The text that was kept; bytes that are no UTF-8 are replaced, and a gap is marked by a line of its own.
    pub fn text(&self) -> String {
        let head = String::from_utf8_lossy(&self.head);
        let tail = String::from_utf8_lossy(&self.tail);
        match self.dropped {
            0 => format!("{head}{tail}"),
            dropped => format!("{head}\n[… {dropped} bytes left out …]\n{tail}"),
        }
    }
}

/// What is known of a group after its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// How the program ended.
    pub exit: Exit,
    /// What it wrote to stdout.
    pub stdout: Captured,
    /// What it wrote to stderr.
    pub stderr: Captured,
    /// From spawn to end.
    pub elapsed: Duration,
}

/// What a group does next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProcessEvent {
    /// It wrote a line.
    Line(OutputLine),
    /// Its program ended and nothing of its group is left.
    Ended(Ended),
}

/// Why a group could not be run or reached.
#[derive(Debug, Error)]
pub enum RunnerError {
    /// The program or its guard could not be started.
    #[error("{} cannot be started", program.display())]
    Spawn {
        /// The program or the guard.
        program: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// The ledger entry that must precede a spawn could not be written, so nothing was started.
    #[error("the process ledger {} cannot be written", ledger.display())]
    Ledger {
        /// The ledger.
        ledger: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// A group could not be signalled or waited for.
    #[error("process group of {} cannot be reached", program.display())]
    Unreachable {
        /// The program.
        program: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// This runner never started such a group.
    #[error("process group {0:?} is not known")]
    Unknown(GroupId),
}

/// Runs programs in process groups of their own, each led by a guard that ends it when the daemon dies.
///
/// After a crash of the daemon, of a guard or of both, no process of a group is left: the guard sees the end of its
/// input, a program whose guard was killed is killed by the kernel, and what two simultaneous kills leave is swept by
/// the next daemon from a ledger that is written before `spawn` returns.
#[async_trait]
pub trait Runner: Send + Sync {
    /// Starts `command`. On an error nothing is running.
    async fn spawn(&self, command: &CommandSpec) -> Result<GroupId, RunnerError>;

    /// Returns what the group does next. `Ended` comes last and is returned again by later calls; the output it carries
    /// may be given up by then (counted as dropped). A reader that is far behind loses the oldest lines. Dropping the
    /// future loses nothing.
    async fn next(&self, group: GroupId) -> Result<ProcessEvent, RunnerError>;

    /// Sends the signal to the whole group. A group that has ended is no error.
    async fn stop(&self, group: GroupId, stop: Stop) -> Result<(), RunnerError>;

    /// Ends what earlier daemons left behind, as far as the ledger proves that it is theirs; returns how many
    /// processes were ended. What cannot be verified is left alone.
    async fn sweep(&self) -> Result<usize, RunnerError>;
}
