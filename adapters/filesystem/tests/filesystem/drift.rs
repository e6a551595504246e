//! What a comparison finds, case by case.
//!
//! It must never depend on how long a step takes: where time decides, times are set.

use std::fs::{self, File, FileTimes};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use steward_filesystem::SystemFileSystem;
use steward_ports::{
    Comparison, ContentHash, Difference, Exclusions, FileStamp, FileSystem, Manifest, Rename, Timestamp,
};

use crate::support::{Sandbox, write};

const HOUR: i128 = 3_600_000_000_000;

async fn scan(root: &Path) -> Manifest {
    SystemFileSystem.scan(root, &Exclusions::default(), None).await.unwrap()
}

async fn compare(root: &Path, baseline: &Manifest) -> Comparison {
    SystemFileSystem.compare(root, &Exclusions::default(), baseline).await.unwrap()
}

fn paths(names: &[&str]) -> Vec<PathBuf> {
    names.iter().map(PathBuf::from).collect()
}

fn rename(from: &str, to: &str) -> Rename {
    Rename { from: from.into(), to: to.into() }
}

fn stamp(path: &Path) -> FileStamp {
    let metadata = fs::metadata(path).unwrap();
    let instant = |seconds: i64, nanoseconds: i64| {
        Timestamp::from_nanos(i128::from(seconds) * 1_000_000_000 + i128::from(nanoseconds))
    };
    FileStamp {
        size: metadata.size(),
        modified: instant(metadata.mtime(), metadata.mtime_nsec()),
        changed: instant(metadata.ctime(), metadata.ctime_nsec()),
        inode: metadata.ino(),
    }
}

fn set_modified(path: &Path, time: SystemTime) {
    File::options().write(true).open(path).unwrap().set_times(FileTimes::new().set_modified(time)).unwrap();
}

/// The manifest as if it had been taken an hour after it was.
fn an_hour_later(mut manifest: Manifest) -> Manifest {
    manifest.taken_at = Timestamp::from_nanos(manifest.taken_at.as_nanos() + HOUR);
    manifest
}

#[tokio::test]
async fn edits_additions_deletions_and_renames_are_told_apart() {
    let sandbox = Sandbox::new();
    let root = sandbox.path("");
    for name in ["edited.py", "deleted.py", "old.py", "same.py"] {
        write(&root.join(name), &format!("name = '{name}'\n"));
    }
    let baseline = scan(&root).await;

    write(&root.join("edited.py"), "name = 'changed'\n");
    fs::remove_file(root.join("deleted.py")).unwrap();
    fs::rename(root.join("old.py"), root.join("new.py")).unwrap();
    write(&root.join("sub/added.py"), "name = 'added'\n");
    let comparison = compare(&root, &baseline).await;

    let expected = Difference {
        edited: paths(&["edited.py"]),
        added: paths(&["sub/added.py"]),
        deleted: paths(&["deleted.py"]),
        renamed: vec![rename("old.py", "new.py")],
    };
    assert_eq!(comparison.difference, expected);
    assert_eq!((comparison.files, comparison.parsed_files), (4, 4));
}

#[tokio::test]
async fn trial_b13_a_rename_is_found_although_the_count_is_the_same() {
    let sandbox = Sandbox::new();
    let root = sandbox.repository("main");
    let baseline = scan(&root).await;

    sandbox.git(&root, &["mv", "a.py", "b.py"]);
    let comparison = compare(&root, &baseline).await;

    assert_eq!(comparison.files, baseline.entries.len());
    assert_eq!(comparison.difference, Difference { renamed: vec![rename("a.py", "b.py")], ..Difference::default() });
}

