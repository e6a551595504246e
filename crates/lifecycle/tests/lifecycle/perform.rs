//! Each task is one port call, and its answer is the next event.
//!
//! It must never test what the machine makes of an answer.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use mockall::predicate::{always, eq};
use rstest::rstest;
use steward_doubles::mocks::{
    MockClock, MockFileSystem, MockGraphTool, MockLockProbe, MockNotifier, MockProcessWatch, MockRunner, MockStore,
};
use steward_lifecycle::{Event, Ports, Problem, ReceiptDraft, RunEvent, Task, perform};
use steward_ports::{
    Captured, CommandSpec, DatabaseIdentity, Ended, Environment, Exclusions, Exit, FileSystemError, GraphToolError,
    GroupId, JobKind, LockProbeError, LockState, ManifestDigest, Milestone, Notice, NoticeKind, NotifyError,
    OutputLine, OutputStream, ProcessEvent, ProcessIdentity, Receipt, Record, RunnerError, Scope, Stop, StoreError,
    SyncEngine, Timestamp, Verb, Verdict,
};

use crate::support::*;

const GROUP: GroupId = GroupId(3);
const NOW: Timestamp = Timestamp::from_millis(77);

/// A mock for each port; a port that a test does not set up must not be called.
#[derive(Default)]
struct Mocks {
    runner: MockRunner,
    files: MockFileSystem,
    store: MockStore,
    locks: MockLockProbe,
    graph: MockGraphTool,
    notifier: MockNotifier,
    clock: MockClock,
    processes: MockProcessWatch,
}

impl Mocks {
    fn perform(self, task: Task) -> Option<Event> {
        let ports = Ports {
            runner: Arc::new(self.runner),
            files: Arc::new(self.files),
            store: Arc::new(self.store),
            locks: Arc::new(self.locks),
            graph: Arc::new(self.graph),
            notifier: Arc::new(self.notifier),
            clock: Arc::new(self.clock),
            processes: Arc::new(self.processes),
            own: own_process(),
        };
        perform(task, &root(), &ports).now_or_never().expect("a mock never waits")
    }
}

fn denied() -> io::Error {
    io::Error::from(io::ErrorKind::PermissionDenied)
}

fn no_store() -> StoreError {
    StoreError::Unusable { path: PathBuf::from("/state"), source: denied() }
}

fn no_files() -> FileSystemError {
    FileSystemError::Unreadable { path: PathBuf::from(ROOT), source: denied() }
}

fn no_cgc_files() -> GraphToolError {
    GraphToolError::Unreadable { path: PathBuf::from("/home/.env"), source: denied() }
}

fn problem(text: &str) -> Problem {
    Problem(format!("{text}: permission denied"))
}

fn command() -> CommandSpec {
    CommandSpec {
        program: PathBuf::from("/venv/bin/cgc"),
        arguments: vec!["index".into()],
        directory: PathBuf::from(ROOT),
        environment: Environment::default(),
        capture_limit: 1024,
        orphan_grace: Duration::from_secs(5),
        niceness: 10,
    }
}

fn ended() -> Ended {
    Ended {
        exit: Exit::Code(0),
        stdout: Captured::default(),
        stderr: Captured::default(),
        elapsed: Duration::from_secs(1),
    }
}

fn notice() -> Notice {
    Notice { kind: NoticeKind::Busy, text: "It is held.".to_owned(), advice: None }
}

fn follow() -> Task {
    Task::Follow { group: GROUP, verb: Verb::Reconcile, target: Box::new(target()), ready: true }
}

fn inspect() -> Task {
    Task::Inspect(terms(false, true).query)
}

/// Sets up the three reads that an inspection is made of.
fn inspecting(record: Record) -> Mocks {
    let mut mocks = Mocks::default();
    mocks.graph.expect_inspect().with(eq(terms(false, true).query)).return_once(|_| Ok(facts()));
    mocks
        .store
        .expect_load()
        .withf(|workspace, database| *workspace == root() && *database == Some(Path::new(DATABASE)))
        .return_once(|_, _| Ok(record));
    mocks.locks.expect_holder().with(eq(Path::new(DATABASE))).return_once(|_| Ok(LockState::Free));
    mocks
}

#[test]
fn an_inspection_reads_cgcs_files_the_record_and_the_lock() {
    let event = inspecting(trusted_record()).perform(inspect());

    assert_eq!(event, Some(Event::Inspected(Box::new(trusted()))));
}

#[test]
fn without_cgc_there_is_still_a_record() {
    let mut mocks = Mocks::default();
    let missing = GraphToolError::Missing { executable: PathBuf::from("cgc") };
    mocks.graph.expect_inspect().return_once(|_| Err(missing));
    mocks.store.expect_load().withf(|_, database| database.is_none()).return_once(|_, _| Ok(Record::default()));

    let Some(Event::Inspected(found)) = mocks.perform(inspect()) else { panic!("it was inspected") };

    assert_eq!(found.facts, Err(Problem("no executable `cgc` on the search path".to_owned())));
    assert_eq!((found.lock, found.problems), (None, vec![]));
}

#[test]
fn cgcs_files_that_cannot_be_read_are_a_failed_inspection() {
    let mut mocks = Mocks::default();
    mocks.graph.expect_inspect().return_once(|_| Err(no_cgc_files()));

    let event = mocks.perform(inspect());

    assert_eq!(event, Some(Event::InspectionFailed(problem("/home/.env cannot be read"))));
}

