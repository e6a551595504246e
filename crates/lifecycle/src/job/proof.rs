//! The end of a job: what the graph answered, held against the manifest, and the receipt made of it.
//!
//! It must never write a receipt for a graph that was not asked.

use std::sync::Arc;

use steward_ports::{Comparison, Inventory, Manifest, Scope, SyncEngine, Verb, Verdict};

use super::end::{half_done, no_grammars};
use super::{Job, Outcome, Step};
use crate::event::{ReceiptDraft, Scan, Task};
use crate::prove::{Proof, prove, settled_part};
use crate::run::RunEnd;

impl Job {
    pub(super) fn asked(&mut self, end: RunEnd, scan: &Scan, recheck: &Comparison) -> Outcome {
        match end {
            RunEnd::Verdict(Verdict::Holds(inventory)) => self.judge(&inventory, scan, recheck),
            RunEnd::Verdict(Verdict::Unindexed) => {
                let summary = "cgc reported success and its graph does not hold this workspace".to_owned();
                Outcome::end(half_done(&self.order, summary, None))
            }
            RunEnd::Verdict(verdict @ Verdict::Corrupt { .. }) => self.refused(verdict),
            RunEnd::Verdict(Verdict::Busy) => {
                self.unproved("another process took the database before it could be asked")
            }
            RunEnd::Verdict(
                Verdict::Worked
                | Verdict::Skipped
                | Verdict::Reconciled
                | Verdict::Partial { .. }
                | Verdict::NoGrammars
                | Verdict::ServerDown { .. }
                | Verdict::BackendChanged { .. }
                | Verdict::Interrupted
                | Verdict::Failed { .. }
                | Verdict::Report(_),
            ) => self.unproved("cgc did not answer when it was asked what the graph holds"),
            RunEnd::NotStarted(problem) | RunEnd::Lost(problem) => self.unproved(&problem.0),
            RunEnd::TimedOut => self.unproved("cgc did not answer in time when it was asked (timeout)"),
            RunEnd::Stopped => self.unproved("it was stopped before it was proved"),
        }
    }

    fn judge(&mut self, inventory: &Inventory, scan: &Scan, recheck: &Comparison) -> Outcome {
        match prove(&scan.manifest, inventory, recheck) {
            Proof::Holds => {
                let manifest = Arc::new(settled_part(&scan.manifest, recheck));
                let draft = Box::new(self.draft(scan, inventory, &manifest));
                self.step = Step::Saving { left: recheck.difference.clone() };
                Outcome::task(Task::SaveReceipt { draft, manifest })
            }
            Proof::NoSymbols => Outcome::end(no_grammars()),
            Proof::FilesDiffer { missing, surplus } => {
                let example = missing.first().or(surplus.first());
                let example = example.map(|path| format!(", for example {}", path.display())).unwrap_or_default();
                let summary = format!(
                    "cgc reported success and its graph lacks {} files and holds {} that are gone{example}",
                    missing.len(),
                    surplus.len(),
                );
                Outcome::end(half_done(&self.order, summary, None))
            }
        }
    }

    fn draft(&self, scan: &Scan, inventory: &Inventory, manifest: &Manifest) -> ReceiptDraft {
        let engine = match self.verb {
            Verb::Reconcile => SyncEngine::Reconcile,
            Verb::Index | Verb::Rebuild | Verb::Inventory | Verb::Doctor => SyncEngine::Full,
        };
        ReceiptDraft {
            workspace: self.order.root.clone(),
            kind: self.order.workspace.clone(),
            head: scan.head.clone(),
            target: self.order.target.clone(),
            counts: inventory.counts,
            indexed_at: inventory.indexed_at.clone(),
            graph_digest: inventory.digest.clone(),
            scope: Scope::Exact,
            engine,
            started_at: manifest.taken_at,
            full_index_at: match engine {
                SyncEngine::Full => None,
                SyncEngine::Reconcile | SyncEngine::ChangedFiles => self.order.full_index_at,
            },
        }
    }
}
