//! Rows of the machine: who may cause what, who is told, who joins whom, and what ends with whom.
//!
//! It must never repeat what the sequences prove for all orders.

use rstest::rstest;
use steward_lifecycle::{Effect, Event, Lifecycle, Problem, RunEvent, State, Task, Work};
use steward_ports::{GroupId, LockState, NoticeKind, Stop, Tick, Verdict, WorkspaceKind};

use crate::steps::*;
use crate::support::*;

#[rstest]
#[case::consent_in_a_repository(repository(), true, true)]
#[case::no_consent(repository(), false, false)]
#[case::outside_any_repository(WorkspaceKind::Plain, true, false)]
#[case::in_the_home_directory(WorkspaceKind::Forbidden, true, false)]
fn a_graph_is_created_only_with_consent_and_in_a_repository(
    #[case] kind: WorkspaceKind,
    #[case] auto_create: bool,
    #[case] starts: bool,
) {
    let mut lifecycle = Lifecycle::new(root(), kind);

    let effects = hear(&mut lifecycle, [joined_on(terms(auto_create, true)), found(no_database())]);

    let (job, kind) =
        if starts { (Some(Work::Indexing), NoticeKind::IndexingStarted) } else { (None, NoticeKind::Unindexed) };
    assert_eq!(lifecycle.activity().map(|activity| activity.work), job);
    assert_eq!(told(&effects), [(&session("a"), kind)]);
}

#[test]
fn one_sessions_consent_counts_beside_anothers_refusal() {
    let mut lifecycle = lifecycle();
    let consenting = Event::Joined { session: session("b"), terms: terms(true, true) };

    hear(&mut lifecycle, [joined("a"), consenting, found(no_database())]);
    hear(&mut lifecycle, [found(no_database())]);

    assert_eq!(lifecycle.activity().map(|activity| activity.work), Some(Work::Indexing));
}

#[test]
fn what_was_found_on_one_sessions_terms_is_not_decided_on_anothers() {
    let mut lifecycle = lifecycle();
    let mut others = terms(true, true);
    others.query.executable = "/opt/other/cgc".into();
    let other = Event::Joined { session: session("b"), terms: others.clone() };

    let effects = hear(&mut lifecycle, [joined("a"), other, found(no_database())]);

    assert_eq!(tasks(&effects), [&Task::Inspect(others.query)]);
}

#[test]
fn a_shutdown_stops_even_a_clients_job_and_tells_nobody_of_a_failure() {
    let mut lifecycle = syncing();

    let effects = hear(&mut lifecycle, [Event::ShutdownRequested]);
    assert_eq!(tasks(&effects), [&Task::Stop { group: GROUP, stop: Stop::Interrupt }]);
    let interrupted = RunEvent::Ended { group: GROUP, verdict: Verdict::Interrupted };
    let effects = hear(&mut lifecycle, [Event::Run(interrupted)]);

    assert_eq!(told(&effects), []);
    assert!(lifecycle.is_idle());
}

#[test]
fn a_stop_before_the_proof_starts_no_question() {
    let mut lifecycle = syncing();
    let reconciled = RunEvent::Ended { group: GROUP, verdict: Verdict::Reconciled };
    hear(&mut lifecycle, [Event::Run(reconciled), Event::Left { session: session("a") }]);

    let effects = hear(&mut lifecycle, [Event::Rechecked(unchanged())]);

    assert!(matches!(effects[..], [Effect::Release(_)]), "{effects:?}");
    assert_eq!(lifecycle.knowledge().state, State::Drift);
}

