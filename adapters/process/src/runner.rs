//! The `Runner` port.
//!
//! It must never block: what takes time happens in tasks, and a call that is given up leaves nothing running.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use steward_ports::{CommandSpec, GroupId, ProcessEvent, Runner, RunnerError, Stop};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use crate::group::Group;
use crate::launch::launch;
use crate::ledger;
use crate::supervisor::Supervisor;
use crate::sweep::{self, Finding};

/// Runs programs in groups led by `steward-guard`. To be used inside a tokio runtime with IO and time enabled; one
/// thread is enough.
///
/// Dropping it does to its groups what the daemon's death does: their guards end them within the orphan grace.
#[derive(Debug)]
pub struct ProcessRunner {
    guard: PathBuf,
    ledger: PathBuf,
    groups: Mutex<Groups>,
    tasks: Mutex<JoinSet<()>>,
}

#[derive(Debug, Default)]
struct Groups {
    last: u64,
    known: BTreeMap<GroupId, Arc<Group>>,
}

/// Of how many ended groups the output is kept, so that a long-lived daemon does not grow.
const OUTPUTS_KEPT: usize = 16;

impl ProcessRunner {
    /// A runner that starts groups by the program `guard` and keeps its ledger in the directory `ledger`, which belongs
    /// to it alone and is made when it is needed.
    pub fn new(guard: impl Into<PathBuf>, ledger: impl Into<PathBuf>) -> Self {
        Self { guard: guard.into(), ledger: ledger.into(), groups: Mutex::default(), tasks: Mutex::default() }
    }

    fn group(&self, id: GroupId) -> Result<Arc<Group>, RunnerError> {
        let groups = lock(&self.groups);
        groups.known.get(&id).cloned().ok_or(RunnerError::Unknown(id))
    }

    fn start_task(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut tasks = lock(&self.tasks);
        while tasks.try_join_next().is_some() {}
        tasks.spawn(task);
    }

    fn ledger_error(&self, source: io::Error) -> RunnerError {
        RunnerError::Ledger { ledger: self.ledger.clone(), source }
    }

    async fn sweep_orphan(&self, (entry, record): ledger::Orphan) -> io::Result<usize> {
        match sweep::look(record)? {
            Finding::Void => {
                entry.remove()?;
                Ok(0)
            }
            Finding::Guarded(record) => {
                self.start_task(async move {
                    if let Err(error) = sweep::see_guarded_end(entry, record).await {
                        tracing::warn!(%error, "an earlier daemon's group cannot be seen to its end");
                    }
                });
                Ok(0)
            }
            Finding::Unguarded(record) => sweep::end_unguarded(entry, &record).await,
        }
    }
}

impl Groups {
    fn add(&mut self, group: Arc<Group>) -> GroupId {
        self.last += 1;
        let id = GroupId(self.last);
        self.known.insert(id, group);
        id
    }

    fn forget_old_outputs(&self) {
        let read = self.known.values().rev().filter(|group| group.mailbox.is_end_delivered());
        for group in read.skip(OUTPUTS_KEPT) {
            group.mailbox.forget_output();
        }
    }
}

#[async_trait]
impl Runner for ProcessRunner {
    async fn spawn(&self, command: &CommandSpec) -> Result<GroupId, RunnerError> {
        let launched = launch(&self.guard, &self.ledger, command)?;
        let group = Arc::clone(&launched.ties.group);
        let (sender, started) = oneshot::channel();
        self.start_task(Supervisor::new(launched).run(sender));
        let outcome = started.await.unwrap_or_else(|_| Err(io::Error::other("the supervisor of the group is gone")));
        outcome.map_err(|source| RunnerError::Spawn { program: command.program.clone(), source })?;
        let mut groups = lock(&self.groups);
        groups.forget_old_outputs();
        Ok(groups.add(group))
    }

    async fn next(&self, group: GroupId) -> Result<ProcessEvent, RunnerError> {
        let group = self.group(group)?;
        Ok(group.mailbox.next().await)
    }

    async fn stop(&self, group: GroupId, stop: Stop) -> Result<(), RunnerError> {
        let group = self.group(group)?;
        group.stop(stop).map_err(|source| RunnerError::Unreachable { program: group.program.clone(), source })
    }

    /// Entries whose daemon lives are skipped. A group whose guard lives is not counted: it is being ended by its guard
    /// within its grace, and by this runner after that; meanwhile this returns.
    async fn sweep(&self) -> Result<usize, RunnerError> {
        let orphans = ledger::orphans(&self.ledger).map_err(|error| self.ledger_error(error))?;
        let mut killed = 0;
        for orphan in orphans {
            match self.sweep_orphan(orphan).await {
                Ok(more) => killed += more,
                // The others can be swept all the same, and this one's entry stays for the next time.
                Err(error) => tracing::warn!(%error, "an entry of the process ledger cannot be swept"),
            }
        }
        Ok(killed)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // No holder of these locks can panic half way through a change.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
