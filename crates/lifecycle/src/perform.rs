//! Carries out one task through the ports and returns its answer as the next event.
//!
//! It must never decide: a failure becomes an event, and the machine says what follows.

use std::path::Path;
use std::sync::Arc;

use steward_ports::{
    Clock, Exclusions, FileSystem, GraphQuery, GraphTarget, GraphTool, GraphToolError, GroupId, Intent, JobKind,
    LockProbe, Manifest, Notifier, ProcessEvent, ProcessIdentity, ProcessWatch, Receipt, Record, Runner, Store,
    SyncEngine, Verb, WorkspaceRoot,
};

use crate::assess::Inspection;
use crate::event::{Event, Problem, ReceiptDraft, Scan, Task};
use crate::run::RunEvent;

/// The ports that tasks go through.
#[derive(Clone)]
pub struct Ports {
    /// Runs cgc.
    pub runner: Arc<dyn Runner>,
    /// Reads the working tree.
    pub files: Arc<dyn FileSystem>,
    /// Keeps receipts and intents.
    pub store: Arc<dyn Store>,
    /// Looks at database locks.
    pub locks: Arc<dyn LockProbe>,
    /// Speaks cgc.
    pub graph: Arc<dyn GraphTool>,
    /// Tells the human.
    pub notifier: Arc<dyn Notifier>,
    /// Tells the time.
    pub clock: Arc<dyn Clock>,
    /// Knows whether another companion lives.
    pub processes: Arc<dyn ProcessWatch>,
    /// The companion's own process.
    pub own: ProcessIdentity,
}

/// Carries out `task` for the workspace at `root`. `None` means that there is nothing to answer.
pub async fn perform(task: Task, root: &WorkspaceRoot, ports: &Ports) -> Option<Event> {
    let directory = root.as_path();
    match task {
        Task::Inspect(query) => Some(match inspect(root, &query, ports).await {
            Ok(inspection) => Event::Inspected(Box::new(inspection)),
            Err(problem) => Event::InspectionFailed(problem),
        }),
        Task::Compare(exclusions) => Some(compare(root, &exclusions, ports).await),
        Task::ProbeLock(database) => Some(match ports.locks.holder(&database).await {
            Ok(state) => Event::LockProbed(state),
            Err(error) => Event::LockProbeFailed(Problem::from_error(&error)),
        }),
        Task::SetAside(database) => Some(match ports.graph.set_aside(&database).await {
            Ok(path) => Event::SetAside(path),
            Err(error) => Event::SetAsideFailed(Problem::from_error(&error)),
        }),
        Task::Scan(exclusions) => Some(scan(root, &exclusions, ports).await),
        Task::RecordIntent(job) => Some(record_intent(root, job, ports).await),
        Task::ClearIntent => Some(match ports.store.clear_intent(root).await {
            Ok(()) => Event::IntentCleared,
            Err(error) => Event::ClearFailed(Problem::from_error(&error)),
        }),
        Task::DropReceipt => Some(match ports.store.drop_receipt(root).await {
            Ok(()) => Event::ReceiptDropped,
            Err(error) => Event::DropFailed(Problem::from_error(&error)),
        }),
        Task::Spawn { verb, target } => {
            let command = ports.graph.command(verb, &target);
            Some(Event::Run(match ports.runner.spawn(&command).await {
                Ok(group) => RunEvent::Spawned(group),
                Err(error) => RunEvent::SpawnFailed(Problem::from_error(&error)),
            }))
        }
        Task::Follow { group, verb, target, ready } => {
            Some(Event::Run(follow(group, verb, &target, ready, ports).await))
        }
        Task::Stop { group, stop } => match ports.runner.stop(group, stop).await {
            Ok(()) => None,
            Err(error) => Some(Event::TaskFailed(Problem::from_error(&error))),
        },
        Task::Recheck { exclusions, manifest } => {
            Some(match ports.files.compare(directory, &exclusions, &manifest).await {
                Ok(comparison) => Event::Rechecked(comparison),
                Err(error) => Event::RecheckFailed(Problem::from_error(&error)),
            })
        }
        Task::SaveReceipt { draft, manifest } => Some(save_receipt(*draft, &manifest, ports).await),
        Task::RecordDatabase(path) => Some(match record_database(&path, ports).await {
            Ok(()) => Event::DatabaseRecorded,
            Err(problem) => Event::DatabaseRecordFailed(problem),
        }),
        Task::Notify { session, notice } => match ports.notifier.notify(&session, &notice).await {
            Ok(()) => None,
            Err(error) => Some(Event::TaskFailed(Problem::from_error(&error))),
        },
    }
}

async fn inspect(root: &WorkspaceRoot, query: &GraphQuery, ports: &Ports) -> Result<Inspection, Problem> {
    let mut problems = Vec::new();
    let facts = match ports.graph.inspect(query).await {
        Ok(facts) => Ok(facts),
        Err(error @ GraphToolError::Missing { .. }) => Err(Problem::from_error(&error)),
        Err(error @ GraphToolError::Unreadable { .. }) => return Err(Problem::from_error(&error)),
    };
    let database = facts.as_ref().ok().and_then(|facts| facts.location.database.as_deref());
    let record = match ports.store.load(root, database).await {
        Ok(record) => record,
        Err(error) => {
            problems.push(Problem::from_error(&error));
            Record::default()
        }
    };
    let lock = match database {
        Some(path) => match ports.locks.holder(path).await {
            Ok(state) => Some(state),
            Err(error) => {
                problems.push(Problem::from_error(&error));
                None
            }
        },
        None => None,
    };
    let intent_is_foreign = match &record.intent {
        Some(intent) if intent.owner != ports.own => is_alive(&intent.owner, ports, &mut problems).await,
        Some(_) | None => false,
    };
    Ok(Inspection { facts, lock, record, intent_is_foreign, problems })
}

