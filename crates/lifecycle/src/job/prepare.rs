//! The beginning of a job: everything that comes before cgc is started.
//!
//! It must never touch a graph, except to rename a ruined database that a human agreed to replace.

use std::path::PathBuf;

use steward_ports::JobKind;

use super::end::{JobEnd, NOT_BEGUN, untouched};
use super::{Job, Outcome, Step};
use crate::event::{Scan, Task};
use crate::run::Run;
use crate::state::State;

impl Job {
    pub(super) fn granted(&mut self) -> Outcome {
        match self.database_file() {
            Some(database) => {
                self.step = Step::ProbingLock;
                Outcome::task(Task::ProbeLock(database))
            }
            None => self.scan(),
        }
    }

    pub(super) fn unlocked(&mut self) -> Outcome {
        if self.stop_wanted {
            return self.not_begun();
        }
        match (self.database_file(), self.order.kind, self.order.found) {
            (Some(database), JobKind::Rebuild, State::Corrupt) => {
                self.step = Step::SettingAside;
                Outcome::task(Task::SetAside(database))
            }
            (_, _, _) => self.scan(),
        }
    }

    /// From here on there is no database any more, whatever becomes of the job.
    pub(super) fn set_aside(&mut self) -> Outcome {
        self.order.found = State::Unindexed;
        self.scan()
    }

    pub(super) fn scanned(&mut self, scan: Scan) -> Outcome {
        if self.stop_wanted {
            return self.not_begun();
        }
        if scan.manifest.entries.is_empty() && self.order.kind != JobKind::Sync {
            let summary = format!("{} holds no file that cgc indexes", self.order.root.as_path().display());
            let advice = "If its code lies in nested repositories or ignored folders, index those.".to_owned();
            let state = self.order.found;
            return Outcome::end(JobEnd::Failed { state, summary, advice: Some(advice), transient: false });
        }
        self.step = Step::RecordingIntent(scan);
        Outcome::task(Task::RecordIntent(self.order.kind))
    }

    pub(super) fn recorded(&mut self, scan: Scan) -> Outcome {
        if self.stop_wanted {
            return self.clear_then(untouched(&self.order, NOT_BEGUN, true));
        }
        self.begin_work(scan)
    }

    pub(super) fn begin_work(&mut self, scan: Scan) -> Outcome {
        let (run, task) = Run::begin(self.verb, self.order.target.clone(), self.order.maintenance_timeout);
        self.step = Step::Working { run: Box::new(run), scan };
        Outcome::task(task)
    }

    pub(super) fn database_file(&self) -> Option<PathBuf> {
        let location = &self.order.target.location;
        location.database.clone().filter(|_| !location.backend.is_server())
    }

    fn scan(&mut self) -> Outcome {
        if self.stop_wanted {
            return self.not_begun();
        }
        self.step = Step::Scanning;
        Outcome::task(Task::Scan(self.order.target.location.exclusions.clone()))
    }

    fn not_begun(&self) -> Outcome {
        Outcome::end(untouched(&self.order, NOT_BEGUN, true))
    }
}
