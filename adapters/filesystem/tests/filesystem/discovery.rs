//! Which files belong to a manifest, held against what cgc itself answered.
//!
//! `data/cgc-0.6.13.json` holds trees, ignore files and settings with the files that cgc's own discovery returned
//! for them; `data/generate.py` made it. These tests must never run cgc.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use steward_filesystem::{IndexRules, SystemFileSystem};
use steward_ports::{Exclusions, FileKind, FileSystem, Manifest};

use crate::support::write;

#[derive(Deserialize)]
struct Case {
    files: Vec<String>,
    #[serde(default)]
    nested: BTreeMap<String, String>,
    #[serde(default)]
    git: bool,
    gitignore: Option<String>,
    cgcignore: Option<String>,
    context: Option<String>,
    directories: Option<String>,
    indexed: BTreeMap<PathBuf, Kind>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Bare,
    Parsed,
}

fn kinds(manifest: &Manifest) -> BTreeMap<PathBuf, FileKind> {
    manifest.entries.iter().map(|entry| (entry.path.clone(), entry.kind)).collect()
}

async fn scan(root: &Path, exclusions: &Exclusions) -> Manifest {
    SystemFileSystem.scan(&root.canonicalize().unwrap(), exclusions, None).await.unwrap()
}

impl Case {
    fn lay_out(&self, scratch: &Path) -> (PathBuf, Exclusions) {
        let root = scratch.join("root");
        let context = scratch.join("context");
        for file in &self.files {
            write(&root.join(file), "");
        }
        for (file, text) in &self.nested {
            write(&root.join(file), text);
        }
        if self.git {
            fs::create_dir(root.join(".git")).unwrap();
        }
        for (path, text) in [
            (root.join(".gitignore"), &self.gitignore),
            (root.join(".cgcignore"), &self.cgcignore),
            (context.clone(), &self.context),
        ] {
            if let Some(text) = text {
                write(&path, text);
            }
        }
        let exclusions = Exclusions {
            ignore_file: Some(context),
            directories: self.directories.as_ref().map(|names| names.split(',').map(str::to_owned).collect()),
        };
        (root, exclusions)
    }
}

#[tokio::test]
async fn the_manifest_holds_the_files_that_cgc_indexes_and_no_others() {
    let cases: Vec<Case> = serde_json::from_str(include_str!("../data/cgc-0.6.13.json")).unwrap();
    assert!(cases.len() > 150);
    for (number, case) in cases.iter().enumerate() {
        let scratch = tempfile::tempdir().unwrap();
        let (root, exclusions) = case.lay_out(scratch.path());
        let expected: BTreeMap<PathBuf, FileKind> = case
            .indexed
            .iter()
            .map(|(path, kind)| {
                let kind = match kind {
                    Kind::Bare => FileKind::Bare,
                    Kind::Parsed => FileKind::Parsed,
                };
                (path.clone(), kind)
            })
            .collect();

        let manifest = scan(&root, &exclusions).await;

        assert_eq!(kinds(&manifest), expected, "case {number}");
        let rules = IndexRules::load(&root.canonicalize().unwrap(), &exclusions).unwrap();
        for file in &case.files {
            let path = Path::new(file);
            assert_eq!(rules.kind(path), expected.get(path).copied(), "case {number}: {file}");
        }
    }
}

/// A change in an ignored directory is neither drift nor a reason to sync, nested repositories included.
#[tokio::test]
async fn trial_b25_and_b103_ignored_paths_are_no_part_of_the_workspace() {
    let scratch = tempfile::tempdir().unwrap();
    let root = scratch.path().canonicalize().unwrap();
    write(&root.join("a.py"), "a = 1\n");
    write(&root.join(".cgcignore"), "gen/\n");
    write(&root.join(".gitignore"), ".repos/\n");
    write(&root.join("gen/x.py"), "x = 1\n");
    write(&root.join(".repos/big/.git/HEAD"), "ref: refs/heads/main\n");
    write(&root.join(".repos/big/y.py"), "y = 1\n");
    let exclusions = Exclusions::default();
    let baseline = scan(&root, &exclusions).await;

    write(&root.join("gen/x.py"), "x = 2\n");
    write(&root.join(".repos/big/y.py"), "y = 22\n");
    write(&root.join(".repos/big/z.py"), "z = 1\n");
    let comparison = SystemFileSystem.compare(&root, &exclusions, &baseline).await.unwrap();

    assert!(comparison.difference.is_empty(), "{:?}", comparison.difference);
    assert_eq!(comparison.files, 2, "a.py and .gitignore");
}

