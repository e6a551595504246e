//! The mark by which the processes of a group are known when its leader is gone.
//!
//! A group's number proves nothing by then: it may have become another group's. The mark is a variable in the
//! environment of the guard, which everything below it inherits, escapees included. It must never be guessable or shared
//! by two groups.

use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::io;

/// The name of the variable.
pub(crate) const VARIABLE: &str = "STEWARD_GROUP";

/// The value of the variable, unique to one group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Marker(String);

impl Marker {
    /// A mark that was never given before.
    pub(crate) fn new() -> io::Result<Self> {
        let text = fs::read_to_string("/proc/sys/kernel/random/uuid")?;
        Ok(Self(text.trim().to_owned()))
    }

    /// The mark that `text` names, `None` where it names none.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let is_marker = text.len() == 36 && text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
        is_marker.then(|| Self(text.to_owned()))
    }

    /// The variable's value.
    pub(crate) fn to_value(&self) -> OsString {
        OsString::from(&self.0)
    }

    /// Whether the process was started with the mark. One that may not be read, or that wrote over its environment,
    /// counts as unmarked.
    pub(crate) fn look(&self, pid: u32) -> Mark {
        let Ok(environment) = fs::read(format!("/proc/{pid}/environ")) else {
            return Mark::Absent;
        };
        if environment.is_empty() {
            return Mark::Undecided;
        }
        let entry = format!("{VARIABLE}={}", self.0);
        let mut variables = environment.split(|byte| *byte == 0);
        if variables.any(|variable| variable == entry.as_bytes()) { Mark::Present } else { Mark::Absent }
    }
}

/// What a look at a process's environment tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    /// It carries the mark.
    Present,
    /// It does not.
    Absent,
    /// Its environment is empty. It stays so for a kernel thread or after `env -i`; in the middle of an `execve` it is
    /// so for a moment (seen on Linux 6.18).
    Undecided,
}

impl fmt::Display for Marker {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_process_carries_its_own_mark_and_no_other() {
        let marker = Marker::new().unwrap();
        let other = Marker::new().unwrap();
        let mut process = Command::new("sh")
            .args(["-c", "echo ready; read line"])
            .env(VARIABLE, marker.to_value())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut ready = [0; 6];
        process.stdout.take().unwrap().read_exact(&mut ready).unwrap();

        let looks = (marker.look(process.id()), other.look(process.id()));
        process.kill().unwrap();
        process.wait().unwrap();

        assert_eq!(looks, (Mark::Present, Mark::Absent));
        assert_eq!(marker.look(process.id()), Mark::Absent);
    }

    #[test]
    fn only_its_own_shape_is_read() {
        let marker = Marker::new().unwrap();

        assert_eq!(Marker::parse(&marker.to_string()), Some(marker));
        assert_eq!(Marker::parse(""), None);
        assert_eq!(Marker::parse("../../../../../../../../etc/passwd/"), None);
    }
}