async fn is_alive(process: &ProcessIdentity, ports: &Ports, problems: &mut Vec<Problem>) -> bool {
    match ports.processes.identify(process.pid).await {
        Ok(found) => found.as_ref() == Some(process),
        Err(error) => {
            problems.push(Problem::from_error(&error));
            false
        }
    }
}

async fn compare(root: &WorkspaceRoot, exclusions: &Exclusions, ports: &Ports) -> Event {
    match ports.store.load_manifest(root).await {
        Ok(None) => Event::Compared(None),
        Ok(Some(manifest)) => match ports.files.compare(root.as_path(), exclusions, &manifest).await {
            Ok(comparison) => Event::Compared(Some(comparison)),
            Err(error) => Event::CompareFailed(Problem::from_error(&error)),
        },
        Err(error) => Event::CompareFailed(Problem::from_error(&error)),
    }
}

async fn scan(root: &WorkspaceRoot, exclusions: &Exclusions, ports: &Ports) -> Event {
    // Without the earlier manifest every file is hashed, which is slower and no less right.
    let previous = ports.store.load_manifest(root).await.unwrap_or_default();
    let head = match ports.files.head(root.as_path()).await {
        Ok(head) => head,
        Err(error) => return Event::ScanFailed(Problem::from_error(&error)),
    };
    match ports.files.scan(root.as_path(), exclusions, previous.as_ref()).await {
        Ok(manifest) => Event::Scanned(Scan { manifest: Arc::new(manifest), head }),
        Err(error) => Event::ScanFailed(Problem::from_error(&error)),
    }
}

async fn record_intent(root: &WorkspaceRoot, job: JobKind, ports: &Ports) -> Event {
    let intent = Intent { job, started_at: ports.clock.wall(), owner: ports.own.clone() };
    match ports.store.record_intent(root, &intent).await {
        Ok(()) => Event::IntentRecorded,
        Err(error) => Event::IntentFailed(Problem::from_error(&error)),
    }
}

async fn follow(group: GroupId, verb: Verb, target: &GraphTarget, ready: bool, ports: &Ports) -> RunEvent {
    match ports.runner.next(group).await {
        Ok(ProcessEvent::Line(line)) => RunEvent::Said { group, milestone: ports.graph.milestone(verb, &line) },
        Ok(ProcessEvent::Ended(ended)) => {
            RunEvent::Ended { group, verdict: ports.graph.verdict(verb, target, &ended, ready) }
        }
        Err(error) => RunEvent::FollowFailed { group, problem: Problem::from_error(&error) },
    }
}

async fn save_receipt(draft: ReceiptDraft, manifest: &Manifest, ports: &Ports) -> Event {
    let location = &draft.target.location;
    let database = match &location.database {
        Some(path) if !location.backend.is_server() => match ports.graph.database(path).await {
            Ok(database) => database,
            Err(error) => return Event::ReceiptFailed(Problem::from_error(&error)),
        },
        Some(_) | None => None,
    };
    let finished_at = ports.clock.wall();
    let receipt = Receipt {
        workspace: draft.workspace,
        kind: draft.kind,
        head: draft.head,
        manifest: ports.files.digest(manifest),
        files: draft.counts.files,
        cgc_version: draft.target.installation.version.clone().unwrap_or_else(|| "unknown".to_owned()),
        backend: location.backend.clone(),
        context: location.context.clone(),
        database: database.clone(),
        counts: draft.counts,
        indexed_at: draft.indexed_at,
        graph_digest: draft.graph_digest,
        scope: draft.scope,
        engine: draft.engine,
        started_at: draft.started_at,
        finished_at,
        full_index_at: draft.full_index_at.or(match draft.engine {
            SyncEngine::Full => Some(finished_at),
            SyncEngine::ChangedFiles | SyncEngine::Reconcile => None,
        }),
    };
    // In this order: a database that counts as left by us beside a receipt of an earlier state would be taken for clean.
    if let Err(error) = ports.store.save_receipt(&receipt, manifest).await {
        return Event::ReceiptFailed(Problem::from_error(&error));
    }
    match &database {
        Some(database) => match ports.store.save_database(database).await {
            Ok(()) => Event::ReceiptSaved(Box::new(receipt)),
            Err(error) => Event::ReceiptFailed(Problem::from_error(&error)),
        },
        None => Event::ReceiptSaved(Box::new(receipt)),
    }
}

async fn record_database(path: &Path, ports: &Ports) -> Result<(), Problem> {
    let database = ports.graph.database(path).await.map_err(|error| Problem::from_error(&error))?;
    match database {
        Some(database) => ports.store.save_database(&database).await.map_err(|error| Problem::from_error(&error)),
        None => Ok(()),
    }
}
