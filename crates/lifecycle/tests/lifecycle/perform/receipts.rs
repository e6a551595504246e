//! Receipts, recorded databases and notices.

use super::*;

fn draft(engine: SyncEngine) -> ReceiptDraft {
    ReceiptDraft {
        workspace: root(),
        kind: repository(),
        head: Some("commit".to_owned()),
        target: target(),
        counts: counts(),
        indexed_at: Some("yesterday".to_owned()),
        graph_digest: Some("17/4".to_owned()),
        scope: Scope::Exact,
        engine,
        started_at: Timestamp::from_millis(9),
        full_index_at: None,
    }
}

fn save(engine: SyncEngine) -> Task {
    Task::SaveReceipt { draft: Box::new(draft(engine)), manifest: Arc::new(manifest()) }
}

/// Sets up everything that is read for a receipt.
fn completing() -> Mocks {
    let mut mocks = Mocks::default();
    mocks.graph.expect_database().with(eq(Path::new(DATABASE))).return_once(|_| Ok(Some(database())));
    mocks.files.expect_digest().return_once(|_| ManifestDigest("digest".to_owned()));
    mocks.clock.expect_wall().return_const(NOW);
    mocks
}

fn complete(engine: SyncEngine, full_index_at: Option<Timestamp>) -> Receipt {
    Receipt { engine, full_index_at, started_at: Timestamp::from_millis(9), finished_at: NOW, ..receipt() }
}

#[rstest]
#[case::a_whole_index_is_dated(SyncEngine::Full, Some(NOW))]
#[case::a_sync_is_not(SyncEngine::Reconcile, None)]
fn a_receipt_is_saved_before_the_database_counts_as_left_by_us(
    #[case] engine: SyncEngine,
    #[case] full_index_at: Option<Timestamp>,
) {
    let mut mocks = completing();
    let mut order = mockall::Sequence::new();
    let expected = complete(engine, full_index_at);
    mocks
        .store
        .expect_save_receipt()
        .with(eq(expected.clone()), eq(manifest()))
        .once()
        .in_sequence(&mut order)
        .return_once(|_, _| Ok(()));
    mocks.store.expect_save_database().with(eq(database())).once().in_sequence(&mut order).return_once(|_| Ok(()));

    assert_eq!(mocks.perform(save(engine)), Some(Event::ReceiptSaved(Box::new(expected))));
}

#[test]
fn a_receipt_that_cannot_be_saved_leaves_the_database_a_stranger() {
    let mut mocks = completing();
    mocks.store.expect_save_receipt().with(always(), always()).return_once(|_, _| Err(no_store()));

    let event = mocks.perform(save(SyncEngine::Full));

    assert_eq!(event, Some(Event::ReceiptFailed(problem("the state file /state cannot be used"))));
}

#[test]
fn a_database_is_recorded_as_it_is_now() {
    let mut mocks = Mocks::default();
    let now = DatabaseIdentity { size: 9, ..database() };
    let found = now.clone();
    mocks.graph.expect_database().with(eq(Path::new(DATABASE))).return_once(|_| Ok(Some(found)));
    mocks.store.expect_save_database().with(eq(now)).return_once(|_| Ok(()));

    assert_eq!(mocks.perform(Task::RecordDatabase(DATABASE.into())), Some(Event::DatabaseRecorded));
}

#[test]
fn a_database_that_cannot_be_read_is_not_recorded() {
    let mut mocks = Mocks::default();
    mocks.graph.expect_database().return_once(|_| Err(no_cgc_files()));

    let event = mocks.perform(Task::RecordDatabase(DATABASE.into()));

    assert_eq!(event, Some(Event::DatabaseRecordFailed(problem("/home/.env cannot be read"))));
}

#[test]
fn a_notice_answers_only_when_it_fails() {
    let mut mocks = Mocks::default();
    mocks.notifier.expect_notify().with(eq(session("a")), eq(notice())).return_once(|_, _| Ok(()));
    assert_eq!(mocks.perform(Task::Notify { session: session("a"), notice: notice() }), None);

    let mut mocks = Mocks::default();
    let refused = NotifyError::Refused { session: session("a"), reason: "it is gone".to_owned() };
    mocks.notifier.expect_notify().return_once(|_, _| Err(refused));
    let event = mocks.perform(Task::Notify { session: session("a"), notice: notice() });
    assert_eq!(event, Some(Event::TaskFailed(Problem("session a cannot be notified: it is gone".to_owned()))));
}
