//! Ending what a guard left behind.
//!
//! It must never signal a process that it has not checked with its number pinned.

use std::collections::BTreeSet;
use std::io;
use std::time::Duration;

use rustix::process::Pid;
use steward_guard::process_table::{self, ProcessStat};
use tokio::time::Instant;

use crate::marker::{Mark, Marker};

/// The processes that are left of one group, escapees included.
#[derive(Debug)]
pub(crate) struct Remains<'a> {
    /// The mark on everything below the guard.
    pub(crate) marker: &'a Marker,
    /// The group's number where it is known to be still the group's: its leader lives, or is a zombie of ours.
    pub(crate) group: Option<Pid>,
}

/// What came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ending {
    /// How many processes were killed.
    pub(crate) killed: usize,
    /// Whether none is left.
    pub(crate) is_complete: bool,
}

/// How long to go on: a process in an uninterruptible wait of the kernel dies only after that.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long to wait for processes whose environment is empty: some of them may be in the middle of an `execve`.
const EXEC_PATIENCE: Duration = Duration::from_millis(100);
/// How long the first pause is between two looks; it doubles each time.
const FIRST_PAUSE: Duration = Duration::from_millis(2);

impl Remains<'_> {
    /// Kills until a look finds nobody: a process that forks while it is looked for shows up in the next look.
    pub(crate) async fn end(&self) -> io::Result<Ending> {
        let start = Instant::now();
        let mut killed = BTreeSet::new();
        let mut pause = FIRST_PAUSE;
        loop {
            let Found { members, undecided } = self.find()?;
            let is_complete = members.is_empty() && (undecided == 0 || start.elapsed() > EXEC_PATIENCE);
            if is_complete || start.elapsed() > PATIENCE {
                return Ok(Ending { killed: killed.len(), is_complete });
            }
            for process in members {
                let is_member = || self.look(&process) == Mark::Present;
                if process_table::kill(&process, is_member)? {
                    killed.insert((process.pid, process.start_time));
                }
            }
            tokio::time::sleep(pause).await;
            pause *= 2;
        }
    }

    fn find(&self) -> io::Result<Found> {
        let mut found = Found { members: Vec::new(), undecided: 0 };
        for process in process_table::all()? {
            if !process.is_alive {
                continue;
            }
            match self.look(&process) {
                Mark::Present => found.members.push(process),
                Mark::Undecided => found.undecided += 1,
                Mark::Absent => {}
            }
        }
        Ok(found)
    }

    fn look(&self, process: &ProcessStat) -> Mark {
        let is_member = self.group.is_some_and(|group| process_table::to_pid(process.group) == Some(group));
        if is_member { Mark::Present } else { self.marker.look(process.pid) }
    }
}

struct Found {
    members: Vec<ProcessStat>,
    undecided: usize,
}
