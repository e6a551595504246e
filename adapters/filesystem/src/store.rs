//! The `Store` port on files.
//!
//! Responsible for keeping one record per workspace and one per database under the state directory. It must never
//! delete what it cannot read, and never write where another user can.
//!
//! `workspaces/<hash>/record.json` holds receipt and intent together, so that saving a receipt and clearing the intent
//! is one rename. The manifest is a file called after the hash of its bytes, written before the record that names it and
//! removed after no record does; so a record and its manifest fit together whenever a crash comes. There is one writer at
//! a time: the daemon's lock keeps a second one out.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use serde::Serialize;
use serde::de::DeserializeOwned;
use steward_ports::{DatabaseIdentity, Intent, Manifest, Receipt, Record, Store, StoreError, WorkspaceRoot};

use crate::blocking;
use crate::bounded::Content;
use crate::manifest_file;
use crate::path_text::PathText;
use crate::record::{BackendName, DatabaseEntry, DatabaseFile, IntentEntry, ReceiptEntry, RecordFile, VERSION};
use crate::scan;
use crate::state::StateDirectory;

const WORKSPACES: &str = "workspaces";
const DATABASES: &str = "databases";

const RECORD: &str = "record.json";
const RECORD_LIMIT: u64 = 1 << 20;

const MANIFEST_PREFIX: &str = "manifest-";
const MANIFEST_LIMIT: u64 = 1 << 30;

/// Keeps records below one directory, which is made when the first one is written.
#[derive(Debug, Clone)]
pub struct FileStore {
    files: Arc<Files>,
}

impl FileStore {
    /// Keeps records below `state_directory`, an absolute path.
    pub fn new(state_directory: PathBuf) -> Self {
        Self { files: Arc::new(Files { root: state_directory, writing: Mutex::new(()) }) }
    }

    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Files) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let files = Arc::clone(&self.files);
        let root = files.root.clone();
        blocking::run(move || work(&files)).await.unwrap_or_else(|error| Err(unusable(root, error)))
    }
}

#[async_trait]
impl Store for FileStore {
    async fn load<'a>(&self, workspace: &WorkspaceRoot, database: Option<&'a Path>) -> Result<Record, StoreError> {
        let workspace = workspace.clone();
        let database = database.map(Path::to_owned);
        self.run(move |files| files.load(&workspace, database.as_deref())).await
    }

    async fn load_manifest(&self, workspace: &WorkspaceRoot) -> Result<Option<Manifest>, StoreError> {
        let workspace = workspace.clone();
        self.run(move |files| files.load_manifest(&workspace)).await
    }

    async fn record_intent(&self, workspace: &WorkspaceRoot, intent: &Intent) -> Result<(), StoreError> {
        let intent = IntentEntry::from(intent);
        self.change(workspace, |record| record.intent = Some(intent)).await
    }

    async fn clear_intent(&self, workspace: &WorkspaceRoot) -> Result<(), StoreError> {
        self.change(workspace, |record| record.intent = None).await
    }

    async fn save_receipt(&self, receipt: &Receipt, manifest: &Manifest) -> Result<(), StoreError> {
        let receipt = receipt.clone();
        let manifest = manifest.clone();
        self.run(move |files| files.save_receipt(&receipt, &manifest)).await
    }

    async fn drop_receipt(&self, workspace: &WorkspaceRoot) -> Result<(), StoreError> {
        self.change(workspace, |record| record.receipt = None).await
    }

    async fn save_database(&self, database: &DatabaseIdentity) -> Result<(), StoreError> {
        let database = database.clone();
        self.run(move |files| files.save_database(&database)).await
    }
}

impl FileStore {
    async fn change(
        &self,
        workspace: &WorkspaceRoot,
        change: impl FnOnce(&mut RecordFile) + Send + 'static,
    ) -> Result<(), StoreError> {
        let workspace = workspace.clone();
        self.run(move |files| files.change(&workspace, change)).await
    }
}

#[derive(Debug)]
struct Files {
    root: PathBuf,
    /// A record is read, changed and written as one step.
    writing: Mutex<()>,
}

