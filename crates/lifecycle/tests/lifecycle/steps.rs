//! Steps that many tests take.
//!
//! It must never assert, except that a step was possible.

use steward_lifecycle::{ClientId, Effect, Event, Inspection, JobAnswer, Lifecycle, RunEvent, Terms, Work};
use steward_ports::{GroupId, JobKind, LockState, NoticeKind, SessionId, Verdict};

use crate::support::*;

pub(crate) const GROUP: GroupId = GroupId(1);
pub(crate) const CLIENT: ClientId = ClientId(7);

pub(crate) fn found(inspection: Inspection) -> Event {
    Event::Inspected(Box::new(inspection))
}

pub(crate) fn request(job: JobKind) -> Event {
    Event::JobRequested { job, client: CLIENT, terms: terms(false, true) }
}

pub(crate) fn look() -> Event {
    Event::LookRequested { session: session("a") }
}

pub(crate) fn joined_on(terms: Terms) -> Event {
    Event::Joined { session: session("a"), terms }
}

/// Hears everything that comes between the start of a job and cgc's own start.
pub(crate) fn begin_work(lifecycle: &mut Lifecycle) -> Vec<Effect> {
    hear(
        lifecycle,
        [Event::DatabaseGranted, Event::LockProbed(LockState::Free), Event::Scanned(scan()), Event::IntentRecorded],
    )
}

/// A session has joined and the sync that its gate started is at work.
pub(crate) fn syncing() -> Lifecycle {
    let mut lifecycle = lifecycle();
    hear(&mut lifecycle, [joined("a"), found(trusted()), Event::Compared(Some(edited()))]);
    begin_work(&mut lifecycle);
    hear(&mut lifecycle, [Event::Run(RunEvent::Spawned(GROUP))]);
    assert_eq!(lifecycle.activity().map(|activity| activity.work), Some(Work::Syncing));
    lifecycle
}

/// Hears everything from the end of cgc's work to a saved receipt, and returns the last effects.
pub(crate) fn finish(lifecycle: &mut Lifecycle) -> Vec<Effect> {
    let proof = GroupId(2);
    hear(
        lifecycle,
        [
            Event::Run(RunEvent::Ended { group: GROUP, verdict: Verdict::Reconciled }),
            Event::Rechecked(unchanged()),
            Event::Run(RunEvent::Spawned(proof)),
            Event::Run(RunEvent::Ended { group: proof, verdict: Verdict::Holds(inventory()) }),
            Event::ReceiptSaved(Box::new(receipt())),
        ],
    )
}

pub(crate) fn fail(lifecycle: &mut Lifecycle) -> Vec<Effect> {
    let reason = "exit 1".to_owned();
    hear(lifecycle, [Event::Run(RunEvent::Ended { group: GROUP, verdict: Verdict::Failed { reason } })])
}

pub(crate) fn told(effects: &[Effect]) -> Vec<(&SessionId, NoticeKind)> {
    notices(effects).into_iter().map(|(session, notice)| (session, notice.kind)).collect()
}

pub(crate) fn answers(effects: &[Effect]) -> Vec<&JobAnswer> {
    effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::Answer { answer, .. } => Some(answer),
            Effect::Task(_) | Effect::Acquire(_) | Effect::Release(_) => None,
        })
        .collect()
}
