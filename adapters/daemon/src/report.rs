//! The status report, made from what the machines know.
//!
//! It must never look at the world: what a report says is what a machine decided on.

use std::path::PathBuf;

use jiff::Timestamp as Moment;
use steward_lifecycle::{Knowledge, Lifecycle, State, Work};
use steward_ports::{GraphFacts, JobKind, Receipt, Scope, SyncEngine, Tick, Timestamp};
use steward_session::StatusView;
use steward_wire::{
    Activity, BackendReport, EvidenceItem, FailureReport, FreshnessReport, FreshnessStatus, IndexState, LastAction,
    ReceiptReport, SessionReport, StatusReport,
};

use crate::translate::milliseconds;

/// The two clocks at the moment of the report: they turn ticks into times of day.
#[derive(Debug, Clone, Copy)]
pub struct Now {
    /// The monotonic time.
    pub tick: Tick,
    /// The wall time.
    pub wall: Timestamp,
}

impl Now {
    fn moment(&self, tick: Tick) -> String {
        let age = i128::try_from(self.tick.duration_since(tick).as_nanos()).unwrap_or(i128::MAX);
        rfc3339(Timestamp::from_nanos(self.wall.as_nanos().saturating_sub(age)))
    }
}

/// Renders `view`.
pub fn report(view: StatusView<'_>, sessions: Vec<SessionReport>, daemon: Option<u32>, now: Now) -> StatusReport {
    let lifecycle = view.lifecycle;
    let knowledge = lifecycle.knowledge();
    StatusReport {
        workspace: lifecycle.root().as_path().to_path_buf(),
        state: state(knowledge.state),
        activity: lifecycle.activity().map(|activity| Activity {
            name: activity.work.name().to_owned(),
            phase: activity.phase,
            since: now.moment(activity.since),
            done: activity.done,
            total: activity.total,
            silent_ms: activity.last_output.map(|last| milliseconds(now.tick, last)),
        }),
        evidence: evidence(knowledge),
        freshness: freshness(lifecycle, now),
        backend: backend(lifecycle.facts()),
        context: lifecycle.facts().and_then(|facts| facts.location.context.clone()),
        receipt: lifecycle.receipt().map(receipt),
        last_action: lifecycle.last_job().map(|job| LastAction {
            name: job_name(job.job).to_owned(),
            outcome: job.summary.clone(),
            succeeded: job.succeeded,
            at: now.moment(job.at),
        }),
        last_error: lifecycle
            .last_problem()
            .or(view.problem)
            .map(|(problem, at)| FailureReport { message: problem.0.clone(), at: now.moment(at) }),
        sessions,
        warnings: view.settings.warnings.iter().map(ToString::to_string).collect(),
        daemon,
    }
}

/// A report for a directory of which nothing can be known.
pub fn unknown(directory: PathBuf, reason: &str, now: Now) -> StatusReport {
    StatusReport {
        workspace: directory,
        state: IndexState::Unknown,
        activity: None,
        evidence: Vec::new(),
        freshness: FreshnessReport {
            status: FreshnessStatus::Unknown,
            since: None,
            reason: reason.to_owned(),
            scope: None,
        },
        backend: backend(None),
        context: None,
        receipt: None,
        last_action: None,
        last_error: Some(FailureReport { message: reason.to_owned(), at: now.moment(now.tick) }),
        sessions: Vec::new(),
        warnings: Vec::new(),
        daemon: None,
    }
}

fn evidence(knowledge: &Knowledge) -> Vec<EvidenceItem> {
    let item = |evidence: &steward_lifecycle::Evidence| EvidenceItem {
        source: evidence.source.clone(),
        finding: evidence.finding.clone(),
    };
    knowledge.evidence.iter().map(item).collect()
}

fn freshness(lifecycle: &Lifecycle, now: Now) -> FreshnessReport {
    let knowledge = lifecycle.knowledge();
    let working = lifecycle.activity().filter(|activity| match activity.work {
        Work::Indexing | Work::Syncing | Work::Rebuilding => true,
        Work::Probing => false,
    });
    if let Some(activity) = working {
        return FreshnessReport {
            status: FreshnessStatus::Syncing,
            since: Some(now.moment(activity.since)),
            reason: activity.phase,
            scope: None,
        };
    }
    let status = match knowledge.state {
        State::Clean => FreshnessStatus::Fresh,
        State::Drift if lifecycle.holder().is_some() => FreshnessStatus::SkippedBusy,
        State::Drift => FreshnessStatus::PossiblyStale,
        State::Busy => FreshnessStatus::SkippedBusy,
        State::Unknown | State::Unavailable | State::Unindexed | State::Incomplete | State::Corrupt => {
            FreshnessStatus::Unknown
        }
    };
    // A graph is fresh since it was proved, not since somebody looked.
    let since = match (status, lifecycle.receipt()) {
        (FreshnessStatus::Fresh, Some(receipt)) => rfc3339(receipt.finished_at),
        (_, _) => now.moment(knowledge.since),
    };
    let scope = lifecycle.receipt().filter(|_| status == FreshnessStatus::Fresh).map(|receipt| scope(receipt.scope));
    FreshnessReport { status, since: Some(since), reason: knowledge.reason.clone(), scope }
}

fn backend(facts: Option<&GraphFacts>) -> BackendReport {
    match facts {
        Some(facts) => BackendReport {
            name: facts.location.backend.name().to_owned(),
            source: facts.location.backend_source.clone(),
            database: facts.location.database.clone(),
            requested: facts.location.requested.as_ref().map(|backend| backend.name().to_owned()),
        },
        None => BackendReport {
            name: "unknown".to_owned(),
            source: "nothing was looked at".to_owned(),
            database: None,
            requested: None,
        },
    }
}

fn receipt(receipt: &Receipt) -> ReceiptReport {
    ReceiptReport {
        at: rfc3339(receipt.finished_at),
        commit: receipt.head.clone(),
        files: receipt.files,
        cgc_version: receipt.cgc_version.clone(),
        scope: scope(receipt.scope),
        engine: engine(receipt.engine).to_owned(),
        full_index_at: receipt.full_index_at.map(rfc3339),
    }
}

const fn state(state: State) -> IndexState {
    match state {
        State::Unknown => IndexState::Unknown,
        State::Unavailable => IndexState::Unavailable,
        State::Unindexed => IndexState::Unindexed,
        State::Incomplete => IndexState::Incomplete,
        State::Busy => IndexState::Busy,
        State::Corrupt => IndexState::Corrupt,
        State::Drift => IndexState::Drift,
        State::Clean => IndexState::Clean,
    }
}

fn scope(scope: Scope) -> String {
    match scope {
        Scope::Exact => "exact".to_owned(),
        Scope::Symbols => "symbols".to_owned(),
    }
}

const fn engine(engine: SyncEngine) -> &'static str {
    match engine {
        SyncEngine::ChangedFiles => "changed-files",
        SyncEngine::Reconcile => "reconcile",
        SyncEngine::Full => "full",
    }
}

const fn job_name(job: JobKind) -> &'static str {
    match job {
        JobKind::Index => "index",
        JobKind::Sync => "sync",
        JobKind::Rebuild => "rebuild",
    }
}

/// Renders a wall time for a machine and a person: RFC 3339 in UTC, whole seconds.
fn rfc3339(at: Timestamp) -> String {
    let seconds = i64::try_from(at.as_nanos().div_euclid(1_000_000_000)).unwrap_or(0);
    match Moment::from_second(seconds) {
        Ok(moment) => moment.to_string(),
        Err(_) => "1970-01-01T00:00:00Z".to_owned(),
    }
}