#[test]
fn a_stop_during_the_proof_leaves_the_sync_unproved() {
    let mut lifecycle = syncing();
    let reconciled = RunEvent::Ended { group: GROUP, verdict: Verdict::Reconciled };
    let proof = GroupId(2);
    let spawned = Event::Run(RunEvent::Spawned(proof));
    hear(&mut lifecycle, [Event::Run(reconciled), Event::Rechecked(unchanged()), spawned]);

    let effects = hear(&mut lifecycle, [Event::Left { session: session("a") }]);
    assert_eq!(tasks(&effects), [&Task::Stop { group: proof, stop: Stop::Interrupt }]);
    let stopped = RunEvent::Ended { group: proof, verdict: Verdict::Holds(inventory()) };
    hear(&mut lifecycle, [Event::Run(stopped)]);

    assert!(lifecycle.is_abandoned());
    assert_eq!(lifecycle.knowledge().state, State::Drift);
    assert!(lifecycle.last_job().is_some_and(|job| !job.succeeded && job.summary.contains("stopped")));
}

#[test]
fn an_edit_during_a_comparison_has_the_tree_compared_again() {
    let mut lifecycle = lifecycle();
    hear(&mut lifecycle, [joined("a"), found(trusted()), Event::EditObserved]);

    let effects = hear(&mut lifecycle, [Event::Compared(Some(unchanged()))]);
    assert!(matches!(tasks(&effects)[..], [Task::Compare(_)]), "{effects:?}");
    hear(&mut lifecycle, [Event::Compared(Some(unchanged()))]);

    assert_eq!(lifecycle.knowledge().state, State::Clean);
}

#[test]
fn an_edit_during_a_job_keeps_it_from_being_called_clean() {
    let mut lifecycle = syncing();
    hear(&mut lifecycle, [Event::EditObserved]);

    let effects = finish(&mut lifecycle);

    assert_eq!(lifecycle.knowledge().state, State::Drift);
    assert!(tasks(&effects).iter().any(|task| matches!(task, Task::Inspect(_))), "{effects:?}");
}

#[test]
fn what_changed_in_the_tree_while_a_job_ran_is_drift() {
    let mut lifecycle = syncing();
    let proof = GroupId(2);

    hear(
        &mut lifecycle,
        [
            Event::Run(RunEvent::Ended { group: GROUP, verdict: Verdict::Reconciled }),
            Event::Rechecked(edited()),
            Event::Run(RunEvent::Spawned(proof)),
            Event::Run(RunEvent::Ended { group: proof, verdict: Verdict::Holds(inventory()) }),
            Event::ReceiptSaved(Box::new(receipt())),
        ],
    );

    assert_eq!(lifecycle.knowledge().state, State::Drift);
    assert!(lifecycle.last_job().is_some_and(|job| job.succeeded));
}

#[rstest]
#[case::that_may_pass(true, 2)]
#[case::that_will_not_pass(false, 1)]
fn a_failure_is_retried_once_where_it_may_pass(#[case] may_pass: bool, #[case] attempts: usize) {
    let mut lifecycle = lifecycle();
    hear(&mut lifecycle, [joined("a"), found(trusted()), Event::Compared(Some(edited()))]);
    let mut count = 0;
    for _ in 0..5 {
        if lifecycle.has_job() {
            count += 1;
            begin_work(&mut lifecycle);
            if may_pass {
                let problem = Problem("no memory".to_owned());
                hear(&mut lifecycle, [Event::Run(RunEvent::SpawnFailed(problem)), Event::IntentCleared]);
            } else {
                hear(&mut lifecycle, [Event::Run(RunEvent::Spawned(GROUP))]);
                fail(&mut lifecycle);
            }
        }
        hear(&mut lifecycle, [look(), found(trusted()), Event::Compared(Some(edited()))]);
        hear(&mut lifecycle, [Event::SyncRequested { session: session("a") }]);
    }

    assert_eq!(count, attempts);
}

#[test]
fn a_success_lets_later_failures_be_retried_again() {
    let mut lifecycle = lifecycle();
    let behind = || [found(trusted()), Event::Compared(Some(edited()))];
    let cannot_start = || [Event::Run(RunEvent::SpawnFailed(Problem("no memory".to_owned()))), Event::IntentCleared];
    hear(&mut lifecycle, [joined("a")].into_iter().chain(behind()));
    begin_work(&mut lifecycle);
    hear(&mut lifecycle, cannot_start());
    hear(&mut lifecycle, [look()].into_iter().chain(behind()));
    begin_work(&mut lifecycle);
    hear(&mut lifecycle, [Event::Run(RunEvent::Spawned(GROUP))]);
    finish(&mut lifecycle);
    assert_eq!(lifecycle.knowledge().state, State::Clean);

    hear(&mut lifecycle, [look()].into_iter().chain(behind()));
    hear(&mut lifecycle, [Event::SyncRequested { session: session("a") }]);
    begin_work(&mut lifecycle);
    hear(&mut lifecycle, cannot_start());
    hear(&mut lifecycle, [look()].into_iter().chain(behind()));

    assert!(lifecycle.has_job(), "the first failure since a success is retried");
}

