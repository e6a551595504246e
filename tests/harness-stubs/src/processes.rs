//! Who is still running: live processes by descent and by a mark, read from `/proc`.
//!
//! It must never touch a process that the caller has not named by its id or its mark.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// How often a condition is looked at while it is waited for.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// How long a killed process may take to go. Long: a loaded machine is no leak.
const KILLED_WITHIN: Duration = Duration::from_secs(10);

/// A process that runs; one that has ended and waits to be reaped is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveProcess {
    /// Its process id.
    pub pid: u32,
    /// Its parent's process id.
    pub parent: u32,
    /// Its group's number.
    pub group: u32,
    /// Its start time in clock ticks since boot, which tells it from a later process of the same id.
    pub start_time: u64,
    /// Whether it is stopped by a signal, and so starts nothing.
    pub is_stopped: bool,
    /// Its arguments, joined by blanks; the name in brackets where it has none.
    pub command_line: String,
}

impl LiveProcess {
    /// Whether it is the same process, seen at another time.
    pub fn is(&self, other: &Self) -> bool {
        self.pid == other.pid && self.start_time == other.start_time
    }

    /// The file name of the program, as its first argument gives it.
    pub fn program_name(&self) -> &str {
        let program = self.command_line.split(' ').next().unwrap_or_default();
        program.rsplit('/').next().unwrap_or(program)
    }
}

impl fmt::Display for LiveProcess {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} (parent {}): {}", self.pid, self.parent, self.command_line)
    }
}

/// A directory that belongs to one test: each process that has its path in environment, arguments, working directory or
/// executable was started by that test.
///
/// Programs that are started with a filtered environment keep `HOME`, so a home below the directory marks them too.
#[derive(Debug, Clone)]
pub struct Mark(PathBuf);

impl Mark {
    /// Marks by `directory`, absolute, with a name that no other test uses.
    pub fn directory(directory: &Path) -> Self {
        Self(directory.to_path_buf())
    }

    /// A variable that marks a program by itself, whatever its home is.
    pub fn variable(&self) -> (&'static str, &Path) {
        ("STEWARD_TEST_MARK", &self.0)
    }

    /// The live processes that carry the mark, this one apart.
    pub fn processes(&self) -> Vec<LiveProcess> {
        let own = std::process::id();
        let others = pids().into_iter().filter(|pid| *pid != own);
        others.filter(|pid| self.is_on(*pid)).filter_map(read).collect()
    }

    /// Kills the processes that carry the mark; tells whether none was left within a bound.
    pub fn kill_all(&self) -> bool {
        wait_until(KILLED_WITHIN, || {
            let left = self.processes();
            for process in &left {
                kill(process.pid, Signal::KILL);
            }
            left.is_empty()
        })
    }

    fn is_on(&self, pid: u32) -> bool {
        let needle = self.0.as_os_str().as_encoded_bytes();
        let has_needle = |bytes: Vec<u8>| contains(&bytes, needle);
        let directory = PathBuf::from(format!("/proc/{pid}"));
        let in_file = |name| fs::read(directory.join(name)).is_ok_and(has_needle);
        let in_link = |name| {
            fs::read_link(directory.join(name))
                .is_ok_and(|target| has_needle(target.into_os_string().into_encoded_bytes()))
        };
        in_file("environ") || in_file("cmdline") || in_link("cwd") || in_link("exe")
    }
}

/// Fails where a marked process is left after `bound`, naming each; kills them, so that a failed test leaves nothing.
#[track_caller]
pub fn assert_no_process_left(mark: &Mark, bound: Duration) {
    if wait_until(bound, || mark.processes().is_empty()) {
        return;
    }
    let lines: Vec<String> = mark.processes().iter().map(ToString::to_string).collect();
    let outcome = if mark.kill_all() { "killed now" } else { "not to be killed" };
    panic!("processes were left running, {outcome}:\n{}", lines.join("\n"));
}

/// The live processes below `pid` in the tree of parents. One that was adopted by another process is not found.
pub fn descendants(pid: u32) -> Vec<LiveProcess> {
    let mut family = BTreeSet::from([pid]);
    let mut found = Vec::new();
    let mut others: Vec<LiveProcess> = pids().into_iter().filter_map(read).collect();
    loop {
        let (children, rest): (Vec<_>, Vec<_>) =
            others.into_iter().partition(|process| family.contains(&process.parent));
        if children.is_empty() {
            return found;
        }
        family.extend(children.iter().map(|process| process.pid));
        found.extend(children);
        others = rest;
    }
}

/// Whether the process runs; one that waits to be reaped does not.
pub fn is_alive(pid: u32) -> bool {
    read(pid).is_some()
}

/// Sends a signal to one process; to one that is gone nothing happens.
pub fn kill(pid: u32, signal: Signal) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        // It fails only for a process that has ended or was never ours; both show in what the caller waits for next.
        let _ = kill_process(pid, signal);
    }
}

/// Kills a child that has not been reaped, and all that descends from it.
///
/// They are stopped first: a process that is killed between starting another one and being looked at leaves an orphan
/// that no longer descends from anybody.
pub(crate) fn kill_family(pid: u32) {
    let mut family = BTreeSet::new();
    // Where one cannot be stopped in time, it is killed all the same.
    let _all_stopped = wait_until(KILLED_WITHIN, || {
        let members: Vec<LiveProcess> = read(pid).into_iter().chain(descendants(pid)).collect();
        for member in &members {
            if family.insert(member.pid) {
                kill(member.pid, Signal::STOP);
            }
        }
        members.iter().all(|member| member.is_stopped)
    });
    for pid in family {
        kill(pid, Signal::KILL);
    }
}

/// Waits until `condition` holds, looking again and again; tells whether it came to hold within `bound`.
#[must_use]
pub fn wait_until(bound: Duration, mut condition: impl FnMut() -> bool) -> bool {
    wait_for(bound, || condition().then_some(())).is_some()
}

/// Waits until `probe` finds something, looking again and again; none where it finds nothing within `bound`.
#[must_use]
pub fn wait_for<T>(bound: Duration, mut probe: impl FnMut() -> Option<T>) -> Option<T> {
    let end = Instant::now() + bound;
    loop {
        // The clock is read first, so that the last look is not older than the bound on a machine that stalls.
        let is_over = Instant::now() >= end;
        let found = probe();
        if found.is_some() || is_over {
            return found;
        }
        thread::sleep(LOOK_EVERY);
    }
}

fn pids() -> Vec<u32> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect()
}

/// Reads one process; none where it has ended, reaped or not.
fn read(pid: u32) -> Option<LiveProcess> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name stands in parentheses and may hold blanks and parentheses itself.
    let (beginning, rest) = stat.rsplit_once(')')?;
    let name = beginning.split_once('(')?.1;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    let [state, parent, group, ..] = fields.as_slice() else {
        return None;
    };
    if matches!(*state, "Z" | "X") {
        return None;
    }
    let arguments = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let command_line = String::from_utf8_lossy(&arguments).replace('\0', " ");
    Some(LiveProcess {
        pid,
        parent: parent.parse().ok()?,
        group: group.parse().ok()?,
        start_time: fields.get(19)?.parse().ok()?,
        is_stopped: matches!(*state, "T" | "t"),
        command_line: match command_line.trim_end() {
            "" => format!("[{name}]"),
            text => text.to_owned(),
        },
    })
}

fn contains(haystack: &[u8], needle: &[u8]) -> bool {
    haystack.windows(needle.len()).any(|window| window == needle)
}
