//! An earlier manifest, arranged by directory so that a walk finds its files without searching the whole.
//!
//! It must never change the manifest or read the disk.

use std::collections::HashMap;
use std::os::unix::ffi::OsStrExt;

use steward_ports::{Manifest, ManifestEntry};

/// An index over the entries of a manifest.
pub(crate) struct Baseline<'a> {
    manifest: &'a Manifest,
    directories: HashMap<&'a [u8], Vec<usize>>,
}

/// The entries of one directory.
#[derive(Clone, Copy)]
pub(crate) struct Siblings<'a> {
    manifest: &'a Manifest,
    /// Numbers of entries, ordered by name.
    numbers: &'a [usize],
}

impl<'a> Baseline<'a> {
    /// Arranges `manifest`.
    pub(crate) fn new(manifest: &'a Manifest) -> Self {
        let mut directories: HashMap<&[u8], Vec<usize>> = HashMap::new();
        let mut run: (&[u8], Vec<usize>) = (&[], Vec::new());
        for (number, entry) in manifest.entries.iter().enumerate() {
            let (directory, _) = split(entry);
            if directory != run.0 {
                directories.entry(run.0).or_default().append(&mut run.1);
                run.0 = directory;
            }
            run.1.push(number);
        }
        directories.entry(run.0).or_default().append(&mut run.1);
        for numbers in directories.values_mut() {
            // Sorted already where the manifest is, which a file from disk does not promise.
            numbers.sort_by_key(|number| split(&manifest.entries[*number]).1);
        }
        Self { manifest, directories }
    }

    /// Returns the manifest.
    pub(crate) fn manifest(&self) -> &'a Manifest {
        self.manifest
    }

    /// Returns the entries of the directory at this relative path.
    pub(crate) fn siblings(&self, directory: &[u8]) -> Siblings<'_> {
        Siblings {
            manifest: self.manifest,
            numbers: self.directories.get(directory).map_or(&[], |numbers| numbers.as_slice()),
        }
    }
}

impl<'a> Siblings<'a> {
    /// Returns the entry of this name and its number in the manifest.
    pub(crate) fn find(self, name: &[u8]) -> Option<(usize, &'a ManifestEntry)> {
        let entries = &self.manifest.entries;
        let position = self.numbers.binary_search_by(|number| split(&entries[*number]).1.cmp(name)).ok()?;
        let number = self.numbers[position];
        Some((number, &entries[number]))
    }
}

/// The directory and the name of an entry.
fn split(entry: &ManifestEntry) -> (&[u8], &[u8]) {
    let path = entry.path.as_os_str().as_bytes();
    match path.iter().rposition(|byte| *byte == b'/') {
        Some(slash) => (&path[..slash], &path[slash + 1..]),
        None => (&[], path),
    }
}
