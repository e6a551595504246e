//! How two manifests differ, as the port defines it.
//!
//! It must never call a file changed whose content is the same.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use steward_ports::{Difference, FileKind, Manifest, ManifestEntry, Rename};

/// Returns what differs, and the parsed files whose stamps alone differ.
pub(super) fn difference(baseline: &Manifest, current: &Manifest) -> (Difference, Vec<PathBuf>) {
    let (old, new) = (by_path(baseline), by_path(current));
    let mut difference = Difference::default();
    let mut touched = Vec::new();
    for (path, entry) in &new {
        match old.get(path) {
            None => difference.added.push(path.to_path_buf()),
            Some(_) if entry.kind == FileKind::Bare => {}
            Some(before) if before.hash != entry.hash => difference.edited.push(path.to_path_buf()),
            Some(before) if before.stamp != entry.stamp => touched.push(path.to_path_buf()),
            Some(_) => {}
        }
    }
    difference.deleted = old.keys().filter(|path| !new.contains_key(*path)).map(|path| path.to_path_buf()).collect();
    pair_renames(&mut difference, &old, &new);
    (difference, touched)
}

fn by_path(manifest: &Manifest) -> BTreeMap<&Path, &ManifestEntry> {
    manifest.entries.iter().map(|entry| (entry.path.as_path(), entry)).collect()
}

fn pair_renames(
    difference: &mut Difference,
    old: &BTreeMap<&Path, &ManifestEntry>,
    new: &BTreeMap<&Path, &ManifestEntry>,
) {
    for from in std::mem::take(&mut difference.deleted) {
        let content = old.get(from.as_path()).and_then(|entry| entry.hash);
        let same =
            |path: &PathBuf| content.is_some() && new.get(path.as_path()).and_then(|entry| entry.hash) == content;
        match difference.added.iter().position(same) {
            Some(position) => {
                let to = difference.added.remove(position);
                difference.renamed.push(Rename { from, to });
            }
            None => difference.deleted.push(from),
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;
    use steward_ports::{Exclusions, FileSystem as _};

    use super::*;
    use crate::MemoryFs;

    #[test]
    fn each_kind_of_change_is_found_and_no_other() {
        let root = Path::new("/repository");
        let files = MemoryFs::default();
        for name in ["same.py", "edited.py", "touched.py", "deleted.py", "old.py", "notes.md"] {
            files.write(&root.join(name), name);
        }
        let baseline = files.manifest(root);

        files.write(&root.join("edited.py"), "other");
        files.touch(&root.join("touched.py"));
        files.remove(&root.join("deleted.py"));
        files.rename(&root.join("old.py"), &root.join("new.py"));
        files.write(&root.join("added.py"), "added");
        files.write(&root.join("notes.md"), "a stored file's content decides nothing");
        files.write(&root.join("binary"), "cgc ignores it");

        let comparison = files.compare(root, &Exclusions::default(), &baseline).now_or_never().expect("it never waits");
        let comparison = comparison.expect("the tree can be read");
        let expected = Difference {
            edited: vec!["edited.py".into()],
            added: vec!["added.py".into()],
            deleted: vec!["deleted.py".into()],
            renamed: vec![Rename { from: "old.py".into(), to: "new.py".into() }],
        };
        assert_eq!(comparison.difference, expected);
        assert_eq!(comparison.touched, [PathBuf::from("touched.py")]);
        assert_eq!((comparison.files, comparison.parsed_files), (6, 5));
    }
}
