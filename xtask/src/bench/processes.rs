//! What Linux tells about a running process: processor time, memory, wake-ups.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;

/// The processor time of all threads so far, from the scheduler's own count in nanoseconds.
pub(super) fn cpu_time(pid: u32) -> anyhow::Result<Duration> {
    let spent = per_thread(pid, "schedstat", |text| text.split_whitespace().next()?.parse().ok())?;
    Ok(Duration::from_nanos(spent))
}

/// How often threads went to sleep on their own so far, which is how often they were woken up.
pub(super) fn wake_ups(pid: u32) -> anyhow::Result<u64> {
    per_thread(pid, "status", |text| field(text, "voluntary_ctxt_switches:"))
}

/// How many threads there are.
pub(super) fn threads(pid: u32) -> anyhow::Result<u64> {
    per_thread(pid, "status", |_| Some(1))
}

/// Resident memory in bytes.
pub(super) fn resident(pid: u32) -> anyhow::Result<u64> {
    let path = PathBuf::from(format!("/proc/{pid}/status"));
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let kibibytes = field(&text, "VmRSS:").with_context(|| format!("{} tells no VmRSS", path.display()))?;
    Ok(kibibytes * 1024)
}

fn per_thread(pid: u32, file: &str, number: impl Fn(&str) -> Option<u64>) -> anyhow::Result<u64> {
    let directory = PathBuf::from(format!("/proc/{pid}/task"));
    let threads = fs::read_dir(&directory).with_context(|| format!("cannot list {}", directory.display()))?;
    let mut sum = 0;
    for thread in threads.flatten() {
        let path = thread.path().join(file);
        // A thread may end between being listed and being read.
        let Ok(text) = fs::read_to_string(&path) else { continue };
        sum += number(&text).with_context(|| format!("{} is not understood", path.display()))?;
    }
    Ok(sum)
}

fn field(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name))?.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_used_time_and_memory() {
        let own = std::process::id();

        assert!(cpu_time(own).unwrap() > Duration::ZERO);
        assert!(resident(own).unwrap() > 100_000);
        assert!(threads(own).unwrap() >= 1);
    }

    #[test]
    fn a_field_is_told_from_one_whose_name_ends_alike() {
        let text = "nonvoluntary_ctxt_switches:\t7\nvoluntary_ctxt_switches:\t42\n";

        assert_eq!(field(text, "voluntary_ctxt_switches:"), Some(42));
        assert_eq!(field(text, "VmRSS:"), None);
    }
}
