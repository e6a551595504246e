//! Rows of one job: what each step asks for, and in which state each failure leaves the graph and its intent.

use rstest::rstest;
use steward_ports::{Backend, GroupId, Holder, Inventory, Verdict};

use super::*;
use crate::event::Problem;
use crate::samples::{inventory, recheck, scan, target};

const GROUP: GroupId = GroupId(1);
const PROOF: GroupId = GroupId(2);

fn at(milliseconds: u64) -> Tick {
    Tick::from_millis(milliseconds)
}

fn order(kind: JobKind, found: State, backend: Backend) -> Order {
    Order {
        kind,
        origin: Origin::Client,
        root: WorkspaceRoot::from_canonical("/repository".into()),
        workspace: WorkspaceKind::Plain,
        target: target(backend),
        found,
        question_timeout: Duration::from_secs(30),
        maintenance_timeout: Duration::from_mins(1),
        difference: None,
        full_index_at: None,
    }
}

fn job(kind: JobKind, found: State) -> Job {
    Job::new(order(kind, found, Backend::Kuzu), BTreeSet::new(), at(0))
}

fn problem() -> Problem {
    Problem("it failed".to_owned())
}

fn ended(group: GroupId, verdict: Verdict) -> Event {
    Event::Run(RunEvent::Ended { group, verdict })
}

/// Everything that happens when all goes well, up to the receipt.
fn good_events() -> Vec<Event> {
    vec![
        Event::DatabaseGranted,
        Event::LockProbed(LockState::Free),
        Event::Scanned(scan(&["a.py"])),
        Event::IntentRecorded,
        Event::Run(RunEvent::Spawned(GROUP)),
        ended(GROUP, Verdict::Worked),
        Event::Rechecked(recheck(&[])),
        Event::Run(RunEvent::Spawned(PROOF)),
        ended(PROOF, Verdict::Holds(inventory(&["a.py"], 1))),
    ]
}

/// How many of [`good_events`] come before each step.
const PROBING: usize = 1;
const SCANNING: usize = 2;
const RECORDING: usize = 3;
const STARTING: usize = 4;
const WORKING: usize = 5;
const RECHECKING: usize = 6;
const ASKING: usize = 7;
const PROVING: usize = 8;
const SAVING: usize = 9;

/// Takes `job` along the good way up to a step.
fn take_to(job: &mut Job, step: usize) -> Outcome {
    let mut outcome = Outcome::default();
    for event in good_events().into_iter().take(step) {
        outcome = job.on(event, at(0));
    }
    outcome
}

#[test]
fn each_step_asks_for_the_next() {
    let mut job = job(JobKind::Index, State::Unindexed);
    let mut asked = Vec::new();
    for event in good_events() {
        let outcome = job.on(event, at(0));
        assert_eq!(outcome.end, None);
        asked.extend(outcome.tasks.iter().map(name));
    }

    let expected =
        ["probe lock", "scan", "record intent", "spawn", "follow", "recheck", "spawn", "follow", "save receipt"];
    assert_eq!(asked, expected);
    assert_eq!(job.step(), JobStep::Saving);
}

fn name(task: &Task) -> &'static str {
    match task {
        Task::Inspect(_) => "inspect",
        Task::Compare(_) => "compare",
        Task::ProbeLock(_) => "probe lock",
        Task::SetAside(_) => "set aside",
        Task::Scan(_) => "scan",
        Task::RecordIntent(_) => "record intent",
        Task::ClearIntent => "clear intent",
        Task::DropReceipt => "drop receipt",
        Task::Spawn { .. } => "spawn",
        Task::Follow { .. } => "follow",
        Task::Stop { .. } => "stop",
        Task::Recheck { .. } => "recheck",
        Task::SaveReceipt { .. } => "save receipt",
        Task::RecordDatabase(_) => "record database",
        Task::Notify { .. } => "notify",
    }
}

#[test]
fn a_server_has_no_lock_to_be_probed() {
    let order = order(JobKind::Index, State::Unindexed, Backend::Neo4j);
    let mut job = Job::new(order, BTreeSet::new(), at(0));

    let outcome = job.on(Event::DatabaseGranted, at(0));

    assert_eq!(outcome.tasks.iter().map(name).collect::<Vec<_>>(), ["scan"]);
}

