//! The kernel's table of processes, as `/proc/<pid>/stat` shows it.
//!
//! It must never take a number for an identity: a process is its number together with its start time, and whoever
//! signals one by number has it checked again with the process held by a pidfd.

use std::fs;
use std::io;

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal};

/// One process at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessStat {
    /// Its number.
    pub pid: u32,
    /// Its parent's number, 0 where it has none.
    pub parent: u32,
    /// The number of its process group, 0 where it has none any more.
    pub group: u32,
    /// When it started, in clock ticks since boot.
    pub start_time: u64,
    /// Whether it still runs; a zombie does not.
    pub is_alive: bool,
}

impl ProcessStat {
    /// Reads the text of `/proc/<pid>/stat`, `None` where it is no such text.
    fn parse(text: &str) -> Option<Self> {
        // The name is in parentheses and may hold anything, parentheses and spaces included.
        let (start, rest) = text.rsplit_once(')')?;
        let pid = start.split_once(' ')?.0.parse().ok()?;
        let mut fields = rest.split_ascii_whitespace();
        let state = fields.next()?;
        let parent = fields.next()?.parse().ok()?;
        // The group of a process that is being taken off the table is -1 (seen on Linux 6.18).
        let group: i64 = fields.next()?.parse().ok()?;
        // Field 22 of the file; three of the fields after the name have been taken.
        let start_time = fields.nth(16)?.parse().ok()?;
        Some(Self {
            pid,
            parent,
            group: u32::try_from(group).unwrap_or(0),
            start_time,
            is_alive: !matches!(state, "Z" | "X" | "x") && group >= 0,
        })
    }
}

/// Reads one process, `None` where there is none of that number.
pub fn read(pid: u32) -> io::Result<Option<ProcessStat>> {
    let bytes = match fs::read(format!("/proc/{pid}/stat")) {
        Ok(bytes) => bytes,
        // ESRCH: it ended between the opening and the reading.
        Err(error) if error.kind() == io::ErrorKind::NotFound || Errno::from_io_error(&error) == Some(Errno::SRCH) => {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    match ProcessStat::parse(&String::from_utf8_lossy(&bytes)) {
        Some(stat) => Ok(Some(stat)),
        None => Err(io::Error::new(io::ErrorKind::InvalidData, format!("/proc/{pid}/stat has an unknown shape"))),
    }
}

/// Reads all processes that this one may see. Those that start meanwhile may be missing.
pub fn all() -> io::Result<Vec<ProcessStat>> {
    let mut processes = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let name = entry?.file_name();
        let Some(pid) = name.to_str().and_then(|text| text.parse().ok()) else {
            continue;
        };
        match read(pid) {
            Ok(stat) => processes.extend(stat),
            // Mounted with `hidepid`: another user's process, and none of ours.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {}
            Err(error) => return Err(error),
        }
    }
    Ok(processes)
}

/// Those of `processes` that descend from `ancestor`, itself excluded.
pub fn descendants(processes: &[ProcessStat], ancestor: u32) -> Vec<ProcessStat> {
    let mut found: Vec<ProcessStat> = Vec::new();
    let mut parents = vec![ancestor];
    while let Some(parent) = parents.pop() {
        for process in processes {
            if process.parent == parent && process.pid != ancestor {
                found.push(*process);
                parents.push(process.pid);
            }
        }
    }
    found
}

/// Sends SIGKILL to `process` where it is still the same one, alive, and `is_meant` holds with its number pinned.
/// Returns whether it was sent.
///
/// Where the kernel has no pidfds the number is not pinned, and only the few microseconds since the check are open to
/// its reuse.
pub fn kill(process: &ProcessStat, is_meant: impl Fn() -> bool) -> io::Result<bool> {
    let Some(pid) = to_pid(process.pid) else {
        return Ok(false);
    };
    let pidfd = match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(pidfd) => Some(pidfd),
        Err(Errno::SRCH) => return Ok(false),
        // Not known to the kernel, forbidden by a sandbox, or no descriptor left.
        Err(_) => None,
    };
    let is_same = read(process.pid)?.is_some_and(|now| now.start_time == process.start_time && now.is_alive);
    if !is_same || !is_meant() {
        return Ok(false);
    }
    let sent = match pidfd {
        Some(pidfd) => pidfd_send_signal(pidfd, Signal::KILL),
        None => kill_process(pid, Signal::KILL),
    };
    match sent {
        Ok(()) => Ok(true),
        Err(Errno::SRCH) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// The number as system calls take it, `None` where no process can have it.
pub fn to_pid(number: u32) -> Option<Pid> {
    i32::try_from(number).ok().and_then(Pid::from_raw)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::plain("7 (cat) R 3 5 1 0 -1 4194304 97 0 0 0 0 0 0 0 20 0 1 0 4711 5 1 2", true)]
    #[case::hostile_name("7 (a) Z 1 (b)) S 3 5 1 0 -1 4194304 97 0 0 0 0 0 0 0 20 0 1 0 4711 5 1 2", true)]
    #[case::zombie("7 (cat) Z 3 5 1 0 -1 4194304 97 0 0 0 0 0 0 0 20 0 1 0 4711 5 1 2", false)]
    fn a_stat_line_is_read(#[case] line: &str, #[case] is_alive: bool) {
        let expected = ProcessStat { pid: 7, parent: 3, group: 5, start_time: 4711, is_alive };

        assert_eq!(ProcessStat::parse(line), Some(expected));
    }

    #[test]
    fn a_process_that_is_being_taken_off_the_table_is_dead() {
        let line = "7 (cat) R 0 -1 -1 0 -1 4194304 97 0 0 0 0 0 0 0 20 0 1 0 4711 5 1 2";

        let stat = ProcessStat::parse(line).unwrap();

        assert!(!stat.is_alive);
        assert_eq!((stat.parent, stat.group), (0, 0));
    }

    #[rstest]
    #[case::empty("")]
    #[case::cut("7 (cat) R 3 5")]
    #[case::no_name("7 R 3 5")]
    fn a_cut_stat_line_is_refused(#[case] line: &str) {
        assert_eq!(ProcessStat::parse(line), None);
    }

    #[test]
    fn descendants_are_found_over_generations_and_others_are_not() {
        let process = |pid, parent| ProcessStat { pid, parent, group: 1, start_time: 0, is_alive: true };
        let table = [process(1, 0), process(2, 1), process(3, 2), process(4, 3), process(5, 1)];

        let mut found: Vec<u32> = descendants(&table, 2).iter().map(|it| it.pid).collect();
        found.sort_unstable();

        assert_eq!(found, [3, 4]);
    }

    #[test]
    fn this_process_is_found_by_number_and_in_the_table() {
        let own = read(std::process::id()).unwrap().unwrap();

        assert!(own.is_alive);
        assert!(all().unwrap().iter().any(|it| it.pid == own.pid));
        assert_eq!(read(u32::MAX).unwrap(), None);
    }

    #[test]
    fn another_process_of_the_same_number_is_not_killed() {
        let mut bystander = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let stat = read(bystander.id()).unwrap().unwrap();
        let earlier = ProcessStat { start_time: stat.start_time - 1, ..stat };

        let sent_to_other = kill(&earlier, || true).unwrap();
        let sent_unmeant = kill(&stat, || false).unwrap();
        let survived = bystander.try_wait().unwrap().is_none();
        let sent = kill(&stat, || true).unwrap();
        bystander.wait().unwrap();

        assert!(!sent_to_other && !sent_unmeant && survived && sent);
    }
}
