//! The state store: what it keeps, what a crash leaves, and what it refuses.
//!
//! A crash is played by leaving the disk as it would be left. The tests must never reach into the store's own types.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use rstest::rstest;
use steward_filesystem::{FileStore, SystemFileSystem};
use steward_ports::{Backend, FileSystem, Record, Store, StoreError};

use crate::store_fixture::{Fixture, database, file, files_below, intent, manifest, receipt, workspace};
use crate::support::{Sandbox, write};

#[tokio::test]
async fn what_is_saved_is_loaded_by_another_process() {
    let fixture = Fixture::new();
    let manifest = manifest(1);
    let receipt = receipt(&fixture.workspace, &manifest);
    fixture.store.save_receipt(&receipt, &manifest).await.unwrap();
    fixture.store.record_intent(&fixture.workspace, &intent(7)).await.unwrap();
    fixture.store.save_database(&database("/db/kuzudb")).await.unwrap();

    let other = FileStore::new(fixture.state.clone());
    let record = other.load(&fixture.workspace, Some(Path::new("/db/kuzudb"))).await.unwrap();

    let expected = Record {
        receipt: Some(receipt),
        intent: Some(intent(7)),
        database: Some(database("/db/kuzudb")),
        last_backend: Some(Backend::Ladybug),
    };
    assert_eq!(record, expected);
    assert_eq!(other.load_manifest(&fixture.workspace).await.unwrap(), Some(manifest));
}

#[tokio::test]
async fn nothing_is_remembered_of_what_was_never_saved() {
    let fixture = Fixture::new();

    assert_eq!(fixture.load().await, Record::default());
    assert_eq!(fixture.store.load_manifest(&fixture.workspace).await.unwrap(), None);
    fixture.store.clear_intent(&fixture.workspace).await.unwrap();
    fixture.store.drop_receipt(&fixture.workspace).await.unwrap();
    assert!(!fixture.state.exists(), "asking makes nothing");
}

#[tokio::test]
async fn a_database_is_shared_by_workspaces_and_a_record_is_not() {
    let fixture = Fixture::saved(&manifest(1)).await;
    fixture.store.save_database(&database("/db/kuzudb")).await.unwrap();

    let elsewhere = fixture.store.load(&workspace("/elsewhere"), Some(Path::new("/db/kuzudb"))).await.unwrap();
    let other_database = fixture.store.load(&fixture.workspace, Some(Path::new("/db/other"))).await.unwrap();

    assert_eq!(elsewhere, Record { database: Some(database("/db/kuzudb")), ..Record::default() });
    assert_eq!(other_database.database, None);
    assert!(other_database.receipt.is_some());
}

#[tokio::test]
async fn a_receipt_settles_the_intent_in_one_step() {
    let fixture = Fixture::new();
    fixture.store.record_intent(&fixture.workspace, &intent(7)).await.unwrap();
    assert_eq!(fixture.load().await.intent, Some(intent(7)));

    let manifest = manifest(1);
    fixture.store.save_receipt(&receipt(&fixture.workspace, &manifest), &manifest).await.unwrap();

    let record = fixture.load().await;
    assert_eq!(record.intent, None);
    assert!(record.receipt.is_some());
    let kept = files_below(&fixture.state);
    assert_eq!(kept.len(), 2, "one record, one manifest: {kept:?}");
}

#[tokio::test]
async fn an_intent_leaves_the_receipt_and_a_dropped_receipt_leaves_the_intent() {
    let fixture = Fixture::saved(&manifest(1)).await;
    fixture.store.record_intent(&fixture.workspace, &intent(7)).await.unwrap();
    assert!(fixture.load().await.receipt.is_some());

    fixture.store.drop_receipt(&fixture.workspace).await.unwrap();
    let record = fixture.load().await;

    let expected = Record { intent: Some(intent(7)), last_backend: Some(Backend::Ladybug), ..Record::default() };
    assert_eq!(record, expected);
    assert_eq!(fixture.store.load_manifest(&fixture.workspace).await.unwrap(), None);
    assert_eq!(files_below(&fixture.state).len(), 1, "the manifest went with its receipt");
    fixture.store.clear_intent(&fixture.workspace).await.unwrap();
    assert_eq!(fixture.load().await.intent, None);
}

