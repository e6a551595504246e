//! Finding processes that a test run left behind: they carry a variable that only this run's processes inherit.
//!
//! Ends no process: what is left is evidence. Sees nothing where there is no `/proc`.

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

const VARIABLE: &str = "STEWARD_TEST_RUN";

/// How long a process that is just ending may take.
const PATIENCE: Duration = Duration::from_secs(3);

/// What marks the processes of one run.
#[derive(Debug)]
pub(crate) struct Marker(String);

/// Gives a command, and everything that it starts, this run's mark.
pub(crate) fn mark(command: &mut Command) -> Marker {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let value = format!("{}-{}", std::process::id(), now.as_nanos());
    command.env(VARIABLE, &value);
    Marker(format!("{VARIABLE}={value}"))
}

/// Waits a little for marked processes to end, and describes those that did not.
pub(crate) fn wait_until_gone(marker: &Marker) -> Vec<String> {
    let begun = Instant::now();
    loop {
        let left = find(marker);
        if left.is_empty() || begun.elapsed() > PATIENCE {
            return left;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn find(marker: &Marker) -> Vec<String> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter_map(|entry| {
            let pid = entry.file_name().into_string().ok()?;
            // Processes of other users cannot be read, and those that have ended have no environment.
            let environment = fs::read(entry.path().join("environ")).ok()?;
            let is_marked = environment.split(|byte| *byte == 0).any(|variable| variable == marker.0.as_bytes());
            let command = fs::read(entry.path().join("cmdline")).ok()?;
            let shown = String::from_utf8_lossy(&command).replace('\0', " ");
            is_marked.then(|| format!("  {pid}: {}", shown.trim_end()))
        })
        .collect()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::process::Stdio;

    use super::*;

    #[test]
    fn a_marked_process_is_seen_until_it_ends() {
        let mut command = Command::new("cat");
        let marker = mark(&mut command);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        // Until the child has called exec it still shows its parent's environment.
        let begun = Instant::now();
        while find(&marker).is_empty() && begun.elapsed() < PATIENCE {
            std::thread::yield_now();
        }

        let while_running = find(&marker);
        drop(child.stdin.take());
        child.wait().unwrap();

        assert_eq!(while_running.len(), 1, "{while_running:?}");
        assert!(while_running[0].contains(&format!("{}: cat", child.id())), "{while_running:?}");
        assert_eq!(wait_until_gone(&marker), Vec::<String>::new());
    }
}
