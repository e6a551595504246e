//! Comparisons held against a model: random trees, random changes, and the difference worked out by hand.
//!
//! The model knows contents only; it must never look at a stamp.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use steward_filesystem::SystemFileSystem;
use steward_ports::{Difference, Exclusions, FileKind, FileSystem};

use crate::support::write;

/// A tree as the model sees it: paths and contents.
type Tree = BTreeMap<PathBuf, String>;

#[derive(Debug, Clone)]
enum Change {
    Edit(prop::sample::Index, String),
    Touch(prop::sample::Index),
    Delete(prop::sample::Index),
    Add(PathBuf, String),
    Rename(prop::sample::Index, PathBuf),
}

fn path() -> impl Strategy<Value = PathBuf> {
    // Few names make collisions, which are what is interesting.
    ("[ab]{0,1}", "[ab]{0,1}", "[abc]", "\\.(py|rs|md)").prop_map(|(outer, inner, stem, extension)| {
        [outer, inner, stem + &extension].iter().filter(|part| !part.is_empty()).collect()
    })
}

/// Contents of one length and few kinds, so that sizes tell nothing and renames are ambiguous.
fn content() -> impl Strategy<Value = String> {
    "[xyz]"
}

fn tree() -> impl Strategy<Value = Tree> {
    btree_map(path(), content(), 0..12)
}

fn change() -> impl Strategy<Value = Change> {
    let index = any::<prop::sample::Index>;
    prop_oneof![
        (index(), content()).prop_map(|(index, content)| Change::Edit(index, content)),
        index().prop_map(Change::Touch),
        index().prop_map(Change::Delete),
        (path(), content()).prop_map(|(path, content)| Change::Add(path, content)),
        (index(), path()).prop_map(|(index, path)| Change::Rename(index, path)),
    ]
}

fn pick(tree: &Tree, index: prop::sample::Index) -> Option<PathBuf> {
    (!tree.is_empty()).then(|| tree.keys().nth(index.index(tree.len())).unwrap().clone())
}

/// Makes the same change to the model and on the disk.
fn apply(change: Change, tree: &mut Tree, root: &Path) {
    match change {
        Change::Edit(index, content) => {
            if let Some(path) = pick(tree, index) {
                write(&root.join(&path), &content);
                tree.insert(path, content);
            }
        }
        Change::Touch(index) => {
            if let Some(path) = pick(tree, index) {
                write(&root.join(&path), &tree[&path]);
            }
        }
        Change::Delete(index) => {
            if let Some(path) = pick(tree, index) {
                fs::remove_file(root.join(&path)).unwrap();
                tree.remove(&path);
            }
        }
        Change::Add(path, content) => {
            write(&root.join(&path), &content);
            tree.insert(path, content);
        }
        Change::Rename(index, to) => {
            if let Some(from) = pick(tree, index) {
                fs::create_dir_all(root.join(&to).parent().unwrap()).unwrap();
                fs::rename(root.join(&from), root.join(&to)).unwrap();
                let content = tree.remove(&from).unwrap();
                tree.insert(to, content);
            }
        }
    }
}

fn kind(path: &Path) -> FileKind {
    if path.extension().is_some_and(|extension| extension == "md") { FileKind::Bare } else { FileKind::Parsed }
}

/// Checks a difference against the two trees, naively.
fn check(before: &Tree, after: &Tree, found: &Difference) {
    let is_parsed = |path: &&PathBuf| kind(path) == FileKind::Parsed;
    let edited: Vec<&PathBuf> = after
        .iter()
        .filter(|(path, now)| before.get(*path).is_some_and(|then| then != *now))
        .map(|(path, _)| path)
        .filter(is_parsed)
        .collect();
    assert_eq!(found.edited.iter().collect::<Vec<_>>(), edited);

    let gone: BTreeSet<&PathBuf> = before.keys().filter(|path| !after.contains_key(*path)).collect();
    let new: BTreeSet<&PathBuf> = after.keys().filter(|path| !before.contains_key(*path)).collect();
    let from: Vec<&PathBuf> = found.renamed.iter().map(|rename| &rename.from).chain(&found.deleted).collect();
    let to: Vec<&PathBuf> = found.renamed.iter().map(|rename| &rename.to).chain(&found.added).collect();
    assert_eq!((from.len(), to.len()), (gone.len(), new.len()), "each path is told once");
    assert_eq!(from.into_iter().collect::<BTreeSet<_>>(), gone);
    assert_eq!(to.into_iter().collect::<BTreeSet<_>>(), new);

    for rename in &found.renamed {
        assert_eq!(kind(&rename.from), kind(&rename.to));
        if kind(&rename.from) == FileKind::Parsed {
            assert_eq!(before[&rename.from], after[&rename.to], "a renamed file keeps its content");
        }
    }
    // No parsed file is told as deleted and another as added if they are the same.
    let contents = |paths: &[PathBuf], tree: &Tree| -> BTreeSet<String> {
        paths.iter().filter(|path| is_parsed(path)).map(|path| tree[path].clone()).collect()
    };
    assert!(contents(&found.deleted, before).is_disjoint(&contents(&found.added, after)));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn a_comparison_finds_what_was_changed_and_nothing_else(before in tree(), changes in vec(change(), 0..8)) {
        let scratch = tempfile::tempdir().unwrap();
        let root = scratch.path().canonicalize().unwrap();
        for (path, content) in &before {
            write(&root.join(path), content);
        }
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let exclusions = Exclusions::default();
        let baseline = runtime.block_on(SystemFileSystem.scan(&root, &exclusions, None)).unwrap();
        let mut after = before.clone();
        for change in changes {
            apply(change, &mut after, &root);
        }

        let comparison = runtime.block_on(SystemFileSystem.compare(&root, &exclusions, &baseline)).unwrap();
        let fresh = runtime.block_on(SystemFileSystem.scan(&root, &exclusions, None)).unwrap();
        let reused = runtime.block_on(SystemFileSystem.scan(&root, &exclusions, Some(&baseline))).unwrap();

        check(&before, &after, &comparison.difference);
        prop_assert_eq!(comparison.files, after.len());
        prop_assert_eq!(&reused.entries, &fresh.entries);
        let is_equal = SystemFileSystem.digest(&fresh) == SystemFileSystem.digest(&baseline);
        prop_assert_eq!(comparison.difference.is_empty(), is_equal);
    }
}
