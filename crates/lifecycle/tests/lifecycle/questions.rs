//! When cgc is asked what the graph holds, and what follows from each answer.
//!
//! It must never ask for somebody who is not there.

use rstest::rstest;
use steward_lifecycle::{Effect, Event, Inspection, Lifecycle, Problem, RunEvent, State, Task};
use steward_ports::{GroupId, Inventory, LockState, NoticeKind, Stop, Tick, Verb, Verdict};

use crate::support::*;

const GROUP: GroupId = GroupId(1);

fn found(inspection: Inspection) -> Event {
    Event::Inspected(Box::new(inspection))
}

fn ended(verdict: Verdict) -> Event {
    Event::Run(RunEvent::Ended { group: GROUP, verdict })
}

/// A session has joined and the graph is being asked.
fn asking(inspection: Inspection) -> Lifecycle {
    let mut lifecycle = lifecycle();
    let effects = hear(
        &mut lifecycle,
        [joined("a"), found(inspection), Event::DatabaseGranted, Event::Run(RunEvent::Spawned(GROUP))],
    );
    assert!(matches!(tasks(&effects)[..], [Task::Follow { verb: Verb::Inventory, .. }]), "{effects:?}");
    lifecycle
}

#[rstest]
#[case::never_seen(unknown_database(), Verdict::Holds(inventory()), State::Drift)]
#[case::empty(unknown_database(), Verdict::Holds(Inventory::default()), State::Incomplete)]
#[case::not_there(unknown_database(), Verdict::Unindexed, State::Unindexed)]
#[case::unreadable(unknown_database(), Verdict::Corrupt { evidence: "signal 11".into() }, State::Corrupt)]
#[case::other_symbols(
    rewritten_database(),
    Verdict::Holds(Inventory { digest: Some("18/4".into()), ..inventory() }),
    State::Drift
)]
#[case::other_counts(rewritten_database(), Verdict::Holds(Inventory::default()), State::Incomplete)]
#[case::no_server(unknown_database(), Verdict::ServerDown { evidence: "refused".into() }, State::Unknown)]
#[case::fallback(unknown_database(), Verdict::BackendChanged { evidence: "fallback".into() }, State::Unknown)]
#[case::failed(unknown_database(), Verdict::Failed { reason: "exit 1".into() }, State::Unknown)]
#[case::nonsense(unknown_database(), Verdict::Worked, State::Unknown)]
fn each_answer_means_a_state(#[case] inspection: Inspection, #[case] verdict: Verdict, #[case] expected: State) {
    let mut lifecycle = asking(inspection);

    let effects = hear(&mut lifecycle, [ended(verdict)]);

    assert_eq!(lifecycle.knowledge().state, expected);
    assert!(effects.iter().any(|effect| matches!(effect, Effect::Release(_))), "{effects:?}");
}

#[test]
fn a_graph_that_is_as_its_receipt_says_is_trusted_again_and_compared() {
    let mut lifecycle = asking(rewritten_database());

    let effects = hear(&mut lifecycle, [ended(Verdict::Holds(inventory()))]);
    assert!(matches!(tasks(&effects)[..], [Task::RecordDatabase(_)]), "{effects:?}");
    let effects = hear(&mut lifecycle, [Event::DatabaseRecorded]);
    assert!(matches!(tasks(&effects)[..], [Task::Compare(_)]), "{effects:?}");
    let effects = hear(&mut lifecycle, [Event::Compared(Some(unchanged()))]);

    assert_eq!((effects, lifecycle.knowledge().state), (vec![], State::Clean));
}

#[test]
fn a_busy_answer_has_the_holder_looked_up_before_anybody_is_told() {
    let mut lifecycle = asking(unknown_database());

    let effects = hear(&mut lifecycle, [ended(Verdict::Busy)]);
    assert!(matches!(tasks(&effects)[..], [Task::ProbeLock(_)]), "{effects:?}");
    let effects = hear(&mut lifecycle, [Event::LockProbed(LockState::Held(holder()))]);

    assert_eq!((lifecycle.knowledge().state, lifecycle.holder()), (State::Busy, Some(&holder())));
    let told = notices(&effects);
    assert_eq!((told.len(), told[0].1.kind), (1, NoticeKind::Busy));
    assert!(told[0].1.text.starts_with("cgc mcp (pid 4711) holds"));
}

