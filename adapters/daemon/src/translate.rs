//! Between the protocol's words and the domain's.
//!
//! It must never decide; it is the one place where both vocabularies meet.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use steward_lifecycle::{Activity, JobAnswer};
use steward_ports::{Environment, JobKind, Notice, ProcessIdentity, SessionId, Severity, Tick};
use steward_session::{Certainty, ClientAnswer, Happened, SessionFacts};
use steward_wire::{EditCertainty, HarnessEvent, HarnessName, JobOutcome, JobProgress, JobVerb, Reply, SessionContext};

/// Names the session of a harness process.
pub(crate) fn session_id(harness: HarnessName, process: &ProcessIdentity) -> SessionId {
    SessionId::new(format!("{}:{}:{}", harness.name(), process.pid, process.start_time))
}

/// Returns the session as the domain knows it. `boot_id` is this boot's: both processes live in it.
pub(crate) fn session_facts(context: &SessionContext, boot_id: &str) -> SessionFacts {
    let process = ProcessIdentity {
        pid: context.process.pid,
        start_time: context.process.start_time,
        boot_id: boot_id.to_owned(),
    };
    SessionFacts {
        id: session_id(context.harness, &process),
        process,
        directory: context.directory.clone(),
        environment: environment(&context.environment),
    }
}

/// Returns the variables as the domain knows them.
pub(crate) fn environment(variables: &BTreeMap<String, String>) -> Environment {
    variables.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))).collect()
}

/// Returns what happened as the domain knows it. `is_indexed` tells of a path whether cgc indexes files of its name.
pub(crate) fn happened(event: HarnessEvent, is_indexed: impl Fn(&Path) -> bool) -> Happened {
    match event {
        HarnessEvent::SessionStarted { source: _ } => Happened::SessionStarted,
        HarnessEvent::PromptSubmitted => Happened::PromptSubmitted,
        HarnessEvent::Edited { certainty: EditCertainty::Possible, paths } => {
            Happened::Edited { certainty: Certainty::Possible, paths }
        }
        HarnessEvent::Edited { certainty: EditCertainty::Certain, paths } => {
            let paths: Vec<PathBuf> = paths.into_iter().filter(|path| is_indexed(path)).collect();
            if paths.is_empty() {
                Happened::Unconcerned
            } else {
                Happened::Edited { certainty: Certainty::Certain, paths }
            }
        }
        HarnessEvent::TurnEnded => Happened::TurnEnded,
        HarnessEvent::SessionEnded { continues } => Happened::SessionEnded { continues },
    }
}

/// Returns the job that a verb asks for.
pub(crate) const fn job_kind(verb: JobVerb) -> JobKind {
    match verb {
        JobVerb::Index => JobKind::Index,
        JobVerb::Rebuild => JobKind::Rebuild,
        JobVerb::Sync => JobKind::Sync,
    }
}

/// Returns a notice in the protocol's words.
pub(crate) fn notice(notice: Notice) -> steward_wire::Notice {
    steward_wire::Notice {
        name: notice.kind.name().to_owned(),
        severity: match notice.kind.severity() {
            Severity::Info => steward_wire::Severity::Info,
            Severity::Warning => steward_wire::Severity::Warning,
        },
        text: notice.text,
        advice: notice.advice,
    }
}

/// A client that asked for a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct JobClient {
    /// Whether it stays for the end.
    pub(crate) wait: bool,
    /// When it asked.
    pub(crate) asked_at: Tick,
    /// Whether it joined a job that ran already.
    pub(crate) joined: bool,
}

/// Returns what `client` is to be sent for `answer`, if anything, and remembers what the next answer needs.
pub(crate) fn job_reply(client: &mut JobClient, answer: ClientAnswer, now: Tick) -> Option<Reply> {
    let (answer, activity) = match answer {
        ClientAnswer::Job { answer, activity } => (answer, activity),
        ClientAnswer::StatusReady(_) => return None,
        ClientAnswer::StatusFailed(problem) => return Some(Reply::Failed { reason: problem.0 }),
    };
    match answer {
        JobAnswer::Accepted { joined } => {
            client.joined = joined;
            if client.wait {
                activity.map(|activity| Reply::Progress(progress(client, &activity, now)))
            } else {
                Some(Reply::Accepted { joined })
            }
        }
        JobAnswer::Progressed => {
            activity.filter(|_| client.wait).map(|activity| Reply::Progress(progress(client, &activity, now)))
        }
        JobAnswer::Finished { succeeded, summary, advice } => {
            let elapsed_ms = milliseconds(now, client.asked_at);
            Some(Reply::Finished(JobOutcome { succeeded, summary, advice, elapsed_ms }))
        }
        JobAnswer::Refused { reason, advice } => Some(Reply::Refused { reason, advice }),
    }
}

pub(crate) fn progress(client: &JobClient, activity: &Activity, now: Tick) -> JobProgress {
    JobProgress {
        phase: activity.phase.clone(),
        done: activity.done,
        total: activity.total,
        elapsed_ms: milliseconds(now, activity.since),
        joined: client.joined,
    }
}

/// Milliseconds from `since` to `now`.
pub(crate) fn milliseconds(now: Tick, since: Tick) -> u64 {
    u64::try_from(now.duration_since(since).as_millis()).unwrap_or(u64::MAX)
}
