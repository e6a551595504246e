//! Taking the manifest of a working tree.
//!
//! Responsible for a manifest that never claims a content a file did not have: a file that is written while it is read
//! gets a stamp that the next comparison looks through. It must never write or follow a link.

use std::cmp::Ordering;
use std::ffi::{CString, OsString};
use std::os::fd::AsFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use steward_ports::{FileKind, FileSystemError, Manifest, ManifestDigest, ManifestEntry};

use crate::baseline::Baseline;
use crate::links;
use crate::rules::IndexRules;
use crate::stamp::{self, Hashed};
use crate::walk::{self, Directory, FoundFile, Visitor};

/// Takes the manifest of the canonical directory `root`.
pub(crate) fn scan(root: &Path, rules: &IndexRules, previous: Option<&Manifest>) -> Result<Manifest, FileSystemError> {
    let taken_at = stamp::now();
    let previous = previous.map(Baseline::new);
    let walked = walk::walk(root, rules, || Collector { root, previous: previous.as_ref(), entries: Vec::new() })?;
    let mut visitors = walked.visitors;
    if let Some(collector) = visitors.first_mut() {
        visit_link_targets(root, rules, &walked.links, collector)?;
    }
    let mut entries: Vec<ManifestEntry> = visitors.into_iter().flat_map(|collector| collector.entries).collect();
    entries.sort_unstable_by(|left, right| compare_paths(&left.path, &right.path));
    Ok(Manifest { entries, taken_at })
}

/// Visits the files that are part of the graph through links only, one by one.
pub(crate) fn visit_link_targets(
    root: &Path,
    rules: &IndexRules,
    links: &[PathBuf],
    visitor: &mut impl Visitor,
) -> Result<(), FileSystemError> {
    for (target, kind) in links::resolve(root, rules, links) {
        let parent = links::open_parent(root, &target).map_err(|error| unreadable(&target, error))?;
        if let Some((descriptor, name)) = parent
            && let Ok(name) = CString::new(name.into_vec())
        {
            let directory = target.parent().unwrap_or(Path::new(""));
            visitor.visit(&Directory {
                path: directory.as_os_str().as_bytes(),
                descriptor: descriptor.as_fd(),
                files: &[FoundFile { name, kind }],
            })?;
        }
    }
    Ok(())
}

/// Returns the digest of `manifest`: BLAKE3 over each entry's path, kind and content, in hexadecimal digits.
pub(crate) fn digest(manifest: &Manifest) -> ManifestDigest {
    let mut hasher = blake3::Hasher::new();
    for entry in &manifest.entries {
        let path = entry.path.as_os_str().as_bytes();
        // The length makes the boundary between two fields unmistakable.
        hasher.update(&u64::try_from(path.len()).unwrap_or(u64::MAX).to_le_bytes());
        hasher.update(path);
        hasher.update(match (entry.kind, entry.hash.is_some()) {
            (FileKind::Bare, _) => b"b",
            (FileKind::Parsed, true) => b"p",
            (FileKind::Parsed, false) => b"u",
        });
        if let (FileKind::Parsed, Some(hash)) = (entry.kind, entry.hash) {
            hasher.update(&hash.0);
        }
    }
    ManifestDigest(hasher.finalize().to_hex().to_string())
}

/// The error of a file or directory that the system is too short of something to read.
pub(crate) fn unreadable(path: &Path, source: std::io::Error) -> FileSystemError {
    FileSystemError::Unreadable { path: path.to_owned(), source }
}

/// The path of `name` in the directory at the relative path `directory`.
pub(crate) fn path_of(directory: &[u8], name: &[u8]) -> PathBuf {
    PathBuf::from(OsString::from_vec(walk::join(directory, name)))
}

/// The order of `Path`, several times as fast: by components, so that a slash sorts before all other bytes.
fn compare_paths(left: &Path, right: &Path) -> Ordering {
    let left = left.as_os_str().as_bytes();
    let right = right.as_os_str().as_bytes();
    let rank = |byte: &u8| if *byte == b'/' { 0 } else { *byte };
    match left.iter().zip(right).position(|(left, right)| left != right) {
        Some(position) => rank(&left[position]).cmp(&rank(&right[position])),
        None => left.len().cmp(&right.len()),
    }
}

struct Collector<'a> {
    root: &'a Path,
    previous: Option<&'a Baseline<'a>>,
    entries: Vec<ManifestEntry>,
}

impl Visitor for Collector<'_> {
    fn visit(&mut self, directory: &Directory<'_>) -> Result<(), FileSystemError> {
        for file in directory.files {
            let path = path_of(directory.path, file.name.to_bytes());
            let entry =
                self.entry(directory, file, path.clone()).map_err(|error| unreadable(&self.root.join(path), error))?;
            self.entries.extend(entry);
        }
        Ok(())
    }
}

impl Collector<'_> {
    fn entry(
        &self,
        directory: &Directory<'_>,
        file: &FoundFile,
        path: PathBuf,
    ) -> std::io::Result<Option<ManifestEntry>> {
        let name = file.name.as_c_str();
        let Some(stamp) = stamp::stamp(directory.descriptor, name)? else {
            return Ok(None);
        };
        let (stamp, hash) = match (file.kind, self.known_hash(directory.path, file, &stamp)) {
            (FileKind::Bare, _) => (stamp, None),
            (FileKind::Parsed, Some(hash)) => (stamp, Some(hash)),
            (FileKind::Parsed, None) => match stamp::hash(directory.descriptor, name)? {
                Hashed::File(stamp, hash) => (stamp, hash),
                Hashed::Gone => return Ok(None),
            },
        };
        Ok(Some(ManifestEntry { path, kind: file.kind, stamp, hash }))
    }

    fn known_hash(
        &self,
        directory: &[u8],
        file: &FoundFile,
        stamp: &steward_ports::FileStamp,
    ) -> Option<steward_ports::ContentHash> {
        let previous = self.previous?;
        let (_, entry) = previous.siblings(directory).find(file.name.to_bytes())?;
        let is_unchanged = stamp::is_certainly_unchanged(entry, stamp, previous.manifest().taken_at);
        entry.hash.filter(|_| is_unchanged)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_fast_order_of_paths_is_that_of_the_standard_library(
            left in "[a./!-]{1,3}(/[a.!-]{1,3}){0,3}",
            right in "[a./!-]{1,3}(/[a.!-]{1,3}){0,3}",
        ) {
            let normal = |text: &str| text.split('/')
                .filter(|part| !matches!(*part, "" | "." | ".."))
                .collect::<PathBuf>();
            let (left, right) = (normal(&left), normal(&right));

            prop_assert_eq!(compare_paths(&left, &right), left.cmp(&right));
        }
    }
}