#[tokio::test]
async fn old_manifests_do_not_pile_up() {
    let fixture = Fixture::saved(&manifest(1)).await;
    for content in 2..6 {
        let manifest = manifest(content);
        fixture.store.save_receipt(&receipt(&fixture.workspace, &manifest), &manifest).await.unwrap();
    }

    assert_eq!(files_below(&fixture.state).len(), 2);
    assert_eq!(fixture.store.load_manifest(&fixture.workspace).await.unwrap(), Some(manifest(5)));
}

#[tokio::test]
async fn a_receipt_for_another_manifest_is_refused_and_changes_nothing() {
    let fixture = Fixture::saved(&manifest(1)).await;

    let mismatched = receipt(&fixture.workspace, &manifest(1));
    let error = fixture.store.save_receipt(&mismatched, &manifest(2)).await.unwrap_err();

    assert!(matches!(error, StoreError::Damaged { .. }));
    assert_eq!(fixture.store.load_manifest(&fixture.workspace).await.unwrap(), Some(manifest(1)));
}

/// Killed after the new manifest was written and before the record that names it: the old pair still holds.
#[tokio::test]
async fn a_crash_between_manifest_and_record_leaves_the_old_pair() {
    let fixture = Fixture::saved(&manifest(1)).await;
    let record = file(&fixture.state, "record");
    let old_manifest = file(&fixture.state, "manifest");
    let old_bytes = fs::read(&old_manifest).unwrap();
    fixture.store.record_intent(&fixture.workspace, &intent(7)).await.unwrap();
    let with_intent = fs::read(&record).unwrap();
    let next = manifest(2);
    fixture.store.save_receipt(&receipt(&fixture.workspace, &next), &next).await.unwrap();
    fs::write(&record, with_intent).unwrap();
    fs::write(&old_manifest, old_bytes).unwrap();
    write(&record.with_file_name(".unfinished-1-0"), "half a reco");

    let survivor = FileStore::new(fixture.state.clone());
    let loaded = survivor.load(&fixture.workspace, None).await.unwrap();

    assert_eq!(loaded.intent, Some(intent(7)), "the job's outcome is unknown");
    assert_eq!(survivor.load_manifest(&fixture.workspace).await.unwrap(), Some(manifest(1)));

    survivor.save_receipt(&receipt(&fixture.workspace, &next), &next).await.unwrap();
    assert_eq!(files_below(&fixture.state).len(), 2, "leftovers are gone");
}

/// Killed after the record was written and before the old manifest was removed: the new pair holds.
#[tokio::test]
async fn a_crash_before_tidying_leaves_the_new_pair() {
    let fixture = Fixture::saved(&manifest(1)).await;
    let old = file(&fixture.state, "manifest");
    let old_bytes = fs::read(&old).unwrap();
    let next = manifest(2);
    fixture.store.save_receipt(&receipt(&fixture.workspace, &next), &next).await.unwrap();
    fs::write(&old, old_bytes).unwrap();

    let survivor = FileStore::new(fixture.state.clone());

    assert_eq!(survivor.load_manifest(&fixture.workspace).await.unwrap(), Some(next));
}

#[tokio::test]
async fn trial_b36_a_record_cut_anywhere_counts_as_absent_and_is_replaced() {
    let manifest = manifest(1);
    let fixture = Fixture::saved(&manifest).await;
    let record = file(&fixture.state, "record");
    let whole = fs::read(&record).unwrap();
    // The last byte but one closes the object.
    for length in 0..whole.len() - 1 {
        fs::write(&record, &whole[..length]).unwrap();
        assert_eq!(fixture.load().await, Record::default(), "cut at {length}");
    }

    fixture.store.record_intent(&fixture.workspace, &intent(7)).await.unwrap();
    assert_eq!(fixture.load().await, Record { intent: Some(intent(7)), ..Record::default() });
}