#[test]
fn a_question_that_failed_is_asked_once_more_and_not_again() {
    let mut lifecycle = asking(unknown_database());
    let failed = || ended(Verdict::Failed { reason: "exit 1".to_owned() });
    let look = || Event::LookRequested { session: session("a") };
    hear(&mut lifecycle, [failed()]);

    let effects = hear(&mut lifecycle, [look(), found(unknown_database())]);
    assert!(matches!(effects[..], [Effect::Acquire(_)]), "{effects:?}");
    hear(&mut lifecycle, [Event::DatabaseGranted, Event::Run(RunEvent::Spawned(GROUP)), failed()]);

    assert_eq!(hear(&mut lifecycle, [look()]), []);
    assert_eq!(lifecycle.knowledge().state, State::Unknown);
    assert_eq!(lifecycle.last_problem().map(|(problem, _)| problem.0.as_str()), Some("exit 1"));
}

#[test]
fn an_answered_question_is_not_asked_again_for_the_same_session() {
    let mut lifecycle = lifecycle();
    let without_syncs = Event::Joined { session: session("a"), terms: terms(false, false) };
    hear(&mut lifecycle, [without_syncs, found(unknown_database()), Event::DatabaseGranted]);
    hear(&mut lifecycle, [Event::Run(RunEvent::Spawned(GROUP)), ended(Verdict::Holds(inventory()))]);

    let effects = hear(&mut lifecycle, [Event::LookRequested { session: session("a") }, found(unknown_database())]);

    assert_eq!((effects, lifecycle.knowledge().state), (vec![], State::Drift));
}

#[rstest]
#[case::unindexed(Verdict::Unindexed, State::Unindexed)]
#[case::corrupt(Verdict::Corrupt { evidence: "signal 11".into() }, State::Corrupt)]
#[case::incomplete(Verdict::Holds(Inventory::default()), State::Incomplete)]
fn what_an_answer_said_stands_for_the_looks_that_may_not_ask(#[case] verdict: Verdict, #[case] expected: State) {
    let mut lifecycle = asking(unknown_database());
    hear(&mut lifecycle, [ended(verdict)]);
    let reason = lifecycle.knowledge().reason.clone();

    hear(&mut lifecycle, [Event::Consulted { terms: terms(false, true) }, found(unknown_database())]);

    assert_eq!((lifecycle.knowledge().state, &lifecycle.knowledge().reason), (expected, &reason));
}

#[rstest]
#[case::left(Event::Left { session: session("a") })]
#[case::ending(Event::ShutdownRequested)]
fn nothing_is_asked_for_nobody(#[case] end: Event) {
    let mut lifecycle = lifecycle();

    let effects = hear(&mut lifecycle, [joined("a"), end, found(unknown_database())]);

    assert_eq!(effects, []);
    assert!(lifecycle.is_idle());
}

#[test]
fn a_question_ends_with_the_last_session() {
    let mut lifecycle = asking(unknown_database());

    let effects = hear(&mut lifecycle, [Event::Left { session: session("a") }]);

    assert!(matches!(tasks(&effects)[..], [Task::Stop { group: GROUP, stop: Stop::Interrupt }]), "{effects:?}");
    let effects = hear(&mut lifecycle, [ended(Verdict::Interrupted)]);
    assert!(matches!(effects[..], [Effect::Release(_)]), "{effects:?}");
    assert!(lifecycle.is_abandoned());
}

#[test]
fn a_grant_that_is_repeated_changes_nothing() {
    let mut lifecycle = asking(unknown_database());
    let before = lifecycle.clone();

    assert_eq!(hear(&mut lifecycle, [Event::DatabaseGranted]), []);
    assert_eq!(lifecycle, before);
}

#[test]
fn a_grant_that_nobody_waits_for_is_given_back() {
    let mut lifecycle = lifecycle();
    let effects = hear(
        &mut lifecycle,
        [joined("a"), found(unknown_database()), Event::Left { session: session("a") }, Event::DatabaseGranted],
    );

    assert!(matches!(effects[..], [Effect::Release(_)]), "{effects:?}");
}

#[test]
fn a_status_starts_nothing_and_keeps_no_claim_that_it_cannot_check() {
    let mut lifecycle = lifecycle();
    hear(&mut lifecycle, [joined("a"), found(trusted()), Event::Compared(Some(unchanged()))]);
    assert_eq!(lifecycle.knowledge().state, State::Clean);

    let effects = hear(&mut lifecycle, [Event::Consulted { terms: terms(false, true) }, found(rewritten_database())]);

    assert_eq!((effects, lifecycle.knowledge().state), (vec![], State::Drift));
}

#[test]
fn a_question_that_cannot_start_gives_the_database_back() {
    let mut lifecycle = lifecycle();
    let failed = Event::Run(RunEvent::SpawnFailed(Problem("no memory".to_owned())));

    let effects = hear(&mut lifecycle, [joined("a"), found(unknown_database()), Event::DatabaseGranted, failed]);

    assert!(matches!(effects[..], [Effect::Release(_)]), "{effects:?}");
    assert_eq!(lifecycle.last_problem(), Some((&Problem("no memory".to_owned()), Tick::default())));
}