#[test]
fn trial_b75_a_start_that_is_reported_twice_is_looked_at_once() {
    let mut lifecycle = lifecycle();

    let effects =
        hear(&mut lifecycle, [joined("a"), joined("a"), found(trusted()), Event::Compared(Some(unchanged()))]);

    assert_eq!((effects, lifecycle.is_idle()), (vec![], true));
}

#[test]
fn a_lock_that_is_seen_costs_no_attempt() {
    let mut lifecycle = lifecycle();
    hear(&mut lifecycle, [joined("a"), found(trusted()), Event::Compared(Some(edited()))]);
    for _ in 0..5 {
        let held = Event::LockProbed(LockState::Held(holder()));
        hear(&mut lifecycle, [Event::DatabaseGranted, held]);
        assert_eq!((lifecycle.knowledge().state, lifecycle.holder()), (State::Drift, Some(&holder())));

        hear(&mut lifecycle, [look(), found(trusted()), Event::Compared(Some(edited()))]);
        assert!(lifecycle.has_job(), "it is taken up with every look");
    }
}

#[test]
fn a_replaced_session_may_be_told_once_more() {
    let mut lifecycle = lifecycle();
    hear(&mut lifecycle, [joined("a"), found(no_database())]);
    assert_eq!(told(&hear(&mut lifecycle, [look(), found(no_database())])), []);

    hear(&mut lifecycle, [Event::Replaced { session: session("a") }]);
    let effects = hear(&mut lifecycle, [look(), found(no_database())]);

    assert_eq!(told(&effects), [(&session("a"), NoticeKind::Unindexed)]);
}

#[test]
fn who_joins_during_an_index_is_told_that_it_runs_and_that_it_is_done() {
    let mut lifecycle = lifecycle();
    hear(&mut lifecycle, [joined_on(terms(true, true)), found(no_database())]);

    let effects = hear(&mut lifecycle, [joined("b")]);
    assert_eq!(told(&effects), [(&session("b"), NoticeKind::IndexingStarted)]);
    begin_work(&mut lifecycle);
    hear(&mut lifecycle, [Event::Run(RunEvent::Spawned(GROUP))]);
    let effects = finish(&mut lifecycle);

    let done = NoticeKind::IndexingDone;
    assert_eq!(told(&effects), [(&session("a"), done), (&session("b"), done)]);
}

#[test]
fn a_failed_task_is_kept_as_a_problem() {
    let mut lifecycle = lifecycle();
    let problem = Problem("the session is gone".to_owned());

    assert_eq!(lifecycle.on(Event::TaskFailed(problem.clone()), Tick::from_millis(5)), []);

    assert_eq!(lifecycle.last_problem(), Some((&problem, Tick::from_millis(5))));
}

#[test]
fn an_intent_that_cannot_be_cleared_is_kept_as_a_problem() {
    let mut lifecycle = lifecycle();
    hear(&mut lifecycle, [joined("a"), found(trusted()), Event::Compared(Some(edited()))]);
    begin_work(&mut lifecycle);
    hear(&mut lifecycle, [Event::Run(RunEvent::SpawnFailed(Problem("no memory".to_owned())))]);
    let problem = Problem("the disk is full".to_owned());

    hear(&mut lifecycle, [Event::ClearFailed(problem.clone())]);

    assert!(!lifecycle.has_job());
    assert_eq!(lifecycle.last_problem().map(|(problem, _)| problem), Some(&problem));
}