#[tokio::test]
async fn trial_b15_and_b22_a_clean_checkout_of_another_branch_is_drift() {
    let sandbox = Sandbox::new();
    let root = sandbox.repository("main");
    let first = SystemFileSystem.head(&root).await.unwrap();
    sandbox.git(&root, &["checkout", "-b", "feature"]);
    write(&root.join("a.py"), "def b():\n    return 2\n");
    sandbox.git(&root, &["commit", "-a", "-m", "second"]);
    sandbox.git(&root, &["checkout", "-"]);
    let baseline = scan(&root).await;

    sandbox.git(&root, &["checkout", "feature"]);
    let comparison = compare(&root, &baseline).await;

    assert_eq!(sandbox.output(&root, &["status", "--porcelain"]), "", "git has nothing to tell");
    assert_eq!(comparison.difference, Difference { edited: paths(&["a.py"]), ..Difference::default() });
    assert_ne!(comparison.head, first);
    assert_eq!(comparison.head, Some(sandbox.output(&root, &["rev-parse", "HEAD"])));
}

#[tokio::test]
async fn trial_b27_a_hard_reset_is_drift() {
    let sandbox = Sandbox::new();
    let root = sandbox.repository("main");
    write(&root.join("b.py"), "b = 1\n");
    sandbox.git(&root, &["add", "b.py"]);
    sandbox.git(&root, &["commit", "-m", "second"]);
    let baseline = scan(&root).await;

    sandbox.git(&root, &["reset", "--hard", "HEAD~1"]);
    let comparison = compare(&root, &baseline).await;

    assert_eq!(comparison.difference, Difference { deleted: paths(&["b.py"]), ..Difference::default() });
}

#[tokio::test]
async fn trial_b16_a_same_size_edit_with_the_old_modification_time_is_found() {
    let sandbox = Sandbox::new();
    let root = sandbox.path("");
    let file = root.join("a.py");
    write(&file, "x=1\n");
    let modified = fs::metadata(&file).unwrap().modified().unwrap();
    let baseline = an_hour_later(scan(&root).await);

    write(&file, "x=2\n");
    set_modified(&file, modified);
    let comparison = compare(&root, &baseline).await;

    assert_eq!(comparison.difference.edited, paths(&["a.py"]));
}

#[tokio::test]
async fn trial_b16_a_same_size_edit_within_the_tick_of_the_scan_is_found() {
    let sandbox = Sandbox::new();
    let root = sandbox.path("");
    let file = root.join("a.py");
    write(&file, "x=1\n");
    let mut baseline = scan(&root).await;

    write(&file, "x=2\n");
    // As if the clock had not ticked between the two writes: the stamps are equal to the last bit.
    baseline.entries[0].stamp = stamp(&file);
    let comparison = compare(&root, &baseline).await;

    assert_eq!(comparison.difference.edited, paths(&["a.py"]));
}

#[tokio::test]
async fn a_file_that_is_older_than_the_scan_is_not_read_again() {
    let sandbox = Sandbox::new();
    let root = sandbox.path("");
    write(&root.join("a.py"), "x=1\n");
    let mut baseline = an_hour_later(scan(&root).await);

    // A hash that no content has would be noticed if the file were read.
    baseline.entries[0].hash = Some(ContentHash([0; 32]));
    let comparison = compare(&root, &baseline).await;
    let next = SystemFileSystem.scan(&root, &Exclusions::default(), Some(&baseline)).await.unwrap();

    assert!(comparison.difference.is_empty());
    assert_eq!(next.entries[0].hash, Some(ContentHash([0; 32])), "taken over");
}

#[tokio::test]
async fn a_hash_of_a_racily_clean_file_is_not_taken_over() {
    let sandbox = Sandbox::new();
    let root = sandbox.path("");
    write(&root.join("a.py"), "x=1\n");
    let truth = scan(&root).await;
    let mut previous = truth.clone();
    previous.entries[0].hash = Some(ContentHash([0; 32]));

    let next = SystemFileSystem.scan(&root, &Exclusions::default(), Some(&previous)).await.unwrap();

    assert_eq!(next.entries, truth.entries);
}

#[tokio::test]
async fn a_touched_file_is_named_and_no_difference() {
    let sandbox = Sandbox::new();
    let root = sandbox.path("");
    write(&root.join("a.py"), "x=1\n");
    write(&root.join("b.py"), "y=1\n");
    let baseline = an_hour_later(scan(&root).await);

    set_modified(&root.join("b.py"), SystemTime::now() + Duration::from_hours(2));
    let comparison = compare(&root, &baseline).await;

    assert!(comparison.difference.is_empty());
    assert_eq!(comparison.touched, paths(&["b.py"]));
}

