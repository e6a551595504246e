//! What files and records alone say about a graph, as one table from evidence to state.
//!
//! It must never guess: what the evidence does not settle is compared with the tree or asked of the graph, and what
//! contradicts itself stays unknown. It must never propose destructive work.

use steward_ports::{Backend, DatabaseIdentity, GraphFacts, Holder, JobKind, LockState, NoticeKind, Receipt, Record};

use crate::event::Problem;
use crate::state::{Evidence, State};

/// All that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inspection {
    /// What cgc's files say; the problem where there is no usable cgc.
    pub facts: Result<GraphFacts, Problem>,
    /// The lock of the database file; `None` where a server keeps the graph or the lock could not be read.
    pub lock: Option<LockState>,
    /// What the companion remembers.
    pub record: Record,
    /// Whether the recorded intent belongs to another live companion.
    pub intent_is_foreign: bool,
    /// What could not be read; none of it is needed for the state.
    pub problems: Vec<Problem>,
}

impl Inspection {
    /// The process that holds the database, if any.
    pub fn holder(&self) -> Option<&Holder> {
        match &self.lock {
            Some(LockState::Held(holder)) => Some(holder),
            Some(LockState::Absent | LockState::Free) | None => None,
        }
    }
}

/// Where an inspection leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Assessment {
    /// The state is known.
    Known {
        /// The state.
        state: State,
        /// Why.
        reason: String,
        /// A condition besides the state that the human is told of and that forbids automatic work.
        caution: Option<NoticeKind>,
    },
    /// The graph was proved by a receipt and nobody else wrote the database: the tree decides.
    Compare,
    /// The graph has to be asked once.
    Ask {
        /// Why it has to be asked.
        reason: String,
        /// The receipt that still holds if the graph is as the receipt says.
        receipt: Option<Box<Receipt>>,
    },
}

/// Returns what `inspection` leads to and the evidence for it. The rows are tried from the top.
pub fn assess(inspection: &Inspection) -> (Assessment, Vec<Evidence>) {
    let facts = match &inspection.facts {
        Ok(facts) => facts,
        Err(problem) => {
            let evidence = vec![Evidence::new("search path", problem.0.clone())];
            return (known(State::Unavailable, &problem.0), evidence);
        }
    };
    let evidence = collect(inspection, facts);
    (table(inspection, facts), evidence)
}

fn table(inspection: &Inspection, facts: &GraphFacts) -> Assessment {
    let record = &inspection.record;
    let backend = &facts.location.backend;
    if *backend == Backend::FalkorLite {
        return caution(
            "FalkorDB Lite loses relationships after a restart and leaves servers behind; it is not driven",
        );
    }
    if let Some(last) = record.last_backend.as_ref().filter(|last| *last != backend) {
        return caution(&format!("cgc would use {} now, and this graph was kept in {}", backend.name(), last.name()));
    }
    if facts.unreadable_magic {
        return known(State::Corrupt, "the database file does not begin like a database of a known backend");
    }
    if inspection.intent_is_foreign {
        return known(State::Busy, "another cgc-steward is working on this graph");
    }
    if let Some(intent) = &record.intent {
        match intent.job {
            JobKind::Index | JobKind::Rebuild => {
                return known(State::Incomplete, "building the graph was cut short");
            }
            JobKind::Sync => return after_cut_sync(facts),
        }
    }
    if backend.is_server() {
        return by_server(record);
    }
    match (&facts.database, &record.receipt) {
        (None, _) => known(State::Unindexed, "there is no database"),
        // cgc would make a database of it to answer a question whose answer is known.
        (Some(database), _) if database.size == 0 && database.log_size == 0 => {
            known(State::Unindexed, "the database is empty")
        }
        (Some(_), None) if facts.certainly_unindexed => {
            known(State::Unindexed, "the database has never held this workspace")
        }
        (Some(database), Some(receipt)) if is_as_left(database, record) => trusted(receipt, inspection),
        (Some(_), receipt) => foreign(inspection, receipt.as_ref()),
    }
}

