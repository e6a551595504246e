//! The `FileSystem` port on the operating system.
//!
//! Responsible for handing each call to its module, away from the daemon's thread. It must never write.

use std::path::{Path, PathBuf};

use async_trait::async_trait;
use steward_ports::{
    Comparison, Exclusions, FileKind, FileSystem, FileSystemError, FileText, Manifest, ManifestDigest, Workspace,
};

use crate::bounded::{self, Content};
use crate::languages::kind_of_name;
use crate::rules::IndexRules;
use crate::{blocking, compare, resolve, scan};

/// Reads the disk of this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemFileSystem;

#[async_trait]
impl FileSystem for SystemFileSystem {
    async fn resolve_workspace<'a>(
        &self,
        directory: &Path,
        home: Option<&'a Path>,
    ) -> Result<Workspace, FileSystemError> {
        let home = home.map(Path::to_owned);
        run(directory, move |directory| resolve::workspace(&directory, home.as_deref())).await
    }

    async fn read_text(&self, path: &Path, limit: u64) -> Result<FileText, FileSystemError> {
        run(path, move |path| read_text(path, limit)).await
    }

    async fn scan<'a>(
        &self,
        root: &Path,
        exclusions: &Exclusions,
        previous: Option<&'a Manifest>,
    ) -> Result<Manifest, FileSystemError> {
        let exclusions = exclusions.clone();
        let previous = previous.cloned();
        run(root, move |root| {
            let rules = IndexRules::load(&root, &exclusions)?;
            scan::scan(&root, &rules, previous.as_ref())
        })
        .await
    }

    async fn compare(
        &self,
        root: &Path,
        exclusions: &Exclusions,
        baseline: &Manifest,
    ) -> Result<Comparison, FileSystemError> {
        let exclusions = exclusions.clone();
        let baseline = baseline.clone();
        run(root, move |root| {
            let rules = IndexRules::load(&root, &exclusions)?;
            // What HEAD says is shown with a difference and decides nothing about it.
            let head = resolve::head_commit(&root).unwrap_or_else(|error| {
                tracing::warn!(%error, "the commit of a checkout is not known");
                None
            });
            compare::compare(&root, &rules, &baseline, head)
        })
        .await
    }

    async fn head(&self, root: &Path) -> Result<Option<String>, FileSystemError> {
        run(root, |root| resolve::head_commit(&root)).await
    }

    fn kind_by_name(&self, path: &Path) -> Option<FileKind> {
        kind_of_name(path.file_name()?.as_encoded_bytes())
    }

    fn digest(&self, manifest: &Manifest) -> ManifestDigest {
        scan::digest(manifest)
    }
}

fn read_text(path: PathBuf, limit: u64) -> Result<FileText, FileSystemError> {
    let bytes = match bounded::read(&path, limit) {
        Ok(Content::Bytes(bytes)) => bytes,
        Ok(Content::Absent) => return Ok(FileText::Absent),
        Ok(Content::Unusable(reason)) => return Err(FileSystemError::Unusable { path, reason }),
        Err(source) => return Err(FileSystemError::Unreadable { path, source }),
    };
    match String::from_utf8(bytes) {
        Ok(text) => Ok(FileText::Text(match text.strip_prefix('\u{feff}') {
            Some(text) => text.to_owned(),
            None => text,
        })),
        Err(_) => Err(FileSystemError::Unusable { path, reason: "not UTF-8".to_owned() }),
    }
}

async fn run<T: Send + 'static>(
    path: &Path,
    work: impl FnOnce(PathBuf) -> Result<T, FileSystemError> + Send + 'static,
) -> Result<T, FileSystemError> {
    let owned = path.to_owned();
    blocking::run(move || work(owned)).await.unwrap_or_else(|error| Err(scan::unreadable(path, error)))
}