#[tokio::test]
async fn a_file_that_was_replaced_by_an_equal_one_is_no_difference() {
    let sandbox = Sandbox::new();
    let root = sandbox.path("");
    write(&root.join("a.py"), "x=1\n");
    let baseline = an_hour_later(scan(&root).await);

    write(&root.join("spare"), "x=1\n");
    fs::rename(root.join("spare"), root.join("a.py")).unwrap();
    let comparison = compare(&root, &baseline).await;

    assert!(comparison.difference.is_empty());
    assert_eq!(comparison.touched, paths(&["a.py"]));
}

#[tokio::test]
async fn trial_b19_age_alone_is_no_difference() {
    let sandbox = Sandbox::new();
    let root = sandbox.path("");
    write(&root.join("a.py"), "x=1\n");
    set_modified(&root.join("a.py"), SystemTime::now() - Duration::from_hours(7 * 24));
    let mut baseline = scan(&root).await;
    baseline.taken_at = Timestamp::from_nanos(baseline.taken_at.as_nanos() - 7 * 24 * HOUR);

    let comparison = compare(&root, &baseline).await;

    assert!(comparison.difference.is_empty());
    assert!(comparison.touched.is_empty());
}

#[tokio::test]
async fn trial_b18_a_commit_that_changes_nothing_indexed_is_no_difference() {
    let sandbox = Sandbox::new();
    let root = sandbox.repository("main");
    let baseline = scan(&root).await;

    write(&root.join("logo.svg"), "<svg/>\n");
    write(&root.join("pom.xml"), "<project/>\n");
    sandbox.git(&root, &["add", "."]);
    sandbox.git(&root, &["commit", "-m", "second"]);
    let comparison = compare(&root, &baseline).await;

    assert!(comparison.difference.is_empty());
    assert_eq!(comparison.head, Some(sandbox.output(&root, &["rev-parse", "HEAD"])));
}

#[tokio::test]
async fn bare_files_count_by_their_coming_going_and_renaming_only() {
    let sandbox = Sandbox::new();
    let root = sandbox.path("");
    for name in ["README.md", "old.md", "gone.toml"] {
        write(&root.join(name), name);
    }
    let baseline = scan(&root).await;

    write(&root.join("README.md"), "edited");
    fs::rename(root.join("old.md"), root.join("new.md")).unwrap();
    fs::remove_file(root.join("gone.toml")).unwrap();
    write(&root.join("come.json"), "{}");
    let comparison = compare(&root, &baseline).await;

    let expected = Difference {
        edited: Vec::new(),
        added: paths(&["come.json"]),
        deleted: paths(&["gone.toml"]),
        renamed: vec![rename("old.md", "new.md")],
    };
    assert_eq!(comparison.difference, expected);
    assert_eq!((comparison.files, comparison.parsed_files), (3, 0));
}

#[tokio::test]
async fn a_renamed_directory_is_the_renaming_of_its_files() {
    let sandbox = Sandbox::new();
    let root = sandbox.path("");
    for name in ["a/__init__.py", "a/x.py", "b/__init__.py", "keep/__init__.py"] {
        let is_empty = name.ends_with("__init__.py");
        write(&root.join(name), if is_empty { "" } else { "x = 1\n" });
    }
    let baseline = scan(&root).await;

    fs::rename(root.join("a"), root.join("z")).unwrap();
    fs::rename(root.join("b"), root.join("y")).unwrap();
    let comparison = compare(&root, &baseline).await;

    let expected = vec![
        rename("a/__init__.py", "z/__init__.py"),
        rename("a/x.py", "z/x.py"),
        rename("b/__init__.py", "y/__init__.py"),
    ];
    assert_eq!(comparison.difference, Difference { renamed: expected, ..Difference::default() });
}

