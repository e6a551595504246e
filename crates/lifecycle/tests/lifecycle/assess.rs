//! The table from evidence to state, row by row, and which row comes before which.
//!
//! It must never depend on the wording of a reason beyond what tells two rows apart.

use rstest::rstest;
use steward_lifecycle::{Assessment, Inspection, Problem, State, assess};
use steward_ports::{Backend, DatabaseIdentity, GraphFacts, JobKind, LockState, NoticeKind, Record};

use crate::support::*;

type Change = fn(&mut Inspection);

fn facts_of(inspection: &mut Inspection) -> &mut GraphFacts {
    inspection.facts.as_mut().expect("cgc is there")
}

fn without_cgc(found: &mut Inspection) {
    found.facts = Err(Problem("no executable `cgc` on the search path".to_owned()));
}

fn falkor_lite(found: &mut Inspection) {
    facts_of(found).location.backend = Backend::FalkorLite;
}

fn other_backend_before(found: &mut Inspection) {
    found.record.last_backend = Some(Backend::FalkorRemote);
}

fn unreadable_magic(found: &mut Inspection) {
    facts_of(found).unreadable_magic = true;
}

fn foreign_intent(found: &mut Inspection) {
    found.record.intent = Some(intent(JobKind::Index));
    found.intent_is_foreign = true;
}

fn cut_index(found: &mut Inspection) {
    found.record.intent = Some(intent(JobKind::Index));
}

fn cut_rebuild(found: &mut Inspection) {
    found.record.intent = Some(intent(JobKind::Rebuild));
}

fn cut_sync(found: &mut Inspection) {
    found.record.intent = Some(intent(JobKind::Sync));
}

fn database_gone(found: &mut Inspection) {
    facts_of(found).database = None;
    facts_of(found).certainly_unindexed = true;
    found.lock = Some(LockState::Absent);
}

fn emptied(found: &mut Inspection) {
    let empty = |database| DatabaseIdentity { size: 0, log_size: 0, ..database };
    let facts = facts_of(found);
    facts.database = facts.database.take().map(empty);
}

fn never_named(found: &mut Inspection) {
    facts_of(found).certainly_unindexed = true;
    found.record = Record::default();
}

fn server(found: &mut Inspection) {
    facts_of(found).location.backend = Backend::Neo4j;
    facts_of(found).location.database = None;
    facts_of(found).database = None;
    found.record.last_backend = Some(Backend::Neo4j);
    found.lock = None;
}

fn written_since(found: &mut Inspection) {
    found.record.database = rewritten_database().record.database;
}

fn no_receipt(found: &mut Inspection) {
    found.record.receipt = None;
}

fn held(found: &mut Inspection) {
    found.lock = Some(LockState::Held(holder()));
}

fn other_context(found: &mut Inspection) {
    facts_of(found).location.context = Some("other".to_owned());
}

/// A trusted graph after `changes`.
fn changed(changes: &[Change]) -> Inspection {
    let mut found = trusted();
    for change in changes {
        change(&mut found);
    }
    found
}

#[rstest]
#[case::no_cgc(&[without_cgc as Change], State::Unavailable)]
#[case::bytes_of_no_backend(&[unreadable_magic as Change], State::Corrupt)]
#[case::another_companion_works(&[foreign_intent as Change], State::Busy)]
#[case::an_index_was_cut_short(&[cut_index as Change], State::Incomplete)]
#[case::a_rebuild_was_cut_short(&[cut_rebuild as Change], State::Incomplete)]
#[case::a_sync_was_cut_short(&[cut_sync as Change], State::Drift)]
#[case::a_sync_was_cut_short_and_the_database_is_gone(&[cut_sync as Change, database_gone], State::Unindexed)]
#[case::a_sync_on_a_server_was_cut_short(&[server as Change, cut_sync], State::Drift)]
#[case::no_database(&[database_gone as Change], State::Unindexed)]
#[case::an_empty_database(&[emptied as Change], State::Unindexed)]
#[case::a_database_that_never_held_it(&[never_named as Change], State::Unindexed)]
#[case::held_and_written_since(&[held as Change, written_since], State::Busy)]
#[case::held_and_never_seen(&[held as Change, no_receipt], State::Busy)]
fn evidence_that_settles_the_state(#[case] changes: &[Change], #[case] expected: State) {
    let found = changed(changes);

    let (assessment, _) = assess(&found);

    match assessment {
        Assessment::Known { state, caution, .. } => assert_eq!((state, caution), (expected, None)),
        Assessment::Compare | Assessment::Ask { .. } => panic!("{assessment:?}"),
    }
}