#[rstest]
#[case::a_new_graph(JobKind::Index, State::Unindexed, Verb::Index)]
#[case::half_a_graph(JobKind::Index, State::Incomplete, Verb::Reconcile)]
#[case::a_graph_that_is_behind(JobKind::Sync, State::Drift, Verb::Reconcile)]
#[case::a_graph_to_be_replaced(JobKind::Rebuild, State::Drift, Verb::Rebuild)]
#[case::a_ruin_that_was_set_aside(JobKind::Rebuild, State::Corrupt, Verb::Index)]
fn the_verb_depends_on_what_is_there(#[case] kind: JobKind, #[case] found: State, #[case] expected: Verb) {
    assert_eq!(job(kind, found).verb, expected);
}

/// Whether the intent stays on disk when the job has ended.
#[derive(Debug, PartialEq, Eq)]
enum Intent {
    Cleared,
    Kept,
}

/// Hears `event` at `step` and everything that is written down after it; returns the state, whether the failure may
/// pass, and what becomes of the intent.
fn end_after(mut job: Job, step: usize, event: Event) -> (State, bool, Intent) {
    take_to(&mut job, step);
    let mut outcome = job.on(event, at(0));
    let mut intent = Intent::Kept;
    while outcome.end.is_none() {
        let answer = match outcome.tasks.as_slice() {
            [Task::ClearIntent] => {
                intent = Intent::Cleared;
                Event::IntentCleared
            }
            [Task::DropReceipt] => Event::ReceiptDropped,
            tasks => panic!("{tasks:?}"),
        };
        outcome = job.on(answer, at(0));
    }
    match outcome.end {
        Some(JobEnd::Failed { state, transient, .. }) => (state, transient, intent),
        end => panic!("{end:?}"),
    }
}

#[rstest]
#[case::lock_unreadable(PROBING, Event::LockProbeFailed(problem()), State::Unindexed, true, Intent::Kept)]
#[case::tree_unreadable(SCANNING, Event::ScanFailed(problem()), State::Unindexed, true, Intent::Kept)]
#[case::nothing_to_index(SCANNING, Event::Scanned(scan(&[])), State::Unindexed, false, Intent::Kept)]
#[case::no_intent(RECORDING, Event::IntentFailed(problem()), State::Unindexed, true, Intent::Kept)]
#[case::no_start(STARTING, Event::Run(RunEvent::SpawnFailed(problem())), State::Unindexed, true, Intent::Cleared)]
#[case::failed(WORKING, ended(GROUP, Verdict::Failed { reason: "x".into() }), State::Incomplete, false, Intent::Kept)]
#[case::no_grammars(WORKING, ended(GROUP, Verdict::NoGrammars), State::Incomplete, false, Intent::Kept)]
#[case::interrupted(WORKING, ended(GROUP, Verdict::Interrupted), State::Incomplete, false, Intent::Kept)]
#[case::nonsense(WORKING, ended(GROUP, Verdict::Unindexed), State::Incomplete, false, Intent::Kept)]
#[case::no_server(WORKING, ended(GROUP, Verdict::ServerDown { evidence: "x".into() }), State::Unindexed, true, Intent::Cleared)]
#[case::fallback(WORKING, ended(GROUP, Verdict::BackendChanged { evidence: "x".into() }), State::Unknown, false, Intent::Cleared)]
#[case::corrupt(WORKING, ended(GROUP, Verdict::Corrupt { evidence: "x".into() }), State::Corrupt, false, Intent::Cleared)]
#[case::tree_unreadable_after(RECHECKING, Event::RecheckFailed(problem()), State::Drift, true, Intent::Cleared)]
#[case::no_question(ASKING, Event::Run(RunEvent::SpawnFailed(problem())), State::Drift, true, Intent::Cleared)]
#[case::no_answer(PROVING, ended(PROOF, Verdict::Failed { reason: "x".into() }), State::Drift, true, Intent::Cleared)]
#[case::locked_out(PROVING, ended(PROOF, Verdict::Busy), State::Drift, true, Intent::Cleared)]
#[case::not_there(PROVING, ended(PROOF, Verdict::Unindexed), State::Incomplete, false, Intent::Kept)]
#[case::empty(PROVING, ended(PROOF, Verdict::Holds(Inventory::default())), State::Incomplete, false, Intent::Kept)]
#[case::other_files(PROVING, ended(PROOF, Verdict::Holds(inventory(&["b.py"], 1))), State::Incomplete, false, Intent::Kept)]
#[case::ruined(PROVING, ended(PROOF, Verdict::Corrupt { evidence: "x".into() }), State::Corrupt, false, Intent::Cleared)]
#[case::no_receipt(SAVING, Event::ReceiptFailed(problem()), State::Drift, true, Intent::Cleared)]
fn a_failed_index(
    #[case] step: usize,
    #[case] event: Event,
    #[case] state: State,
    #[case] may_pass: bool,
    #[case] intent: Intent,
) {
    assert_eq!(end_after(job(JobKind::Index, State::Unindexed), step, event), (state, may_pass, intent));
}