/// cgc writes a `.cgcignore` of its own at the first index: that changes nothing about which files count.
#[tokio::test]
async fn trial_p10_the_ignore_file_that_cgc_writes_is_no_drift() {
    let scratch = tempfile::tempdir().unwrap();
    let root = scratch.path().canonicalize().unwrap();
    write(&root.join("a.py"), "");
    write(&root.join("obj/b.py"), "");
    let exclusions = Exclusions::default();
    let baseline = scan(&root, &exclusions).await;

    write(&root.join(".cgcignore"), "# Auto-generated by CodeGraphContext\n\nobj/\n*.png\n");
    let comparison = SystemFileSystem.compare(&root, &exclusions, &baseline).await.unwrap();

    assert!(comparison.difference.is_empty(), "{:?}", comparison.difference);
}

/// A file behind a link that leaves the workspace is never looked at; a file inside that only a link makes part of the
/// graph is known by its own path, as cgc stores it.
#[tokio::test]
async fn trial_b105_links_count_as_their_targets_and_never_lead_outside() {
    let scratch = tempfile::tempdir().unwrap();
    let root = scratch.path().canonicalize().unwrap().join("root");
    write(&root.join("sub/a.py"), "a = 1\n");
    write(&root.join("tool"), "t = 1\n");
    write(&root.join("node_modules/n"), "n = 1\n");
    write(&root.join("../out/t.py"), "secret = 1\n");
    symlink("../../out/t.py", root.join("sub/link.py")).unwrap();
    symlink("../tool", root.join("sub/run.py")).unwrap();
    symlink("a.py", root.join("sub/again.py")).unwrap();
    symlink("../node_modules/n", root.join("sub/ignored.py")).unwrap();
    symlink("nowhere.py", root.join("sub/dangling.py")).unwrap();
    symlink("loop.py", root.join("sub/loop.py")).unwrap();
    let exclusions = Exclusions::default();

    let baseline = scan(&root, &exclusions).await;
    write(&root.join("tool"), "t = 2\n");
    write(&root.join("../out/t.py"), "secret = 2\n");
    let comparison = SystemFileSystem.compare(&root, &exclusions, &baseline).await.unwrap();

    let expected: Vec<PathBuf> = vec!["sub/a.py".into(), "tool".into()];
    assert_eq!(kinds(&baseline).into_keys().collect::<Vec<_>>(), expected);
    assert_eq!(comparison.difference.edited, [PathBuf::from("tool")]);
    assert_eq!(comparison.difference.len(), 1);
    assert_eq!(comparison.files, 2);
}

#[tokio::test]
async fn trial_b106_loops_of_directory_links_are_not_followed() {
    let scratch = tempfile::tempdir().unwrap();
    let root = scratch.path().canonicalize().unwrap();
    write(&root.join("a/x.py"), "");
    write(&root.join("a/b/y.py"), "");
    symlink(".", root.join("a/self")).unwrap();
    symlink("..", root.join("a/b/parent")).unwrap();

    let manifest = scan(&root, &Exclusions::default()).await;

    let paths: Vec<&Path> = manifest.entries.iter().map(|entry| entry.path.as_path()).collect();
    assert_eq!(paths, [Path::new("a/b/y.py"), Path::new("a/x.py")]);
}

#[tokio::test]
async fn names_that_are_no_text_and_files_that_are_no_files_are_told_apart() {
    let scratch = tempfile::tempdir().unwrap();
    let root = scratch.path().canonicalize().unwrap();
    let name = std::ffi::OsStr::from_bytes(b"caf\xe9.py");
    fs::write(root.join(name), "").unwrap();
    write(&root.join("line\nbreak.py"), "");
    fs::create_dir(root.join("directory.py")).unwrap();
    nix::unistd::mkfifo(&root.join("pipe.py"), nix::sys::stat::Mode::S_IRWXU).unwrap();

    let manifest = scan(&root, &Exclusions::default()).await;

    let paths: Vec<&Path> = manifest.entries.iter().map(|entry| entry.path.as_path()).collect();
    assert_eq!(paths, [Path::new(name), Path::new("line\nbreak.py")]);
}

/// Where cgc can neither find nor create an ignore file it applies no patterns at all, only the directory names.
#[tokio::test]
async fn an_ignore_file_that_cannot_be_read_leaves_only_the_directory_names() {
    let scratch = tempfile::tempdir().unwrap();
    let root = scratch.path().canonicalize().unwrap();
    write(&root.join("obj/a.py"), "");
    write(&root.join("build/b.py"), "");
    symlink("/proc/self/mem", root.join(".cgcignore")).unwrap();

    let manifest = scan(&root, &Exclusions::default()).await;

    assert_eq!(kinds(&manifest).into_keys().collect::<Vec<_>>(), [PathBuf::from("obj/a.py")]);
}
