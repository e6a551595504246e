//! Finding the harness among this process's ancestors: its life is the session's life.
//!
//! It must never take a process that ends with the hook for the harness where the harness itself can be found, nor one
//! that merely collects orphans: a session of it would never end.

use std::fs::{self, File};
use std::io::Read;

use steward_wire::Ancestor;
use thiserror::Error;

/// How far up is looked. A harness is two or three processes up, a wrapped one a few more.
const FARTHEST: usize = 32;

/// Interpreters: a script has its own name, and the interpreter's executable.
const SHELLS: [&str; 8] = ["ash", "bash", "busybox", "dash", "fish", "ksh", "sh", "zsh"];

/// Programs that adopt what a dead process left behind.
const REAPERS: [&str; 6] = ["catatonit", "docker-init", "dumb-init", "init", "systemd", "tini"];

/// Why no process is the harness.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum NoHarness {
    /// The parent is outside of what can be seen.
    #[error("the parent process cannot be seen")]
    Unseen,
    /// The parent has died already.
    #[error("the process that started this one is gone; {name} adopted it")]
    Orphaned {
        /// The process that adopted this one.
        name: String,
    },
}

/// A process, as `/proc` tells.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Process {
    identity: Ancestor,
    parent: u32,
    /// What the process calls itself, at most 15 bytes.
    name: String,
    /// The file name of its executable; empty where that may not be seen.
    executable: String,
}

/// Returns the nearest ancestor whose process or executable is named `prefix…`, else the parent.
pub(crate) fn harness_process(prefix: &str) -> Result<Ancestor, NoHarness> {
    let parent = rustix::process::getppid().ok_or(NoHarness::Unseen)?;
    nearest(parent.as_raw_nonzero().get().cast_unsigned(), prefix, read_process)
}

fn nearest(parent: u32, prefix: &str, read: impl Fn(u32) -> Option<Process>) -> Result<Ancestor, NoHarness> {
    let parent = read(parent).ok_or(NoHarness::Unseen)?;
    let mut ancestors = std::iter::successors(Some(parent.clone()), |process| read(process.parent)).take(FARTHEST);
    if let Some(harness) = ancestors.find(|process| is_harness(process, prefix)) {
        return Ok(harness.identity);
    }
    if REAPERS.contains(&parent.name.as_str()) {
        return Err(NoHarness::Orphaned { name: parent.name });
    }
    Ok(parent.identity)
}

fn is_harness(process: &Process, prefix: &str) -> bool {
    let is_script = SHELLS.contains(&process.executable.as_str());
    process.executable.starts_with(prefix) || (process.name.starts_with(prefix) && !is_script)
}

fn read_process(pid: u32) -> Option<Process> {
    // More than the name and 51 numbers can take, so that one read is enough.
    let mut stat = [0; 2048];
    let length = File::open(format!("/proc/{pid}/stat")).ok()?.read(&mut stat).ok()?;
    let executable = fs::read_link(format!("/proc/{pid}/exe")).ok().and_then(|path| {
        let name = path.file_name()?.to_string_lossy().into_owned();
        // The kernel's mark of a program that was replaced while it ran, as an update does.
        Some(name.trim_end_matches(" (deleted)").to_owned())
    });
    parse_stat(pid, stat.get(..length)?, executable.unwrap_or_default())
}

/// Reads `/proc/<pid>/stat`, see `proc_pid_stat(5)`. The name may hold spaces and parentheses, so it ends at the last one.
fn parse_stat(pid: u32, stat: &[u8], executable: String) -> Option<Process> {
    let text = String::from_utf8_lossy(stat);
    let (_, rest) = text.split_once('(')?;
    let (name, fields) = rest.rsplit_once(')')?;
    // The state is field 3.
    let field = |number: usize| fields.split_whitespace().nth(number - 3);
    Some(Process {
        identity: Ancestor { pid, start_time: field(22)?.parse().ok()? },
        parent: field(4)?.parse().ok()?,
        name: name.to_owned(),
        executable,
    })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    /// Pids count up from 10, each the child of the next.
    fn table(names: &'static [(&'static str, &'static str)]) -> impl Fn(u32) -> Option<Process> {
        |pid| {
            let (name, executable) = names.get(usize::try_from(pid.checked_sub(10)?).ok()?)?;
            Some(Process {
                identity: Ancestor { pid, start_time: u64::from(pid) * 100 },
                parent: pid + 1,
                name: (*name).to_owned(),
                executable: (*executable).to_owned(),
            })
        }
    }

    #[rstest]
    #[case::directly(&[("claude", "claude"), ("bash", "bash")], 10)]
    #[case::through_a_shell(&[("sh", "dash"), ("claude", "claude"), ("bash", "bash")], 11)]
    #[case::title_of_a_node_program(&[("sh", "dash"), ("claude", "node")], 11)]
    #[case::of_a_background_session(&[("sh", "dash"), ("claude.exe", "claude.exe"), ("pty", "claude.exe")], 11)]
    #[case::version_in_the_title(&[("2.1.197", "claude")], 10)]
    #[case::wrapper_script_with_the_name(&[("claude-hook.sh", "bash"), ("claude", "claude")], 11)]
    #[case::nested_sessions(&[("claude", "claude"), ("claude", "claude")], 10)]
    #[case::none_so_the_parent(&[("python3", "python3.12"), ("bash", "bash")], 10)]
    fn the_nearest_process_with_the_name_is_the_harness(
        #[case] names: &'static [(&'static str, &'static str)],
        #[case] expected: u32,
    ) {
        let found = nearest(10, "claude", table(names));

        assert_eq!(found, Ok(Ancestor { pid: expected, start_time: u64::from(expected) * 100 }));
    }

    #[rstest]
    #[case::adopted(&[("systemd", "systemd")], NoHarness::Orphaned { name: "systemd".to_owned() })]
    #[case::outside_of_the_namespace(&[], NoHarness::Unseen)]
    fn an_orphan_has_no_harness(#[case] names: &'static [(&'static str, &'static str)], #[case] expected: NoHarness) {
        assert_eq!(nearest(10, "claude", table(names)), Err(expected));
    }

    #[test]
    fn a_name_may_hold_anything() {
        let stat = b"42 (a) (b\xff) R 7 1 1 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 987654 0 0";

        let process = parse_stat(42, stat, String::new()).unwrap();

        assert_eq!(process.identity, Ancestor { pid: 42, start_time: 987_654 });
        assert_eq!((process.parent, process.name.as_str()), (7, "a) (b\u{fffd}"));
    }

    #[test]
    fn this_process_is_seen_as_the_system_sees_it() {
        let own = read_process(std::process::id()).unwrap();

        let parent = rustix::process::getppid().unwrap().as_raw_nonzero().get().cast_unsigned();
        assert_eq!(own.parent, parent);
        assert_eq!(harness_process("no such harness").unwrap().pid, parent);
    }
}