impl Files {
    fn load(&self, workspace: &WorkspaceRoot, database: Option<&Path>) -> Result<Record, StoreError> {
        let mut record = Record::default();
        if let Some(directory) = self.existing(WORKSPACES, Some(&key(workspace.as_path())))? {
            let file = damaged_is_absent(read_record(&directory, workspace))?;
            if let Some(file) = file {
                record.last_backend = file.last_backend.map(Into::into);
                record.intent = file.intent.map(Into::into);
                record.receipt = file.receipt.map(Into::into);
            }
        }
        if let Some(path) = database
            && let Some(directory) = self.existing(DATABASES, None)?
        {
            let file: Option<DatabaseFile> = damaged_is_absent(read_json(&directory, &database_name(path)))?;
            record.database = file
                .filter(|file| file.version == VERSION)
                .map(|file| file.database.into())
                .filter(|database: &DatabaseIdentity| database.path == path);
        }
        Ok(record)
    }

    fn load_manifest(&self, workspace: &WorkspaceRoot) -> Result<Option<Manifest>, StoreError> {
        let Some(directory) = self.existing(WORKSPACES, Some(&key(workspace.as_path())))? else {
            return Ok(None);
        };
        let mut missing: Option<String> = None;
        loop {
            let receipt = damaged_is_absent(read_record(&directory, workspace))?.and_then(|record| record.receipt);
            let Some(receipt) = receipt else {
                return Ok(None);
            };
            let read = read_manifest(&directory, &receipt.manifest_file)?;
            if read.is_some() {
                return Ok(read);
            }
            // A writer may have replaced record and manifest between the two reads; then the record names another one.
            if missing.as_ref() == Some(&receipt.manifest_file) {
                return Err(StoreError::Damaged {
                    path: directory.path_of(&manifest_name(&receipt.manifest_file)),
                    reason: "the manifest of a receipt is missing".to_owned(),
                });
            }
            missing = Some(receipt.manifest_file);
        }
    }

    fn save_receipt(&self, receipt: &Receipt, manifest: &Manifest) -> Result<(), StoreError> {
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let directory = self.made(WORKSPACES, Some(&key(receipt.workspace.as_path())))?;
        if scan::digest(manifest) != receipt.manifest {
            return Err(StoreError::Damaged {
                path: directory.path_of(RECORD),
                reason: "the receipt is for another manifest".to_owned(),
            });
        }
        let bytes = manifest_file::encode(manifest);
        let manifest_hash = hash(&bytes);
        let name = manifest_name(&manifest_hash);
        directory.replace(&name, &bytes).map_err(|error| unusable(directory.path_of(&name), error))?;
        let record = RecordFile {
            receipt: Some(ReceiptEntry::new(receipt, manifest_hash)),
            last_backend: Some(BackendName::from(&receipt.backend)),
            ..empty_record(&receipt.workspace)
        };
        write_json(&directory, RECORD, &record)?;
        tidy(&directory, &name);
        Ok(())
    }

    fn change(&self, workspace: &WorkspaceRoot, change: impl FnOnce(&mut RecordFile)) -> Result<(), StoreError> {
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let key = key(workspace.as_path());
        let before = match self.existing(WORKSPACES, Some(&key))? {
            Some(directory) => damaged_is_absent(read_record(&directory, workspace))?,
            None => None,
        }
        .unwrap_or_else(|| empty_record(workspace));
        let mut after = before.clone();
        change(&mut after);
        if before == after {
            return Ok(());
        }
        let directory = self.made(WORKSPACES, Some(&key))?;
        write_json(&directory, RECORD, &after)?;
        if after.receipt.is_none() {
            tidy(&directory, "");
        }
        Ok(())
    }

    fn save_database(&self, database: &DatabaseIdentity) -> Result<(), StoreError> {
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let directory = self.made(DATABASES, None)?;
        let file = DatabaseFile { version: VERSION, database: DatabaseEntry::from(database) };
        write_json(&directory, &database_name(&database.path), &file)
    }

    /// Opens a directory below the state directory; `None` where it was never made.
    fn existing(&self, kind: &str, key: Option<&str>) -> Result<Option<StateDirectory>, StoreError> {
        let open = || -> io::Result<Option<StateDirectory>> {
            let Some(root) = StateDirectory::open(&self.root)? else {
                return Ok(None);
            };
            let Some(directory) = root.open_below(kind)? else {
                return Ok(None);
            };
            match key {
                Some(key) => directory.open_below(key),
                None => Ok(Some(directory)),
            }
        };
        open().map_err(|error| unusable(self.path(kind, key), error))
    }

    /// Opens a directory below the state directory and makes it where it is missing.
    fn made(&self, kind: &str, key: Option<&str>) -> Result<StateDirectory, StoreError> {
        let open = || -> io::Result<StateDirectory> {
            let directory = StateDirectory::open_or_create(&self.root)?.open_or_create_below(kind)?;
            match key {
                Some(key) => directory.open_or_create_below(key),
                None => Ok(directory),
            }
        };
        open().map_err(|error| unusable(self.path(kind, key), error))
    }