/// After a sync that is not proved, the earlier receipt must not be believed again: the intent stays.
#[rstest]
#[case::failed(WORKING, ended(GROUP, Verdict::Failed { reason: "x".into() }), false, Intent::Kept)]
#[case::skipped(WORKING, ended(GROUP, Verdict::Skipped), false, Intent::Kept)]
#[case::no_start(STARTING, Event::Run(RunEvent::SpawnFailed(problem())), true, Intent::Cleared)]
#[case::tree_unreadable_after(RECHECKING, Event::RecheckFailed(problem()), true, Intent::Kept)]
#[case::no_answer(PROVING, ended(PROOF, Verdict::Failed { reason: "x".into() }), true, Intent::Kept)]
#[case::other_files(PROVING, ended(PROOF, Verdict::Holds(inventory(&["b.py"], 1))), false, Intent::Kept)]
#[case::no_receipt(SAVING, Event::ReceiptFailed(problem()), true, Intent::Kept)]
fn a_failed_sync_is_behind(#[case] step: usize, #[case] event: Event, #[case] may_pass: bool, #[case] intent: Intent) {
    assert_eq!(end_after(job(JobKind::Sync, State::Drift), step, event), (State::Drift, may_pass, intent));
}

#[test]
fn a_server_that_goes_away_in_the_middle_leaves_half_a_graph() {
    let mut job = job(JobKind::Index, State::Unindexed);
    take_to(&mut job, WORKING);
    let started = RunEvent::Said { group: GROUP, milestone: Some(steward_ports::Milestone::Started) };
    let _followed = job.on(Event::Run(started), at(0));

    let outcome = job.on(ended(GROUP, Verdict::ServerDown { evidence: "refused".to_owned() }), at(0));

    assert!(matches!(outcome.end, Some(JobEnd::Failed { state: State::Incomplete, .. })), "{outcome:?}");
}

#[test]
fn an_index_that_is_skipped_becomes_a_reconcile() {
    let mut job = job(JobKind::Index, State::Unindexed);
    take_to(&mut job, WORKING);

    let outcome = job.on(ended(GROUP, Verdict::Skipped), at(0));

    assert!(matches!(outcome.tasks[..], [Task::Spawn { verb: Verb::Reconcile, .. }]), "{outcome:?}");
}

#[test]
fn a_held_lock_ends_the_job_before_anything_was_done() {
    let mut job = job(JobKind::Sync, State::Drift);
    take_to(&mut job, PROBING);
    let holder = Holder { pid: Some(1), name: "cgc mcp".to_owned(), directory: None };

    let outcome = job.on(Event::LockProbed(LockState::Held(holder.clone())), at(0));

    assert_eq!(outcome, Outcome::end(JobEnd::Busy { holder: Some(holder), cgc_ran: false }));
}

#[rstest]
#[case::that_still_holds_it(true)]
#[case::that_is_gone(false)]
fn a_lock_that_cgc_ran_into_is_looked_up(#[case] is_held: bool) {
    let mut job = job(JobKind::Sync, State::Drift);
    take_to(&mut job, WORKING);
    let holder = Holder { pid: Some(1), name: "cgc mcp".to_owned(), directory: None };

    let outcome = job.on(ended(GROUP, Verdict::Busy), at(0));
    assert_eq!(outcome.tasks, [Task::ClearIntent]);
    let outcome = job.on(Event::IntentCleared, at(0));
    assert!(matches!(outcome.tasks[..], [Task::ProbeLock(_)]), "{outcome:?}");
    let lock = if is_held { LockState::Held(holder.clone()) } else { LockState::Free };
    let outcome = job.on(Event::LockProbed(lock), at(0));

    assert_eq!(outcome, Outcome::end(JobEnd::Busy { holder: is_held.then_some(holder), cgc_ran: true }));
}