#[test]
fn a_record_and_a_lock_that_cannot_be_read_are_problems_and_no_failure() {
    let mut mocks = Mocks::default();
    mocks.graph.expect_inspect().return_once(|_| Ok(facts()));
    mocks.store.expect_load().return_once(|_, _| Err(no_store()));
    let unreadable = LockProbeError::Unreadable { database: PathBuf::from(DATABASE), source: denied() };
    mocks.locks.expect_holder().return_once(|_| Err(unreadable));

    let Some(Event::Inspected(found)) = mocks.perform(inspect()) else { panic!("it was inspected") };

    assert_eq!((found.record, found.lock), (Record::default(), None));
    let lock = format!("the lock of {DATABASE} cannot be read");
    assert_eq!(found.problems, [problem("the state file /state cannot be used"), problem(&lock)]);
}

#[rstest]
#[case::own(own_process(), None, false)]
#[case::alive(other_process(), Some(other_process()), true)]
#[case::gone(other_process(), None, false)]
#[case::its_number_is_reused(other_process(), Some(ProcessIdentity { start_time: 99, ..other_process() }), false)]
fn an_intent_is_foreign_while_its_companion_lives(
    #[case] owner: ProcessIdentity,
    #[case] found: Option<ProcessIdentity>,
    #[case] expected: bool,
) {
    let mut record = trusted_record();
    let mut intent = intent(JobKind::Sync);
    let record_owner = owner.clone();
    intent.owner = owner;
    record.intent = Some(intent);
    let mut mocks = inspecting(record);
    // Nobody looks for the companion's own process.
    if record_owner != own_process() {
        mocks.processes.expect_identify().with(eq(200)).return_once(|_| Ok(found));
    }

    let Some(Event::Inspected(found)) = mocks.perform(inspect()) else { panic!("it was inspected") };

    assert_eq!(found.intent_is_foreign, expected);
}

fn other_process() -> ProcessIdentity {
    ProcessIdentity { pid: 200, start_time: 2, boot_id: "boot".to_owned() }
}

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
fn a_spawn_runs_the_command_of_its_verb() {
    let mut mocks = Mocks::default();
    mocks.graph.expect_command().with(eq(Verb::Index), eq(target())).return_once(|_, _| command());
    mocks.runner.expect_spawn().with(eq(command())).return_once(|_| Ok(GROUP));

    let event = mocks.perform(Task::Spawn { verb: Verb::Index, target: Box::new(target()) });

    assert_eq!(event, Some(Event::Run(RunEvent::Spawned(GROUP))));
}

#[test]
fn a_spawn_that_fails_is_an_event() {
    let mut mocks = Mocks::default();
    mocks.graph.expect_command().return_once(|_, _| command());
    let refused = RunnerError::Spawn { program: PathBuf::from("/venv/bin/cgc"), source: denied() };
    mocks.runner.expect_spawn().return_once(|_| Err(refused));

    let event = mocks.perform(Task::Spawn { verb: Verb::Index, target: Box::new(target()) });

    let problem = problem("/venv/bin/cgc cannot be started");
    assert_eq!(event, Some(Event::Run(RunEvent::SpawnFailed(problem))));
}

#[test]
fn a_line_is_followed_by_what_it_means() {
    let mut mocks = Mocks::default();
    let line = OutputLine { stream: OutputStream::Stdout, text: "Monitoring".to_owned() };
    let said = line.clone();
    mocks.runner.expect_next().with(eq(GROUP)).return_once(|_| Ok(ProcessEvent::Line(said)));
    mocks.graph.expect_milestone().with(eq(Verb::Reconcile), eq(line)).return_once(|_, _| Some(Milestone::Ready));

    let event = mocks.perform(follow());

    let milestone = Some(Milestone::Ready);
    assert_eq!(event, Some(Event::Run(RunEvent::Said { group: GROUP, milestone })));
}

#[test]
fn an_end_is_followed_by_its_verdict() {
    let mut mocks = Mocks::default();
    mocks.runner.expect_next().return_once(|_| Ok(ProcessEvent::Ended(ended())));
    mocks
        .graph
        .expect_verdict()
        .with(eq(Verb::Reconcile), eq(target()), eq(ended()), eq(true))
        .return_once(|_, _, _, _| Verdict::Reconciled);

    let event = mocks.perform(follow());

    assert_eq!(event, Some(Event::Run(RunEvent::Ended { group: GROUP, verdict: Verdict::Reconciled })));
}

#[test]
fn a_group_that_cannot_be_followed_is_an_event() {
    let mut mocks = Mocks::default();
    mocks.runner.expect_next().return_once(|group| Err(RunnerError::Unknown(group)));

    let event = mocks.perform(follow());

    let problem = Problem("process group GroupId(3) is not known".to_owned());
    assert_eq!(event, Some(Event::Run(RunEvent::FollowFailed { group: GROUP, problem })));
}

#[test]
fn a_stop_answers_only_when_it_fails() {
    let mut mocks = Mocks::default();
    mocks.runner.expect_stop().with(eq(GROUP), eq(Stop::Interrupt)).return_once(|_, _| Ok(()));
    assert_eq!(mocks.perform(Task::Stop { group: GROUP, stop: Stop::Interrupt }), None);

    let mut mocks = Mocks::default();
    mocks.runner.expect_stop().return_once(|group, _| Err(RunnerError::Unknown(group)));
    let event = mocks.perform(Task::Stop { group: GROUP, stop: Stop::Interrupt });
    assert_eq!(event, Some(Event::TaskFailed(Problem("process group GroupId(3) is not known".to_owned()))));
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

fn draft(engine: SyncEngine) -> ReceiptDraft {
    ReceiptDraft {
        workspace: root(),
        kind: repository(),
        head: Some("commit".to_owned()),
        target: target(),
        counts: counts(),
        indexed_at: Some("yesterday".to_owned()),
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
