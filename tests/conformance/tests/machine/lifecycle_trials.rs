//! Faults that users of such tools met, as far as the machines decide about them: detection, locks, corruption, ends.
//!
//! It must never pass where the fault merely takes another form.

mod detection;
mod ends;
mod locks;

use std::path::{Path, PathBuf};
use std::time::Duration;

use rstest::rstest;
use steward_conformance::{Harness, ROOT, World, index, inventory};
use steward_doubles::{DATABASE, Gate, PROGRESS_LINE, READY_LINE, STARTED_LINE, Script, StoreCall};
use steward_lifecycle::{JobAnswer, State, Work};
use steward_ports::{
    Backend, Exit, GraphCounts, GroupId, Inventory, JobKind, NoticeKind, Stop, SyncEngine, Tick, Verb, Verdict,
};
use steward_session::{ClientAnswer, Happened};

const AUTO_CREATE: &str = "CGC_LIFECYCLE_AUTO_CREATE";
const SYNC_ON_START: &str = "CGC_LIFECYCLE_SYNC_ON_START";

/// A graph that somebody else made, holding `files`.
fn foreign_inventory(files: &[&str]) -> Inventory {
    let files: Vec<PathBuf> = files.iter().map(PathBuf::from).collect();
    let counts = GraphCounts { files: files.len() as u64, functions: files.len() as u64, classes: 0 };
    Inventory { files, counts, indexed_at: Some("some day".to_owned()), commit: None, digest: None }
}

fn consenting(world: &mut World, name: &str) -> Harness {
    world.harness(name).with(AUTO_CREATE, "true")
}

/// The last thing that a client was told, if it is the end of its job: success, summary, advice.
fn end_of(answers: &[&ClientAnswer]) -> Option<(bool, String, Option<String>)> {
    match answers.last() {
        Some(ClientAnswer::Job { answer: JobAnswer::Finished { succeeded, summary, advice }, .. }) => {
            Some((*succeeded, summary.clone(), advice.clone()))
        }
        _ => None,
    }
}