    fn path(&self, kind: &str, key: Option<&str>) -> PathBuf {
        self.root.join(kind).join(key.unwrap_or(""))
    }
}

fn empty_record(workspace: &WorkspaceRoot) -> RecordFile {
    RecordFile {
        version: VERSION,
        workspace: PathText(workspace.as_path().to_owned()),
        receipt: None,
        intent: None,
        last_backend: None,
    }
}

fn read_record(directory: &StateDirectory, workspace: &WorkspaceRoot) -> Result<Option<RecordFile>, StoreError> {
    let Some(record) = read_json::<RecordFile>(directory, RECORD)? else {
        return Ok(None);
    };
    let damaged = |reason: String| StoreError::Damaged { path: directory.path_of(RECORD), reason };
    if record.version != VERSION {
        return Err(damaged(format!("its version is {}", record.version)));
    }
    if record.workspace.0 != workspace.as_path() {
        return Err(damaged("it is of another workspace".to_owned()));
    }
    Ok(Some(record))
}

/// Reads the manifest in the file with this hash; `None` where there is no such file.
fn read_manifest(directory: &StateDirectory, expected: &str) -> Result<Option<Manifest>, StoreError> {
    let name = manifest_name(expected);
    let path = directory.path_of(&name);
    let bytes = match directory.read(&name, MANIFEST_LIMIT) {
        Ok(Content::Absent) => return Ok(None),
        Ok(Content::Bytes(bytes)) => bytes,
        Ok(Content::Unusable(reason)) => return Err(StoreError::Damaged { path, reason }),
        Err(error) => return Err(unusable(path, error)),
    };
    let manifest = if hash(&bytes) == expected { manifest_file::decode(&bytes) } else { None };
    match manifest {
        Some(manifest) => Ok(Some(manifest)),
        None => Err(StoreError::Damaged {
            path,
            reason: "its content is not what was written, or of another version".to_owned(),
        }),
    }
}

fn read_json<T: DeserializeOwned>(directory: &StateDirectory, name: &str) -> Result<Option<T>, StoreError> {
    let path = directory.path_of(name);
    match directory.read(name, RECORD_LIMIT) {
        Ok(Content::Absent) => Ok(None),
        Ok(Content::Bytes(bytes)) => match serde_json::from_slice(&bytes) {
            Ok(value) => Ok(Some(value)),
            Err(error) => Err(StoreError::Damaged { path, reason: error.to_string() }),
        },
        Ok(Content::Unusable(reason)) => Err(StoreError::Damaged { path, reason }),
        Err(error) => Err(unusable(path, error)),
    }
}

fn write_json(directory: &StateDirectory, name: &str, value: &impl Serialize) -> Result<(), StoreError> {
    let written =
        serde_json::to_vec_pretty(value).map_err(io::Error::from).and_then(|bytes| directory.replace(name, &bytes));
    written.map_err(|error| unusable(directory.path_of(name), error))
}

/// The next write replaces a damaged file, so that it stands in nobody's way.
fn damaged_is_absent<T>(read: Result<Option<T>, StoreError>) -> Result<Option<T>, StoreError> {
    match read {
        Err(StoreError::Damaged { path, reason }) => {
            tracing::warn!(path = %path.display(), reason, "a state file is damaged and counts as absent");
            Ok(None)
        }
        other => other,
    }
}

/// What is left over costs space and nothing else, so a failure is only told.
fn tidy(directory: &StateDirectory, kept: &str) {
    if let Err(error) = directory.tidy(MANIFEST_PREFIX, kept) {
        tracing::warn!(path = %directory.path_of("").display(), %error, "old state files cannot be removed");
    }
}

/// The name under which a path is kept: paths are too long, and not all of them text.
fn key(path: &Path) -> String {
    let mut key = hash(std::os::unix::ffi::OsStrExt::as_bytes(path.as_os_str()));
    key.truncate(32);
    key
}

fn database_name(path: &Path) -> String {
    format!("{}.json", key(path))
}

fn manifest_name(hash: &str) -> String {
    format!("{MANIFEST_PREFIX}{hash}.bin")
}

fn hash(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}

fn unusable(path: PathBuf, source: io::Error) -> StoreError {
    StoreError::Unusable { path, source }
}