#[tokio::test]
async fn a_file_becomes_a_directory_and_back() {
    let sandbox = Sandbox::new();
    let root = sandbox.path("");
    write(&root.join("a.py"), "x = 1\n");
    let file = scan(&root).await;
    fs::remove_file(root.join("a.py")).unwrap();
    write(&root.join("a.py/b.py"), "y = 1\n");
    let directory = scan(&root).await;

    let to_directory = compare(&root, &file).await.difference;
    fs::remove_dir_all(root.join("a.py")).unwrap();
    write(&root.join("a.py"), "x = 1\n");
    let to_file = compare(&root, &directory).await.difference;

    assert_eq!((to_directory.added, to_directory.deleted), (paths(&["a.py/b.py"]), paths(&["a.py"])));
    assert_eq!((to_file.added, to_file.deleted), (paths(&["a.py"]), paths(&["a.py/b.py"])));
}

#[tokio::test]
async fn a_clock_that_was_set_back_hides_nothing() {
    let sandbox = Sandbox::new();
    let root = sandbox.path("");
    let file = root.join("a.py");
    write(&file, "x=1\n");
    set_modified(&file, SystemTime::now() + Duration::from_hours(1));
    let mut baseline = scan(&root).await;

    write(&file, "x=2\n");
    set_modified(&file, SystemTime::now() + Duration::from_hours(1));
    // Even if the stamps coincide, the file is younger than the scan and therefore read.
    baseline.entries[0].stamp = stamp(&file);
    let comparison = compare(&root, &baseline).await;

    assert_eq!(comparison.difference.edited, paths(&["a.py"]));
}

#[tokio::test]
async fn five_thousand_changes_are_one_comparison() {
    let sandbox = Sandbox::new();
    let root = sandbox.path("");
    for number in 0..5_000 {
        write(&root.join(format!("d{:02}/f{number}.py", number % 50)), &format!("x = {number}\n"));
    }
    let baseline = scan(&root).await;

    for number in 0..5_000 {
        write(&root.join(format!("d{:02}/f{number}.py", number % 50)), &format!("y = {number}\n"));
    }
    let comparison = compare(&root, &baseline).await;

    assert_eq!(comparison.difference.edited.len(), 5_000);
    assert_eq!(comparison.difference.len(), 5_000);
}

#[test]
fn files_that_come_and_go_during_a_scan_disturb_nothing() {
    let sandbox = Sandbox::new();
    let root = sandbox.path("");
    for number in 0..200 {
        write(&root.join(format!("stay{}/f{number}.py", number % 10)), &format!("x = {number}\n"));
    }
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let baseline = runtime.block_on(scan(&root));
    let done = AtomicBool::new(false);

    let comparisons: Vec<_> = std::thread::scope(|scope| {
        let _flag = SetOnDrop(&done);
        scope.spawn(|| {
            let mut round = 0_u32;
            while !done.load(Ordering::Relaxed) {
                let directory = root.join(format!("flicker{}", round % 3));
                write(&directory.join("x.py"), "x = 1\n");
                fs::remove_dir_all(&directory).unwrap();
                round += 1;
            }
        });
        (0..50).map(|_| runtime.block_on(SystemFileSystem.compare(&root, &Exclusions::default(), &baseline))).collect()
    });

    for comparison in comparisons {
        let difference = comparison.unwrap().difference;
        assert!(difference.added.iter().all(|path| path.to_str().unwrap().starts_with("flicker")));
        assert_eq!(difference.len(), difference.added.len());
    }
}

/// Ends the other thread even where this one fails.
struct SetOnDrop<'a>(&'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[tokio::test]
async fn the_digest_is_that_of_paths_kinds_and_contents() {
    let sandbox = Sandbox::new();
    let root = sandbox.path("");
    write(&root.join("a.py"), "x=1\n");
    write(&root.join("b.md"), "b");
    let digest = async || SystemFileSystem.digest(&scan(&root).await);
    let first = digest().await;

    set_modified(&root.join("a.py"), SystemTime::UNIX_EPOCH);
    write(&root.join("b.md"), "edited");
    assert_eq!(digest().await, first, "neither times nor the content of a bare file count");

    write(&root.join("a.py"), "x=2\n");
    let edited = digest().await;
    assert_ne!(edited, first);

    fs::rename(root.join("a.py"), root.join("c.py")).unwrap();
    assert_ne!(digest().await, edited);
}