#[rstest]
#[case::empty(b"".to_vec())]
#[case::garbage(b"\x00\xff\xfenot json".to_vec())]
#[case::another_shape(b"{\"version\":1}".to_vec())]
#[case::a_later_version(br#"{"version":2,"workspace":"/w","receipt":null,"intent":null,"lastBackend":null}"#.to_vec())]
#[case::another_workspace(br#"{"version":1,"workspace":"/w","receipt":null,"intent":null,"lastBackend":"kuzu"}"#.to_vec())]
#[case::huge(vec![b' '; 2 << 20])]
#[tokio::test]
async fn trial_b36_senseless_state_files_count_as_absent(#[case] content: Vec<u8>) {
    let fixture = Fixture::saved(&manifest(1)).await;
    fixture.store.save_database(&database("/db/kuzudb")).await.unwrap();
    fs::write(file(&fixture.state, "record"), &content).unwrap();
    let databases: Vec<PathBuf> = files_below(&fixture.state.join("databases"));
    fs::write(&databases[0], &content).unwrap();

    let record = fixture.store.load(&fixture.workspace, Some(Path::new("/db/kuzudb"))).await.unwrap();

    assert_eq!(record, Record::default());
    assert_eq!(fixture.store.load_manifest(&fixture.workspace).await.unwrap(), None);
    fixture.store.save_database(&database("/db/kuzudb")).await.unwrap();
    let record = fixture.store.load(&fixture.workspace, Some(Path::new("/db/kuzudb"))).await.unwrap();
    assert_eq!(record.database, Some(database("/db/kuzudb")));
}

#[rstest]
#[case::missing(None)]
#[case::empty(Some(b"".to_vec()))]
#[case::another_content(Some(b"cgc-steward manifest\x01\x00\x00".to_vec()))]
#[tokio::test]
async fn a_damaged_manifest_is_said_to_be_damaged(#[case] content: Option<Vec<u8>>) {
    let fixture = Fixture::saved(&manifest(1)).await;
    let path = file(&fixture.state, "manifest");
    match content {
        Some(content) => fs::write(&path, content).unwrap(),
        None => fs::remove_file(&path).unwrap(),
    }

    let error = fixture.store.load_manifest(&fixture.workspace).await.unwrap_err();

    assert!(matches!(&error, StoreError::Damaged { path: named, .. } if *named == path), "{error:?}");
}

#[tokio::test]
async fn state_is_for_the_user_alone() {
    let fixture = Fixture::saved(&manifest(1)).await;
    fixture.store.save_database(&database("/db/kuzudb")).await.unwrap();

    let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
    for path in files_below(&fixture.state) {
        assert_eq!(mode(&path), 0o600, "{}", path.display());
        assert_eq!(mode(path.parent().unwrap()), 0o700);
    }
    assert_eq!(mode(&fixture.state), 0o700);

    fs::set_permissions(&fixture.state, fs::Permissions::from_mode(0o755)).unwrap();
    fixture.load().await;
    assert_eq!(mode(&fixture.state), 0o700, "what is merely readable is closed");
}

#[tokio::test]
async fn trial_b138_a_state_directory_that_others_may_write_to_is_refused() {
    let fixture = Fixture::saved(&manifest(1)).await;
    fs::set_permissions(&fixture.state, fs::Permissions::from_mode(0o777)).unwrap();

    let load = fixture.store.load(&fixture.workspace, None).await.unwrap_err();
    let save = fixture.store.record_intent(&fixture.workspace, &intent(7)).await.unwrap_err();

    assert!(matches!(load, StoreError::Unusable { .. }));
    assert!(matches!(save, StoreError::Unusable { .. }));
}

