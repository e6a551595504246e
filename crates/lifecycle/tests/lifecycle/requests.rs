//! What humans at terminals ask for: what the state allows, whom a request joins, and what outlives whom.
//!
//! It must never let a request do what it was not agreed to.

use rstest::rstest;
use steward_lifecycle::{Effect, Event, Inspection, JobAnswer, Problem, RunEvent, State, Task};
use steward_ports::{JobKind, LockState, NoticeKind, Stop, Verb, Verdict};

use crate::steps::*;
use crate::support::*;

#[test]
fn a_clients_terms_give_no_sessions_consent() {
    let mut lifecycle = lifecycle();
    let consulted = Event::Consulted { terms: terms(true, true) };

    hear(&mut lifecycle, [consulted, found(no_database()), joined("a"), found(no_database())]);

    assert_eq!(lifecycle.activity(), None);
}

#[rstest]
#[case::sync_of_nothing(JobKind::Sync, no_database(), None)]
#[case::index_of_nothing(JobKind::Index, no_database(), Some(Verb::Index))]
#[case::rebuild_of_nothing(JobKind::Rebuild, no_database(), Some(Verb::Index))]
#[case::index_of_half_a_graph(JobKind::Index, half_built(), Some(Verb::Reconcile))]
#[case::sync_of_half_a_graph(JobKind::Sync, half_built(), Some(Verb::Reconcile))]
#[case::rebuild_of_half_a_graph(JobKind::Rebuild, half_built(), Some(Verb::Rebuild))]
#[case::sync_of_a_ruin(JobKind::Sync, ruined(), None)]
#[case::index_of_a_ruin(JobKind::Index, ruined(), None)]
fn a_request_does_what_the_state_allows(
    #[case] job: JobKind,
    #[case] inspection: Inspection,
    #[case] verb: Option<Verb>,
) {
    let mut lifecycle = lifecycle();

    let effects = hear(&mut lifecycle, [request(job), found(inspection)]);

    let Some(verb) = verb else {
        assert!(matches!(answers(&effects)[..], [JobAnswer::Refused { .. }]), "{effects:?}");
        assert!(lifecycle.is_idle());
        return;
    };
    assert!(matches!(answers(&effects)[..], [JobAnswer::Accepted { joined: false }]), "{effects:?}");
    let effects = begin_work(&mut lifecycle);
    assert!(matches!(tasks(&effects)[..], [Task::Spawn { verb: started, .. }] if *started == verb), "{effects:?}");
}

fn half_built() -> Inspection {
    let mut found = unknown_database();
    found.record.intent = Some(intent(JobKind::Index));
    found
}

fn ruined() -> Inspection {
    let mut found = trusted();
    found.facts = found.facts.map(|mut facts| {
        facts.unreadable_magic = true;
        facts
    });
    found
}

#[test]
fn a_ruin_is_set_aside_before_it_is_built_anew() {
    let mut lifecycle = lifecycle();
    hear(&mut lifecycle, [request(JobKind::Rebuild), found(ruined()), Event::DatabaseGranted]);

    let effects = hear(&mut lifecycle, [Event::LockProbed(LockState::Free)]);
    assert_eq!(tasks(&effects), [&Task::SetAside(DATABASE.into())]);

    hear(&mut lifecycle, [Event::SetAside("/home/db/kuzudb.aside".into())]);
    let failed = Event::ScanFailed(Problem("the tree cannot be read".to_owned()));
    hear(&mut lifecycle, [failed]);
    assert_eq!(lifecycle.knowledge().state, State::Unindexed, "the ruin is gone whatever became of the job");
}

#[test]
fn a_request_of_a_clean_graph_is_done_at_once() {
    let mut lifecycle = lifecycle();

    let effects = hear(&mut lifecycle, [request(JobKind::Sync), found(trusted()), Event::Compared(Some(unchanged()))]);

    assert!(matches!(answers(&effects)[..], [JobAnswer::Finished { succeeded: true, .. }]), "{effects:?}");
}

#[test]
fn a_request_joins_the_running_job_and_hears_its_end() {
    let mut lifecycle = syncing();

    let effects = hear(&mut lifecycle, [request(JobKind::Index)]);
    assert!(matches!(answers(&effects)[..], [JobAnswer::Accepted { joined: true }]), "{effects:?}");
    let effects = finish(&mut lifecycle);

    assert!(matches!(answers(&effects)[..], [JobAnswer::Finished { succeeded: true, .. }]), "{effects:?}");
    assert_eq!(told(&effects), [(&session("a"), NoticeKind::SyncCompleted)]);
}

#[test]
fn a_rebuild_does_not_join_a_sync() {
    let mut lifecycle = syncing();

    let effects = hear(&mut lifecycle, [request(JobKind::Rebuild)]);

    assert!(matches!(answers(&effects)[..], [JobAnswer::Refused { .. }]), "{effects:?}");
}

#[test]
fn a_request_during_a_job_that_is_being_stopped_waits_for_its_end() {
    let mut lifecycle = syncing();
    hear(&mut lifecycle, [Event::Left { session: session("a") }]);

    assert_eq!(hear(&mut lifecycle, [request(JobKind::Sync)]), []);
    let interrupted = RunEvent::Ended { group: GROUP, verdict: Verdict::Interrupted };
    let effects = hear(&mut lifecycle, [Event::Run(interrupted)]);

    assert!(matches!(answers(&effects)[..], [JobAnswer::Accepted { joined: false }]), "{effects:?}");
    assert!(matches!(effects.last(), Some(Effect::Acquire(_))), "{effects:?}");
}

#[test]
fn a_session_job_that_a_client_has_joined_outlives_the_session_and_not_the_client() {
    let mut lifecycle = syncing();
    hear(&mut lifecycle, [request(JobKind::Sync)]);

    assert_eq!(hear(&mut lifecycle, [Event::Left { session: session("a") }]), []);
    let effects = hear(&mut lifecycle, [Event::ClientLeft { client: CLIENT }]);

    assert_eq!(tasks(&effects), [&Task::Stop { group: GROUP, stop: Stop::Interrupt }]);
}

#[test]
fn a_clients_own_job_goes_on_to_its_end() {
    let mut lifecycle = lifecycle();
    hear(&mut lifecycle, [request(JobKind::Sync), found(trusted()), Event::Compared(Some(edited()))]);
    begin_work(&mut lifecycle);
    hear(&mut lifecycle, [Event::Run(RunEvent::Spawned(GROUP))]);

    assert_eq!(hear(&mut lifecycle, [Event::ClientLeft { client: CLIENT }]), []);
    finish(&mut lifecycle);

    assert_eq!(lifecycle.knowledge().state, State::Clean);
}