#[rstest]
#[case::waiting(0, JobStep::WaitingForDatabase)]
#[case::probing(PROBING, JobStep::ProbingLock)]
#[case::scanning(SCANNING, JobStep::Scanning)]
#[case::recording(RECORDING, JobStep::RecordingIntent)]
#[case::working(WORKING, JobStep::Working)]
#[case::rechecking(RECHECKING, JobStep::Rechecking)]
#[case::proving(PROVING, JobStep::Proving)]
fn a_stop_ends_every_step_without_starting_cgc(#[case] step: usize, #[case] expected: JobStep) {
    let mut job = job(JobKind::Rebuild, State::Corrupt);
    let mut events: Vec<Event> = good_events().into_iter().skip(step).collect();
    take_to_as_ruin(&mut job, step);
    assert_eq!(job.step(), expected);

    let mut outcome = job.stop(at(0));
    let mut started = 0;
    while outcome.end.is_none() {
        started += outcome.tasks.iter().filter(|task| matches!(task, Task::Spawn { .. } | Task::SetAside(_))).count();
        let clears = outcome.tasks.contains(&Task::ClearIntent);
        let event = if clears { Event::IntentCleared } else { events.remove(0) };
        outcome = job.on(event, at(0));
    }

    assert_eq!(started, 0);
    assert!(matches!(outcome.end, Some(JobEnd::Failed { .. })), "{outcome:?}");
}

/// The good way of a rebuild that sets a ruin aside first.
fn take_to_as_ruin(job: &mut Job, step: usize) {
    for event in good_events().into_iter().take(step) {
        let outcome = job.on(event, at(0));
        if matches!(outcome.tasks[..], [Task::SetAside(_)]) {
            let _scan = job.on(Event::SetAside("/home/db/aside".into()), at(0));
        }
    }
}

#[rstest]
#[case::undisturbed(false, 2)]
#[case::while_files_were_edited(true, 1)]
fn a_file_that_was_only_touched_is_vouched_for_unless_somebody_edited(#[case] is_disturbed: bool, #[case] kept: usize) {
    let mut job = job(JobKind::Sync, State::Drift);
    let tree = ["a.py", "b.py"];
    take_to(&mut job, SCANNING);
    let _intent = job.on(Event::Scanned(scan(&tree)), at(0));
    for event in good_events().into_iter().take(RECHECKING).skip(RECORDING) {
        let _asked = job.on(event, at(0));
    }
    if is_disturbed {
        job.disturb();
    }
    let touched = Comparison { touched: vec!["b.py".into()], ..recheck(&[]) };

    let _question = job.on(Event::Rechecked(touched), at(0));
    let _followed = job.on(Event::Run(RunEvent::Spawned(PROOF)), at(0));
    let outcome = job.on(ended(PROOF, Verdict::Holds(inventory(&tree, 2))), at(0));

    match outcome.tasks.as_slice() {
        [Task::SaveReceipt { manifest, .. }] => assert_eq!(manifest.entries.len(), kept),
        tasks => panic!("{tasks:?}"),
    }
}

#[rstest]
#[case::while_working(WORKING, State::Incomplete)]
#[case::while_proving(PROVING, State::Drift)]
fn a_run_over_its_budget_is_recorded_as_a_timeout(#[case] step: usize, #[case] expected: State) {
    let mut job = job(JobKind::Index, State::Unindexed);
    take_to(&mut job, step);
    let group = if step == WORKING { GROUP } else { PROOF };

    let deadline = job.deadline().expect("a run has a budget");
    let outcome = job.on(Event::DeadlineReached, deadline);
    assert_eq!(outcome.tasks.iter().map(name).collect::<Vec<_>>(), ["stop"]);
    let mut outcome = job.on(ended(group, Verdict::Interrupted), deadline);
    if outcome.end.is_none() {
        outcome = job.on(Event::IntentCleared, deadline);
    }

    match outcome.end {
        Some(JobEnd::Failed { state, summary, .. }) => {
            assert_eq!(state, expected);
            assert!(summary.contains("(timeout)"), "{summary}");
        }
        end => panic!("{end:?}"),
    }
}
