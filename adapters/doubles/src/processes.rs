//! Processes that are not ours, alive as long as a test says so.
//!
//! It must never take a reused number for the process that had it before.

use std::collections::BTreeMap;

use async_trait::async_trait;
use steward_ports::{ProcessIdentity, ProcessWatch, ProcessWatchError};
use tokio::sync::watch;

/// The live processes, by number.
#[derive(Debug)]
pub struct FakeProcesses {
    live: watch::Sender<BTreeMap<u32, ProcessIdentity>>,
}

impl Default for FakeProcesses {
    fn default() -> Self {
        Self { live: watch::Sender::new(BTreeMap::new()) }
    }
}

impl FakeProcesses {
    /// Starts a process with the number `pid`; one that had the number before is gone.
    pub fn start(&self, pid: u32) -> ProcessIdentity {
        let mut identity = ProcessIdentity { pid, start_time: 0, boot_id: "boot".to_owned() };
        self.live.send_modify(|live| {
            identity.start_time = live.get(&pid).map_or(1, |earlier| earlier.start_time + 1);
            live.insert(pid, identity.clone());
        });
        identity
    }

    /// Ends the process with the number `pid`, in whatever way.
    pub fn end(&self, pid: u32) {
        self.live.send_modify(|live| {
            live.remove(&pid);
        });
    }
}

#[async_trait]
impl ProcessWatch for FakeProcesses {
    async fn identify(&self, pid: u32) -> Result<Option<ProcessIdentity>, ProcessWatchError> {
        Ok(self.live.borrow().get(&pid).cloned())
    }

    async fn wait_ended(&self, process: &ProcessIdentity) -> Result<(), ProcessWatchError> {
        let mut live = self.live.subscribe();
        // The sender lives as long as `self`, so an error cannot come.
        let _ended = live.wait_for(|live| live.get(&process.pid) != Some(process)).await.is_ok();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    #[test]
    fn a_process_whose_number_was_reused_has_ended() {
        let processes = FakeProcesses::default();
        let first = processes.start(7);
        let mut ended = processes.wait_ended(&first);

        assert!(ended.as_mut().now_or_never().is_none());
        let second = processes.start(7);

        assert!(ended.as_mut().now_or_never().is_some());
        assert_ne!(first, second);
    }
}
