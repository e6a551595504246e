//! What is left undone while cgc's grammars are missing.
//!
//! It must never let a sync delete symbols that only grammars could bring back.

use steward_lifecycle::{ClientId, Effect, Event, Inspection, JobAnswer, State};
use steward_ports::{JobKind, NoticeKind};

use crate::support::*;

fn trusted_without_grammars() -> Inspection {
    let mut inspection = trusted();
    inspection.facts = inspection.facts.map(|mut facts| {
        facts.grammars_missing = true;
        facts
    });
    inspection
}

#[test]
fn without_grammars_a_graph_that_is_behind_is_left_behind() {
    let mut lifecycle = lifecycle();

    let effects = hear(
        &mut lifecycle,
        [joined("a"), Event::Inspected(Box::new(trusted_without_grammars())), Event::Compared(Some(edited()))],
    );

    assert_eq!(lifecycle.knowledge().state, State::Drift);
    assert!(lifecycle.is_idle());
    let told: Vec<NoticeKind> = notices(&effects).into_iter().map(|(_, notice)| notice.kind).collect();
    assert_eq!(told, vec![NoticeKind::IndexingFailed]);
}

#[test]
fn without_grammars_a_sync_that_is_asked_for_is_refused_with_the_way_out() {
    let mut lifecycle = lifecycle();
    let request = Event::JobRequested { job: JobKind::Sync, client: ClientId(7), terms: terms(false, false) };

    let effects = hear(
        &mut lifecycle,
        [request, Event::Inspected(Box::new(trusted_without_grammars())), Event::Compared(Some(edited()))],
    );

    let refused = effects
        .iter()
        .any(|effect| matches!(effect, Effect::Answer { answer: JobAnswer::Refused { advice: Some(_), .. }, .. }));
    assert!(refused, "{effects:?}");
}