#[rstest]
#[case::falkor_lite(&[falkor_lite as Change])]
#[case::another_backend_before(&[other_backend_before as Change])]
#[case::whatever_else_is_wrong(&[other_backend_before as Change, unreadable_magic, cut_index, held, database_gone])]
fn a_backend_that_is_not_driven_is_a_caution(#[case] changes: &[Change]) {
    let found = changed(changes);

    let (assessment, _) = assess(&found);

    match assessment {
        Assessment::Known { state: State::Unknown, caution, .. } => {
            assert_eq!(caution, Some(NoticeKind::UnsupportedBackend));
        }
        Assessment::Known { .. } | Assessment::Compare | Assessment::Ask { .. } => panic!("{assessment:?}"),
    }
}

#[rstest]
#[case::as_left(&[])]
#[case::held_and_not_written(&[held as Change])]
fn a_proved_graph_that_nobody_wrote_is_compared(#[case] changes: &[Change]) {
    let found = changed(changes);

    assert_eq!(assess(&found).0, Assessment::Compare);
}

#[rstest]
#[case::written_since(&[written_since as Change], true)]
#[case::never_seen(&[no_receipt as Change], false)]
#[case::another_context(&[other_context as Change], false)]
#[case::a_proved_graph_on_a_server(&[server as Change], true)]
#[case::an_unseen_graph_on_a_server(&[server as Change, no_receipt], false)]
fn what_files_do_not_settle_is_asked(#[case] changes: &[Change], #[case] keeps_receipt: bool) {
    let found = changed(changes);

    match assess(&found).0 {
        Assessment::Ask { receipt, .. } => assert_eq!(receipt.is_some(), keeps_receipt),
        assessment @ (Assessment::Known { .. } | Assessment::Compare) => panic!("{assessment:?}"),
    }
}

/// Each row holds although all later ones would hold as well.
#[rstest]
#[case(&[held as Change, no_receipt], State::Busy)]
#[case(&[held as Change, no_receipt, never_named], State::Unindexed)]
#[case(&[held as Change, no_receipt, never_named, cut_index], State::Incomplete)]
#[case(&[held as Change, no_receipt, never_named, foreign_intent], State::Busy)]
#[case(&[held as Change, no_receipt, foreign_intent, unreadable_magic], State::Corrupt)]
#[case(&[held as Change, no_receipt, foreign_intent, unreadable_magic, other_backend_before], State::Unknown)]
#[case(&[held as Change, unreadable_magic, other_backend_before, without_cgc], State::Unavailable)]
fn the_rows_come_in_this_order(#[case] changes: &[Change], #[case] expected: State) {
    let found = changed(changes);

    match assess(&found).0 {
        Assessment::Known { state, .. } => assert_eq!(state, expected),
        assessment @ (Assessment::Compare | Assessment::Ask { .. }) => panic!("{assessment:?}"),
    }
}

#[test]
fn evidence_names_backend_database_holder_receipt_intent_and_problems() {
    let mut found = trusted();
    held(&mut found);
    cut_index(&mut found);
    found.problems.push(Problem("the state file cannot be used".to_owned()));

    let (_, evidence) = assess(&found);

    let findings: Vec<(&str, &str)> =
        evidence.iter().map(|item| (item.source.as_str(), item.finding.as_str())).collect();
    assert_eq!(
        findings,
        [
            ("file magic", "the backend is kuzudb"),
            (DATABASE, "it holds 4096 bytes"),
            ("lock of the database", "held by cgc mcp (pid 4711)"),
            ("receipt", "1 files were proved with cgc 0.6.13"),
            ("intent", "index was begun and its end was never recorded"),
            ("problem", "the state file cannot be used"),
        ]
    );
}
