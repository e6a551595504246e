//! Tables and sequences for the freshness machine.

use proptest::prelude::*;
use rstest::rstest;

use super::*;

const POLICY: Policy = Policy { auto_sync: true, max_syncs: 2, quiet: Duration::from_secs(2) };

fn session(name: &str) -> SessionId {
    SessionId::new(name)
}

fn at(seconds: u64) -> Tick {
    Tick::new(Duration::from_secs(seconds))
}

fn started(policy: Policy) -> Freshness {
    let mut freshness = Freshness::default();
    assert_eq!(freshness.on(Event::Joined { session: session("a"), policy }, at(0)), Vec::new());
    assert_eq!(freshness.on(Event::Graph(Graph::Matches), at(0)), Vec::new());
    freshness
}

fn edit(freshness: &mut Freshness, seconds: u64) {
    let event = Event::Edited { session: session("a"), certainty: Certainty::Certain };
    assert_eq!(freshness.on(event, at(seconds)), Vec::new());
}

#[test]
fn an_edit_is_looked_at_when_it_has_been_quiet_and_then_synced() {
    let mut freshness = started(POLICY);
    edit(&mut freshness, 10);
    assert_eq!(freshness.standing(), Standing::Doubted { since: at(10) });
    assert_eq!(freshness.deadline(), Some(at(12)));

    assert_eq!(freshness.on(Event::DeadlineReached, at(12)), vec![Effect::Look(session("a"))]);
    assert_eq!(freshness.on(Event::Graph(Graph::Occupied), at(12)), Vec::new());
    assert_eq!(freshness.on(Event::Graph(Graph::Behind), at(12)), vec![Effect::Sync(session("a"))]);
    assert_eq!(freshness.on(Event::Graph(Graph::Occupied), at(12)), Vec::new());
    assert_eq!(freshness.on(Event::Graph(Graph::Matches), at(20)), Vec::new());
    assert_eq!(freshness.standing(), Standing::Undoubted);
    assert_eq!(freshness.deadline(), None);
}

#[test]
fn a_burst_costs_one_look() {
    let mut freshness = started(POLICY);
    for second in 10..15 {
        edit(&mut freshness, second);
    }

    assert_eq!(freshness.on(Event::DeadlineReached, at(12)), Vec::new());
    assert_eq!(freshness.on(Event::DeadlineReached, at(16)), vec![Effect::Look(session("a"))]);
}

#[test]
fn the_end_of_the_turn_waits_for_no_quiet() {
    let mut freshness = started(POLICY);
    edit(&mut freshness, 10);

    assert_eq!(freshness.on(Event::TurnEnded(session("a")), at(10)), vec![Effect::Look(session("a"))]);
}

#[test]
fn a_look_that_finds_nothing_spends_no_sync() {
    let mut freshness = started(POLICY);
    edit(&mut freshness, 10);
    let _look = freshness.on(Event::TurnEnded(session("a")), at(10));

    assert_eq!(freshness.on(Event::Graph(Graph::Matches), at(11)), Vec::new());
    assert_eq!(freshness.standing(), Standing::Undoubted);
}

#[test]
fn edits_during_a_sync_are_followed_by_another() {
    let mut freshness = started(POLICY);
    edit(&mut freshness, 10);
    let _look = freshness.on(Event::TurnEnded(session("a")), at(10));
    let _sync = freshness.on(Event::Graph(Graph::Behind), at(10));
    let _running = freshness.on(Event::Graph(Graph::Occupied), at(10));
    edit(&mut freshness, 11);
    assert_eq!(freshness.deadline(), None);

    assert_eq!(freshness.on(Event::Graph(Graph::Behind), at(20)), vec![Effect::Look(session("a"))]);
    assert_eq!(freshness.on(Event::Graph(Graph::Behind), at(20)), vec![Effect::Sync(session("a"))]);
}

#[test]
fn an_edit_during_a_look_has_to_be_quiet_before_a_sync() {
    let mut freshness = started(POLICY);
    let _look = freshness.on(Event::PromptSubmitted(session("a")), at(10));
    edit(&mut freshness, 10);

    assert_eq!(freshness.on(Event::Graph(Graph::Behind), at(10)), Vec::new());
    assert_eq!(freshness.on(Event::DeadlineReached, at(12)), vec![Effect::Look(session("a"))]);
}

