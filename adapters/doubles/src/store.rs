//! The companion's memory, kept in memory, with failures on demand.
//!
//! It must never change anything in a call that fails.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use async_trait::async_trait;
use steward_ports::{Backend, DatabaseIdentity, Intent, Manifest, Receipt, Record, Store, StoreError, WorkspaceRoot};

use crate::script::locked;

/// One method of the port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StoreCall {
    /// [`Store::load`].
    Load,
    /// [`Store::load_manifest`].
    LoadManifest,
    /// [`Store::record_intent`].
    RecordIntent,
    /// [`Store::clear_intent`].
    ClearIntent,
    /// [`Store::save_receipt`].
    SaveReceipt,
    /// [`Store::drop_receipt`].
    DropReceipt,
    /// [`Store::save_database`].
    SaveDatabase,
}

#[derive(Debug, Clone, Default)]
struct Memory {
    receipt: Option<Receipt>,
    manifest: Option<Manifest>,
    intent: Option<Intent>,
    last_backend: Option<Backend>,
}

#[derive(Debug, Default)]
struct Contents {
    workspaces: BTreeMap<WorkspaceRoot, Memory>,
    databases: BTreeMap<PathBuf, DatabaseIdentity>,
    /// How many of the next calls fail.
    failures: BTreeMap<StoreCall, usize>,
}

/// A store that outlives the machines of a test like files outlive a daemon.
#[derive(Debug, Default)]
pub struct MemoryStore {
    contents: Mutex<Contents>,
}

impl MemoryStore {
    /// Lets the next `times` calls of `call` fail with a full disk.
    pub fn fail(&self, call: StoreCall, times: usize) {
        locked(&self.contents).failures.insert(call, times);
    }

    /// Returns what is remembered of `workspace`, except its database.
    pub fn record(&self, workspace: &WorkspaceRoot) -> Record {
        let memory = locked(&self.contents).workspaces.get(workspace).cloned().unwrap_or_default();
        Record { receipt: memory.receipt, intent: memory.intent, database: None, last_backend: memory.last_backend }
    }

    /// Remembers `backend` as the one that kept the graph of `workspace`.
    pub fn remember_backend(&self, workspace: &WorkspaceRoot, backend: Backend) {
        locked(&self.contents).workspaces.entry(workspace.clone()).or_default().last_backend = Some(backend);
    }

    /// Forgets everything about `workspace`, as where its file was damaged.
    pub fn forget(&self, workspace: &WorkspaceRoot) {
        locked(&self.contents).workspaces.remove(workspace);
    }

    fn attempt<T>(&self, call: StoreCall, action: impl FnOnce(&mut Contents) -> T) -> Result<T, StoreError> {
        let mut contents = locked(&self.contents);
        if let Some(left) = contents.failures.get_mut(&call).filter(|left| **left > 0) {
            *left -= 1;
            let source = io::Error::from(io::ErrorKind::StorageFull);
            return Err(StoreError::Unusable { path: PathBuf::from("/state/record"), source });
        }
        Ok(action(&mut contents))
    }
}

#[async_trait]
impl Store for MemoryStore {
    async fn load<'a>(&self, workspace: &WorkspaceRoot, database: Option<&'a Path>) -> Result<Record, StoreError> {
        let database =
            self.attempt(StoreCall::Load, |contents| database.and_then(|path| contents.databases.get(path)).cloned())?;
        Ok(Record { database, ..self.record(workspace) })
    }

    async fn load_manifest(&self, workspace: &WorkspaceRoot) -> Result<Option<Manifest>, StoreError> {
        self.attempt(StoreCall::LoadManifest, |contents| contents.workspaces.get(workspace)?.manifest.clone())
    }

    async fn record_intent(&self, workspace: &WorkspaceRoot, intent: &Intent) -> Result<(), StoreError> {
        self.attempt(StoreCall::RecordIntent, |contents| {
            contents.workspaces.entry(workspace.clone()).or_default().intent = Some(intent.clone());
        })
    }

    async fn clear_intent(&self, workspace: &WorkspaceRoot) -> Result<(), StoreError> {
        self.attempt(StoreCall::ClearIntent, |contents| {
            contents.workspaces.entry(workspace.clone()).or_default().intent = None;
        })
    }

    async fn save_receipt(&self, receipt: &Receipt, manifest: &Manifest) -> Result<(), StoreError> {
        self.attempt(StoreCall::SaveReceipt, |contents| {
            let memory = Memory {
                receipt: Some(receipt.clone()),
                manifest: Some(manifest.clone()),
                intent: None,
                last_backend: Some(receipt.backend.clone()),
            };
            contents.workspaces.insert(receipt.workspace.clone(), memory);
        })
    }

    async fn drop_receipt(&self, workspace: &WorkspaceRoot) -> Result<(), StoreError> {
        self.attempt(StoreCall::DropReceipt, |contents| {
            let memory = contents.workspaces.entry(workspace.clone()).or_default();
            memory.receipt = None;
            memory.manifest = None;
        })
    }

    async fn save_database(&self, database: &DatabaseIdentity) -> Result<(), StoreError> {
        self.attempt(StoreCall::SaveDatabase, |contents| {
            contents.databases.insert(database.path.clone(), database.clone());
        })
    }
}