/// A sync never deletes the graph, so what it left is a graph that is behind; another sync makes it exact.
fn after_cut_sync(facts: &GraphFacts) -> Assessment {
    if facts.database.is_none() && !facts.location.backend.is_server() {
        return known(State::Unindexed, "there is no database");
    }
    known(State::Drift, "bringing the graph up to date was cut short")
}

fn by_server(record: &Record) -> Assessment {
    match &record.receipt {
        // Nothing short of a query tells whether a server's graph was written by others; one answers in a second.
        Some(receipt) => {
            Assessment::Ask { reason: "a server keeps the graph".to_owned(), receipt: Some(Box::new(receipt.clone())) }
        }
        None => Assessment::Ask { reason: "the companion has not seen this graph yet".to_owned(), receipt: None },
    }
}

fn trusted(receipt: &Receipt, inspection: &Inspection) -> Assessment {
    match &inspection.facts {
        Ok(facts) if facts.location.context != receipt.context => {
            Assessment::Ask { reason: "the graph was proved in another context".to_owned(), receipt: None }
        }
        Ok(_) | Err(_) => Assessment::Compare,
    }
}

fn foreign(inspection: &Inspection, receipt: Option<&Receipt>) -> Assessment {
    if let Some(holder) = inspection.holder() {
        let reason = match receipt {
            Some(_) => format!("{} holds the database and may have changed it", describe_holder(holder)),
            None => format!("{} holds the database", describe_holder(holder)),
        };
        return known(State::Busy, &reason);
    }
    let reason = match receipt {
        Some(_) => "the database was written since the graph was proved",
        None => "the companion has not seen this graph yet",
    };
    Assessment::Ask { reason: reason.to_owned(), receipt: receipt.cloned().map(Box::new) }
}

fn is_as_left(database: &DatabaseIdentity, record: &Record) -> bool {
    record.database.as_ref() == Some(database)
}

fn collect(inspection: &Inspection, facts: &GraphFacts) -> Vec<Evidence> {
    let location = &facts.location;
    let mut evidence =
        vec![Evidence::new(location.backend_source.clone(), format!("the backend is {}", location.backend.name()))];
    if let Some(path) = &location.database {
        let finding = match &facts.database {
            None => "there is no such file".to_owned(),
            Some(_) if facts.certainly_unindexed => "it does not name this workspace".to_owned(),
            Some(database) => format!("it holds {} bytes", database.size),
        };
        evidence.push(Evidence::new(path.display().to_string(), finding));
    }
    if let Some(holder) = inspection.holder() {
        evidence.push(Evidence::new("lock of the database", format!("held by {}", describe_holder(holder))));
    }
    match &inspection.record.receipt {
        Some(receipt) => evidence.push(Evidence::new(
            "receipt",
            format!("{} files were proved with cgc {}", receipt.files, receipt.cgc_version),
        )),
        None => evidence.push(Evidence::new("receipt", "there is none")),
    }
    if let Some(intent) = &inspection.record.intent {
        let finding = format!("{} was begun and its end was never recorded", job_name(intent.job));
        evidence.push(Evidence::new("intent", finding));
    }
    evidence.extend(inspection.problems.iter().map(|problem| Evidence::new("problem", problem.0.clone())));
    evidence
}

/// Names a holder for a person: `cgc mcp (pid 4711)`.
pub(crate) fn describe_holder(holder: &Holder) -> String {
    match holder.pid {
        Some(pid) => format!("{} (pid {pid})", holder.name),
        None => format!("{} (in another container)", holder.name),
    }
}

pub(crate) const fn job_name(job: JobKind) -> &'static str {
    match job {
        JobKind::Index => "index",
        JobKind::Sync => "sync",
        JobKind::Rebuild => "rebuild",
    }
}

fn known(state: State, reason: &str) -> Assessment {
    Assessment::Known { state, reason: reason.to_owned(), caution: None }
}

fn caution(reason: &str) -> Assessment {
    Assessment::Known {
        state: State::Unknown,
        reason: reason.to_owned(),
        caution: Some(NoticeKind::UnsupportedBackend),
    }
}
