//! The `ProcessWatch` port: harnesses, whose end ends their sessions.
//!
//! It must never wake the daemon while nothing happens, as far as the kernel allows that.

use std::io;
use std::time::Duration;

use async_trait::async_trait;
use steward_guard::process_table;
use steward_ports::{ProcessIdentity, ProcessWatch, ProcessWatchError};

use crate::identity;
use crate::pidfd::{Opened, Pidfd};

/// Watches processes by pidfd, which costs no wakeup until one ends.
///
/// Where pidfds are missing (seccomp, gVisor), forbidden, or no descriptor is left, it looks into the process table
/// every two seconds instead: a process that is not our child can be waited for in no other way, and a session's end
/// may take up to five seconds.
#[derive(Debug, Clone, Copy, Default)]
pub struct PidfdWatch;

/// How often the process table is looked into where there are no pidfds.
const POLL_INTERVAL: Duration = Duration::from_secs(2);

#[async_trait]
impl ProcessWatch for PidfdWatch {
    async fn identify(&self, pid: u32) -> Result<Option<ProcessIdentity>, ProcessWatchError> {
        identity::of(pid).map_err(|source| ProcessWatchError::Unwatchable { pid, source })
    }

    async fn wait_ended(&self, process: &ProcessIdentity) -> Result<(), ProcessWatchError> {
        wait_ended(process).await.map_err(|source| ProcessWatchError::Unwatchable { pid: process.pid, source })
    }
}

/// Returns once `process` has ended; at once where it has already. A zombie has ended.
pub(crate) async fn wait_ended(process: &ProcessIdentity) -> io::Result<()> {
    let Some(pid) = process_table::to_pid(process.pid) else {
        return Ok(());
    };
    match Pidfd::open(pid)? {
        // Looked at with the descriptor open: from here on it is this process or none that the descriptor stands for.
        Opened::Pidfd(pidfd) if identity::is_alive(process)? => pidfd.ended().await,
        Opened::Pidfd(_) | Opened::NoProcess => Ok(()),
        Opened::Unavailable => poll_until_ended(process, POLL_INTERVAL).await,
    }
}

async fn poll_until_ended(process: &ProcessIdentity, interval: Duration) -> io::Result<()> {
    while identity::is_alive(process)? {
        tokio::time::sleep(interval).await;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command};

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(20);

    fn sleeper() -> Child {
        Command::new("sleep").arg("600").spawn().unwrap()
    }

    async fn identify(child: &Child) -> ProcessIdentity {
        PidfdWatch.identify(child.id()).await.unwrap().unwrap()
    }

    async fn ends(process: &ProcessIdentity) {
        tokio::time::timeout(PATIENCE, PidfdWatch.wait_ended(process)).await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn a_killed_process_has_ended_while_it_is_still_a_zombie() {
        let mut child = sleeper();
        let process = identify(&child).await;
        let watch = tokio::spawn(async move { PidfdWatch.wait_ended(&process).await });
        tokio::task::yield_now().await;
        assert!(!watch.is_finished());

        child.kill().unwrap();
        tokio::time::timeout(PATIENCE, watch).await.unwrap().unwrap().unwrap();

        assert_eq!(PidfdWatch.identify(child.id()).await.unwrap(), None);
        child.wait().unwrap();
    }

    #[tokio::test]
    async fn another_process_of_the_same_number_means_that_the_first_has_ended() {
        let mut child = sleeper();
        let mut earlier = identify(&child).await;
        earlier.start_time -= 1;
        let mut last_boot = identify(&child).await;
        last_boot.boot_id = "00000000-0000-0000-0000-000000000000".to_owned();

        ends(&earlier).await;
        ends(&last_boot).await;

        assert!(child.try_wait().unwrap().is_none());
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[tokio::test]
    async fn a_process_that_is_gone_has_ended() {
        let mut child = sleeper();
        let process = identify(&child).await;
        child.kill().unwrap();
        child.wait().unwrap();

        ends(&process).await;

        assert_eq!(PidfdWatch.identify(process.pid).await.unwrap(), None);
    }

    #[tokio::test]
    async fn without_pidfds_the_end_is_seen_too() {
        let mut child = sleeper();
        let process = identify(&child).await;
        let watch = poll_until_ended(&process, Duration::from_millis(5));

        let (seen, ()) = tokio::join!(tokio::time::timeout(PATIENCE, watch), async {
            tokio::task::yield_now().await;
            child.kill().unwrap();
        });

        seen.unwrap().unwrap();
        child.wait().unwrap();
    }
}