#[rstest]
#[case::the_state_directory("")]
#[case::a_directory_in_it("workspaces")]
#[tokio::test]
async fn trial_b138_a_planted_link_to_a_directory_is_refused(#[case] planted: &str) {
    let sandbox = Sandbox::new();
    let target = sandbox.path("target");
    fs::create_dir(&target).unwrap();
    let state = sandbox.path("state");
    let link = state.join(planted);
    let link = link.components().as_path();
    fs::create_dir_all(link.parent().unwrap()).unwrap();
    symlink(&target, link).unwrap();
    if link != state {
        fs::set_permissions(&state, fs::Permissions::from_mode(0o700)).unwrap();
    }
    let store = FileStore::new(state);

    let load = store.load(&workspace("/w"), None).await;
    let save = store.record_intent(&workspace("/w"), &intent(7)).await;

    assert!(matches!(load, Err(StoreError::Unusable { .. })), "{load:?}");
    assert!(matches!(save, Err(StoreError::Unusable { .. })), "{save:?}");
    assert_eq!(files_below(&target), Vec::<PathBuf>::new());
}

#[tokio::test]
async fn trial_b138_a_planted_link_to_a_file_is_neither_read_nor_written_through() {
    let fixture = Fixture::saved(&manifest(1)).await;
    let record = file(&fixture.state, "record");
    let target = fixture.state.with_file_name("bashrc");
    fs::rename(&record, &target).unwrap();
    let before = fs::read(&target).unwrap();
    symlink(&target, &record).unwrap();

    assert_eq!(fixture.load().await, Record::default(), "a link is not followed even to a sound record");
    fixture.store.record_intent(&fixture.workspace, &intent(7)).await.unwrap();

    assert_eq!(fs::read(&target).unwrap(), before);
    assert!(fs::symlink_metadata(&record).unwrap().is_file(), "the link was replaced");
    assert_eq!(fixture.load().await.intent, Some(intent(7)));
}

/// Whatever the system refuses is said with the path, and what was there stays.
#[tokio::test]
async fn trial_b109_a_write_that_fails_is_an_error_with_its_path() {
    let fixture = Fixture::saved(&manifest(1)).await;
    let record = file(&fixture.state, "record");
    let directory = record.parent().unwrap().to_owned();
    fs::remove_file(&record).unwrap();
    // A directory in the record's place cannot be replaced by a file, whoever runs this test.
    write(&record.join("in the way"), "");

    let error = fixture.store.record_intent(&fixture.workspace, &intent(7)).await.unwrap_err();

    assert!(matches!(&error, StoreError::Unusable { path, .. } if *path == record), "{error:?}");
    let unfinished = files_below(&directory)
        .into_iter()
        .filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with(".unfinished"));
    assert_eq!(unfinished.count(), 0, "nothing half written is left");
}

#[tokio::test]
async fn trial_b109_a_place_where_nothing_can_be_made_is_an_error_with_its_path() {
    let sandbox = Sandbox::new();
    write(&sandbox.path("file"), "");
    let store = FileStore::new(sandbox.path("file/state"));

    let error = store.record_intent(&workspace("/w"), &intent(7)).await.unwrap_err();

    assert!(matches!(error, StoreError::Unusable { path, .. } if path.starts_with(sandbox.path("file"))));
}

#[tokio::test]
async fn writers_of_one_store_do_not_lose_each_others_changes() {
    let fixture = Fixture::new();
    let mut tasks = Vec::new();
    for number in 0..32_u32 {
        let store = fixture.store.clone();
        tasks.push(tokio::spawn(async move {
            let workspace = workspace(&format!("/w{}", number % 4));
            let manifest = manifest(u8::try_from(number).unwrap());
            store.save_receipt(&receipt(&workspace, &manifest), &manifest).await.unwrap();
            store.record_intent(&workspace, &intent(number)).await.unwrap();
            store.load_manifest(&workspace).await.unwrap().unwrap();
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }

    for number in 0..4 {
        let workspace = workspace(&format!("/w{number}"));
        let record = fixture.store.load(&workspace, None).await.unwrap();
        let manifest = fixture.store.load_manifest(&workspace).await.unwrap().unwrap();
        assert_eq!(record.receipt.unwrap().manifest, SystemFileSystem.digest(&manifest));
    }
}
