//! The middle of a job: what cgc's run means for the graph, and what is written down before the job ends.
//!
//! It must never take an end of cgc for success; it only decides whether there is something to prove.

use std::sync::Arc;

use steward_ports::{Comparison, JobKind, Tick, Verb, Verdict};

use super::end::{JobEnd, half_done, no_grammars, stopped, unproved, untouched};
use super::{Job, Outcome, Step};
use crate::event::{Scan, Task};
use crate::run::{Run, RunEnd, RunEvent};
use crate::state::State;

impl Job {
    pub(super) fn run_heard(&mut self, event: RunEvent, now: Tick) -> Outcome {
        let (mut tasks, next) = match &mut self.step {
            Step::Working { run, scan } => {
                let step = run.on(event, now);
                let (has_begun, scan) = (run.has_begun(), scan.clone());
                (step.tasks, step.end.map(|end| self.worked(end, has_begun, scan)))
            }
            Step::Proving { run, scan, recheck } => {
                let step = run.on(event, now);
                let (scan, recheck) = (scan.clone(), (**recheck).clone());
                (step.tasks, step.end.map(|end| self.asked(end, &scan, &recheck)))
            }
            Step::WaitingForDatabase
            | Step::ProbingLock
            | Step::SettingAside
            | Step::Scanning
            | Step::RecordingIntent(_)
            | Step::Rechecking(_)
            | Step::Saving { .. }
            | Step::DroppingReceipt(_)
            | Step::ClearingIntent(_)
            | Step::NamingHolder => return Outcome::default(),
        };
        let next = next.unwrap_or_default();
        tasks.extend(next.tasks);
        Outcome { tasks, end: next.end }
    }

    fn worked(&mut self, end: RunEnd, has_begun: bool, scan: Scan) -> Outcome {
        match end {
            RunEnd::Verdict(Verdict::Worked | Verdict::Reconciled | Verdict::Partial { .. }) => self.recheck(scan),
            RunEnd::Verdict(Verdict::Skipped) if self.verb == Verb::Index && !self.stop_wanted => {
                self.verb = Verb::Reconcile;
                self.begin_work(scan)
            }
            // A server that goes away in the middle leaves whatever was written.
            RunEnd::Verdict(Verdict::ServerDown { evidence }) if has_begun => {
                Outcome::end(half_done(&self.order, evidence, None))
            }
            RunEnd::Verdict(verdict) => self.refused(verdict),
            RunEnd::NotStarted(problem) => self.clear_then(untouched(&self.order, &problem.0, true)),
            RunEnd::TimedOut => {
                let bound = self.order.maintenance_timeout.as_secs();
                let summary = format!("cgc did not finish within {bound} s and was stopped (timeout)");
                let advice = "Raise cgc.maintenanceTimeoutMs.".to_owned();
                Outcome::end(half_done(&self.order, summary, Some(advice)))
            }
            RunEnd::Stopped => Outcome::end(stopped(&self.order)),
            RunEnd::Lost(problem) => Outcome::end(half_done(&self.order, problem.0, None)),
        }
    }

    pub(super) fn refused(&mut self, verdict: Verdict) -> Outcome {
        match verdict {
            Verdict::Busy => self.clear_then(JobEnd::Busy { holder: None, cgc_ran: true }),
            Verdict::Corrupt { evidence } => self.ruined(evidence),
            Verdict::ServerDown { evidence } => self.clear_then(untouched(&self.order, &evidence, true)),
            Verdict::BackendChanged { evidence } => {
                let advice = Some("Choose the backend with DEFAULT_DATABASE.".to_owned());
                self.clear_then(JobEnd::Failed { state: State::Unknown, summary: evidence, advice, transient: false })
            }
            Verdict::NoGrammars => Outcome::end(no_grammars()),
            Verdict::Interrupted => Outcome::end(stopped(&self.order)),
            Verdict::Skipped => {
                let summary = "cgc skipped the work and changed nothing".to_owned();
                Outcome::end(half_done(&self.order, summary, None))
            }
            Verdict::Failed { reason } => Outcome::end(half_done(&self.order, reason, None)),
            Verdict::Worked
            | Verdict::Reconciled
            | Verdict::Partial { .. }
            | Verdict::Holds(_)
            | Verdict::Unindexed
            | Verdict::Report(_) => {
                Outcome::end(half_done(&self.order, "cgc answered something unexpected".to_owned(), None))
            }
        }
    }

    fn recheck(&mut self, scan: Scan) -> Outcome {
        let exclusions = self.order.target.location.exclusions.clone();
        let manifest = Arc::clone(&scan.manifest);
        self.step = Step::Rechecking(scan);
        Outcome::task(Task::Recheck { exclusions, manifest })
    }

    pub(super) fn rechecked(&mut self, scan: Scan, mut recheck: Comparison) -> Outcome {
        if self.stop_wanted {
            return self.unproved("it was stopped before it was proved");
        }
        // A file that was touched and is as before may have been another in between. Where nobody edited anything, the
        // touch was cgc's own, and to distrust it would make each sync the cause of the next.
        if !self.disturbed {
            recheck.touched.clear();
        }
        let (run, task) = Run::begin(Verb::Inventory, self.order.target.clone(), self.order.question_timeout);
        self.step = Step::Proving { run: Box::new(run), scan, recheck: Box::new(recheck) };
        Outcome::task(task)
    }

    /// The work was done and nothing says how well. After a sync the earlier receipt would still fit a tree that is
    /// changed back, so the intent stays and keeps it from being believed.
    pub(super) fn unproved(&mut self, reason: &str) -> Outcome {
        let end = unproved(reason);
        match self.order.kind {
            JobKind::Sync => Outcome::end(end),
            JobKind::Index | JobKind::Rebuild => self.clear_then(end),
        }
    }

    /// A database that cannot be opened may look untouched, so the receipt has to go for its ruin to be seen again.
    fn ruined(&mut self, evidence: String) -> Outcome {
        let advice = Some("Replace the graph with `steward rebuild`.".to_owned());
        let end = JobEnd::Failed { state: State::Corrupt, summary: evidence, advice, transient: false };
        self.step = Step::DroppingReceipt(Box::new(end));
        Outcome::task(Task::DropReceipt)
    }

    /// The graph is as it was, or whole and merely unproved: the intent must not call it half built.
    pub(super) fn clear_then(&mut self, end: JobEnd) -> Outcome {
        self.step = Step::ClearingIntent(Box::new(end));
        Outcome::task(Task::ClearIntent)
    }

    pub(super) fn cleared(&mut self, end: JobEnd) -> Outcome {
        let is_unnamed = matches!(end, JobEnd::Busy { holder: None, .. });
        match self.database_file().filter(|_| is_unnamed) {
            Some(database) => {
                self.step = Step::NamingHolder;
                Outcome::task(Task::ProbeLock(database))
            }
            None => Outcome::end(end),
        }
    }
}
