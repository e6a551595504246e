//! Trees, locks, databases set aside, and intents.

use super::*;

#[test]
fn a_comparison_is_made_with_the_stored_manifest() {
    let mut mocks = Mocks::default();
    mocks.store.expect_load_manifest().with(eq(root())).return_once(|_| Ok(Some(manifest())));
    mocks
        .files
        .expect_compare()
        .withf(|path, exclusions, baseline| {
            path == Path::new(ROOT) && *exclusions == Exclusions::default() && *baseline == manifest()
        })
        .return_once(|_, _, _| Ok(edited()));

    assert_eq!(mocks.perform(Task::Compare(Exclusions::default())), Some(Event::Compared(Some(edited()))));
}

#[test]
fn without_a_stored_manifest_there_is_nothing_to_compare_with() {
    let mut mocks = Mocks::default();
    mocks.store.expect_load_manifest().return_once(|_| Ok(None));

    assert_eq!(mocks.perform(Task::Compare(Exclusions::default())), Some(Event::Compared(None)));
}

#[test]
fn a_tree_that_cannot_be_read_is_a_failed_comparison() {
    let mut mocks = Mocks::default();
    mocks.store.expect_load_manifest().return_once(|_| Ok(Some(manifest())));
    mocks.files.expect_compare().return_once(|_, _, _| Err(no_files()));

    let event = mocks.perform(Task::Compare(Exclusions::default()));

    assert_eq!(event, Some(Event::CompareFailed(problem("/repository cannot be read"))));
}

#[test]
fn a_lock_is_probed() {
    let mut mocks = Mocks::default();
    mocks.locks.expect_holder().with(eq(Path::new(DATABASE))).return_once(|_| Ok(LockState::Held(holder())));

    let event = mocks.perform(Task::ProbeLock(DATABASE.into()));

    assert_eq!(event, Some(Event::LockProbed(LockState::Held(holder()))));
}

#[test]
fn a_database_is_set_aside() {
    let mut mocks = Mocks::default();
    mocks.graph.expect_set_aside().with(eq(Path::new(DATABASE))).return_once(|_| Ok(PathBuf::from("/aside")));

    assert_eq!(mocks.perform(Task::SetAside(DATABASE.into())), Some(Event::SetAside("/aside".into())));
}

#[test]
fn a_scan_takes_head_and_the_earlier_hashes_along() {
    let mut mocks = Mocks::default();
    mocks.store.expect_load_manifest().return_once(|_| Ok(Some(manifest())));
    mocks.files.expect_head().with(eq(Path::new(ROOT))).return_once(|_| Ok(Some("commit".to_owned())));
    mocks
        .files
        .expect_scan()
        .withf(|path, _, previous| path == Path::new(ROOT) && *previous == Some(&manifest()))
        .return_once(|_, _, _| Ok(manifest()));

    assert_eq!(mocks.perform(Task::Scan(Exclusions::default())), Some(Event::Scanned(scan())));
}

#[test]
fn a_scan_that_fails_says_what_cannot_be_read() {
    let mut mocks = Mocks::default();
    mocks.store.expect_load_manifest().return_once(|_| Err(no_store()));
    mocks.files.expect_head().return_once(|_| Ok(None));
    mocks.files.expect_scan().withf(|_, _, previous| previous.is_none()).return_once(|_, _, _| Err(no_files()));

    let event = mocks.perform(Task::Scan(Exclusions::default()));

    assert_eq!(event, Some(Event::ScanFailed(problem("/repository cannot be read"))));
}

#[test]
fn an_intent_names_the_job_the_time_and_the_companion() {
    let mut mocks = Mocks::default();
    mocks.clock.expect_wall().return_const(NOW);
    mocks
        .store
        .expect_record_intent()
        .withf(|workspace, intent| {
            *workspace == root()
                && (intent.job, intent.started_at) == (JobKind::Sync, NOW)
                && intent.owner == own_process()
        })
        .return_once(|_, _| Ok(()));

    assert_eq!(mocks.perform(Task::RecordIntent(JobKind::Sync)), Some(Event::IntentRecorded));
}

#[test]
fn an_intent_that_cannot_be_written_is_an_event() {
    let mut mocks = Mocks::default();
    mocks.clock.expect_wall().return_const(NOW);
    mocks.store.expect_record_intent().return_once(|_, _| Err(no_store()));

    let event = mocks.perform(Task::RecordIntent(JobKind::Sync));

    assert_eq!(event, Some(Event::IntentFailed(problem("the state file /state cannot be used"))));
}

#[test]
fn an_intent_is_cleared() {
    let mut mocks = Mocks::default();
    mocks.store.expect_clear_intent().with(eq(root())).return_once(|_| Ok(()));

    assert_eq!(mocks.perform(Task::ClearIntent), Some(Event::IntentCleared));
}

#[test]
fn a_receipt_is_dropped() {
    let mut mocks = Mocks::default();
    mocks.store.expect_drop_receipt().with(eq(root())).return_once(|_| Ok(()));

    assert_eq!(mocks.perform(Task::DropReceipt), Some(Event::ReceiptDropped));
}

#[test]
fn the_tree_is_compared_again_with_the_jobs_own_manifest() {
    let mut mocks = Mocks::default();
    mocks
        .files
        .expect_compare()
        .withf(|path, _, baseline| path == Path::new(ROOT) && *baseline == manifest())
        .return_once(|_, _, _| Ok(unchanged()));

    let task = Task::Recheck { exclusions: Exclusions::default(), manifest: Arc::new(manifest()) };

    assert_eq!(mocks.perform(task), Some(Event::Rechecked(unchanged())));
}
