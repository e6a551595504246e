//! Comparing a working tree with an earlier manifest of it.
//!
//! Responsible for finding every difference with as few looks as possible: a name for a bare file, a stamp for a parsed
//! one, a hash where the stamp cannot tell. It must never call a tree equal that is not.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use steward_ports::{Comparison, Difference, FileKind, FileSystemError, Manifest, ManifestEntry};

use crate::baseline::Baseline;
use crate::links;
use crate::renames::{self, Unpaired};
use crate::rules::IndexRules;
use crate::scan::{path_of, unreadable, visit_link_targets};
use crate::stamp::{self, Hashed};
use crate::walk::{self, Directory, FoundFile, Visitor};

/// Compares the canonical directory `root` with `baseline`. `head` is handed on.
pub(crate) fn compare(
    root: &Path,
    rules: &IndexRules,
    baseline: &Manifest,
    head: Option<String>,
) -> Result<Comparison, FileSystemError> {
    let index = Baseline::new(baseline);
    let seen: Vec<AtomicBool> = baseline.entries.iter().map(|_| AtomicBool::new(false)).collect();
    let walked = walk::walk(root, rules, || Comparer::new(root, &index, &seen))?;
    let mut total = Comparer::new(root, &index, &seen);
    visit_link_targets(root, rules, &walked.links, &mut total)?;
    for part in walked.visitors {
        total.absorb(part);
    }
    let mut deleted: Vec<Unpaired> = baseline
        .entries
        .iter()
        .zip(&seen)
        .filter(|(_, seen)| !seen.load(Ordering::Relaxed))
        .map(|(entry, _)| Unpaired { path: entry.path.clone(), kind: entry.kind, stamp: entry.stamp, hash: entry.hash })
        .collect();
    deleted.sort_by(|left, right| left.path.cmp(&right.path));
    total.edited.sort();
    total.touched.sort();
    total.added.sort_by(|left, right| left.path.cmp(&right.path));
    hash_possible_renames(root, &deleted, &mut total)?;
    let renamed = renames::pair(&mut deleted, &mut total.added);
    let paths = |files: Vec<Unpaired>| files.into_iter().map(|file| file.path).collect();
    Ok(Comparison {
        difference: Difference { edited: total.edited, added: paths(total.added), deleted: paths(deleted), renamed },
        touched: total.touched,
        files: total.files,
        parsed_files: total.parsed_files,
        head,
    })
}

/// Hashes the added files that by their size could be a deleted one under a new name.
fn hash_possible_renames(root: &Path, deleted: &[Unpaired], total: &mut Comparer<'_>) -> Result<(), FileSystemError> {
    let sizes: BTreeSet<u64> =
        deleted.iter().filter(|file| file.kind == FileKind::Parsed).map(|file| file.stamp.size).collect();
    for file in &mut total.added {
        if file.kind == FileKind::Parsed && sizes.contains(&file.stamp.size) {
            let hashed = match links::open_parent(root, &file.path) {
                Ok(Some((parent, name))) => stamp::hash(parent, name.as_os_str()),
                Ok(None) => Ok(Hashed::Gone),
                Err(error) => Err(error),
            };
            // One that vanished again was there a moment ago and stays an addition; the next comparison corrects it.
            if let Hashed::File(_, hash) = hashed.map_err(|error| unreadable(&root.join(&file.path), error))? {
                file.hash = hash;
            }
        }
    }
    Ok(())
}

struct Comparer<'a> {
    root: &'a Path,
    baseline: &'a Baseline<'a>,
    /// By the number of the baseline's entry; what is never seen was deleted.
    seen: &'a [AtomicBool],
    edited: Vec<PathBuf>,
    added: Vec<Unpaired>,
    touched: Vec<PathBuf>,
    files: usize,
    parsed_files: usize,
}

impl<'a> Comparer<'a> {
    fn new(root: &'a Path, baseline: &'a Baseline<'a>, seen: &'a [AtomicBool]) -> Self {
        Self {
            root,
            baseline,
            seen,
            edited: Vec::new(),
            added: Vec::new(),
            touched: Vec::new(),
            files: 0,
            parsed_files: 0,
        }
    }

    fn absorb(&mut self, mut part: Self) {
        self.edited.append(&mut part.edited);
        self.added.append(&mut part.added);
        self.touched.append(&mut part.touched);
        self.files += part.files;
        self.parsed_files += part.parsed_files;
    }

    /// Looks at a file that the baseline does not have; returns whether it is there.
    fn look_at_new(&mut self, directory: &Directory<'_>, file: &FoundFile) -> std::io::Result<bool> {
        let Some(stamp) = stamp::stamp(directory.descriptor, file.name.as_c_str())? else {
            return Ok(false);
        };
        self.added.push(Unpaired {
            path: path_of(directory.path, file.name.to_bytes()),
            kind: file.kind,
            stamp,
            hash: None,
        });
        Ok(true)
    }

    /// Looks at a file that the baseline has; returns whether it is there.
    fn look_at_known(
        &mut self,
        directory: &Directory<'_>,
        file: &FoundFile,
        entry: &ManifestEntry,
    ) -> std::io::Result<bool> {
        let is_edited = match (entry.kind, file.kind) {
            (FileKind::Bare, FileKind::Bare) => false,
            (FileKind::Parsed, FileKind::Bare) | (FileKind::Bare, FileKind::Parsed) => true,
            (FileKind::Parsed, FileKind::Parsed) => {
                let name = file.name.as_c_str();
                let Some(stamp) = stamp::stamp(directory.descriptor, name)? else {
                    return Ok(false);
                };
                let taken_at = self.baseline.manifest().taken_at;
                if stamp::is_certainly_unchanged(entry, &stamp, taken_at) {
                    return Ok(true);
                }
                match stamp::hash(directory.descriptor, name)? {
                    Hashed::Gone => return Ok(false),
                    Hashed::File(stamp, hash) if hash == entry.hash => {
                        if stamp != entry.stamp {
                            self.touched.push(path_of(directory.path, name.to_bytes()));
                        }
                        false
                    }
                    Hashed::File(..) => true,
                }
            }
        };
        if is_edited {
            self.edited.push(path_of(directory.path, file.name.to_bytes()));
        }
        Ok(true)
    }
}

impl Visitor for Comparer<'_> {
    fn visit(&mut self, directory: &Directory<'_>) -> Result<(), FileSystemError> {
        let baseline = self.baseline;
        let siblings = baseline.siblings(directory.path);
        for file in directory.files {
            let looked = match siblings.find(file.name.to_bytes()) {
                None => self.look_at_new(directory, file),
                Some((number, entry)) => self.look_at_known(directory, file, entry).inspect(|is_there| {
                    self.seen[number].store(*is_there, Ordering::Relaxed);
                }),
            };
            let is_there = looked.map_err(|error| {
                let path = path_of(directory.path, file.name.to_bytes());
                unreadable(&self.root.join(path), error)
            })?;
            self.files += usize::from(is_there);
            self.parsed_files += usize::from(is_there && file.kind == FileKind::Parsed);
        }
        Ok(())
    }
}