#[test]
fn what_the_human_changed_between_turns_is_found_and_synced() {
    let mut freshness = started(POLICY);

    assert_eq!(freshness.on(Event::PromptSubmitted(session("a")), at(10)), vec![Effect::Look(session("a"))]);
    assert_eq!(freshness.on(Event::Graph(Graph::Behind), at(10)), vec![Effect::Sync(session("a"))]);
}

#[test]
fn a_graph_that_was_left_behind_is_not_synced_by_another_look() {
    let mut freshness = started(POLICY);
    assert_eq!(freshness.on(Event::Graph(Graph::Behind), at(5)), Vec::new());

    assert_eq!(freshness.on(Event::PromptSubmitted(session("a")), at(10)), vec![Effect::Look(session("a"))]);
    assert_eq!(freshness.on(Event::Graph(Graph::Behind), at(10)), Vec::new());
}

#[rstest]
#[case::switched_off(Policy { auto_sync: false, ..POLICY })]
#[case::nothing_to_spend(Policy { max_syncs: 0, ..POLICY })]
fn without_leave_no_sync_starts(#[case] policy: Policy) {
    let mut freshness = started(policy);
    edit(&mut freshness, 10);
    let _look = freshness.on(Event::TurnEnded(session("a")), at(10));

    assert_eq!(freshness.on(Event::Graph(Graph::Behind), at(11)), Vec::new());
}

#[test]
fn a_sync_that_fails_is_tried_once_more_when_a_turn_ends() {
    let mut freshness = started(Policy { max_syncs: 9, ..POLICY });
    edit(&mut freshness, 10);
    let _look = freshness.on(Event::TurnEnded(session("a")), at(10));
    let _sync = freshness.on(Event::Graph(Graph::Behind), at(10));
    assert_eq!(freshness.on(Event::Graph(Graph::Behind), at(20)), Vec::new());

    assert_eq!(freshness.on(Event::TurnEnded(session("a")), at(30)), vec![Effect::Sync(session("a"))]);
    assert_eq!(freshness.on(Event::Graph(Graph::Behind), at(40)), Vec::new());
    assert_eq!(freshness.on(Event::TurnEnded(session("a")), at(50)), Vec::new());
}

#[test]
fn who_stays_inherits_the_doubt_of_who_leaves() {
    let mut freshness = started(POLICY);
    let _joined = freshness.on(Event::Joined { session: session("b"), policy: POLICY }, at(1));
    edit(&mut freshness, 10);
    let _left = freshness.on(Event::Left(session("a")), at(11));

    assert_eq!(freshness.on(Event::DeadlineReached, at(12)), vec![Effect::Look(session("b"))]);
}

fn any_event() -> impl Strategy<Value = Event> {
    let name = prop_oneof![Just("a"), Just("b")];
    prop_oneof![
        name.clone().prop_map(|name| Event::Joined { session: session(name), policy: POLICY }),
        name.clone().prop_map(|name| Event::Left(session(name))),
        name.clone().prop_map(|name| Event::Edited { session: session(name), certainty: Certainty::Possible }),
        name.clone().prop_map(|name| Event::TurnEnded(session(name))),
        name.prop_map(|name| Event::PromptSubmitted(session(name))),
        Just(Event::Graph(Graph::Matches)),
        Just(Event::Graph(Graph::Behind)),
        Just(Event::Graph(Graph::Occupied)),
        Just(Event::Graph(Graph::Unusable)),
        Just(Event::DeadlineReached),
    ]
}

proptest! {
    #[test]
    fn no_order_of_events_overspends_or_forgets_an_edit(events in proptest::collection::vec(any_event(), 0..60)) {
        let mut freshness = Freshness::default();
        let mut spent: BTreeMap<SessionId, u32> = BTreeMap::new();
        for (second, event) in events.into_iter().enumerate() {
            if let Event::Left(session) = &event {
                spent.remove(session);
            }
            let now = at(second as u64);
            let edited = matches!(&event, Event::Edited { session, .. } if freshness.accounts.contains_key(session));
            for effect in freshness.on(event, now) {
                if let Effect::Sync(session) = effect {
                    let count = spent.entry(session).or_default();
                    *count += 1;
                    prop_assert!(*count <= POLICY.max_syncs);
                }
            }
            if edited {
                prop_assert!(freshness.standing() != Standing::Undoubted);
            }
        }
    }
}
