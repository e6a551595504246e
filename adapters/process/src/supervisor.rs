//! One group from its start to its end.
//!
//! It must never signal a group whose leader it has reaped, and never call a group ended of which a process is left.

use std::io;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use steward_guard::{Report, Request};
use steward_ports::{Ended, Exit, Stop};
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};

use crate::launch::Launched;
use crate::remains::Remains;

/// How long a program may take to be started: its file may lie on a file system that does not answer.
const START_PATIENCE: Duration = Duration::from_secs(10);
/// How long a guard may take to obey a kill; it gives up by itself after two seconds.
const KILL_PATIENCE: Duration = Duration::from_secs(3);
/// How long the pipes of a dead group may take to end. What is in them is read in less.
const DRAIN_PATIENCE: Duration = Duration::from_millis(500);

/// Supervises a group. Dropping it does to the guard what the daemon's death does.
#[derive(Debug)]
pub(crate) struct Supervisor {
    launched: Launched,
    /// How the program ended, once the guard has told.
    exit: Option<Exit>,
}

impl Supervisor {
    /// Takes over a guard that waits to be told to start.
    pub(crate) const fn new(launched: Launched) -> Self {
        Self { launched, exit: None }
    }

    /// Has the program started, says over `started` how that went, and sees the group to its end.
    ///
    /// A failure is told when nothing of the group is left. Where nobody waits for the answer any more, nobody will ever
    /// stop the group either, so it is killed.
    pub(crate) async fn run(mut self, started: oneshot::Sender<io::Result<()>>) {
        let group = self.launched.ties.group.clone();
        match self.start().await {
            Ok(()) => {
                if started.send(Ok(())).is_err() {
                    self.ask_to_kill();
                }
                let ended = self.see_to_the_end().await;
                group.mailbox.push_end(ended);
            }
            Err(error) => {
                self.ask_to_kill();
                self.see_to_the_end().await;
                // Nobody may be waiting any more.
                let _unheard = started.send(Err(error));
            }
        }
    }

    async fn start(&mut self) -> io::Result<()> {
        let ties = &mut self.launched.ties;
        ties.group.request(Request::Start)?;
        match timeout(START_PATIENCE, ties.reports.next()).await {
            Ok(Ok(Some(Report::Started))) => Ok(()),
            Ok(Ok(Some(Report::Failed(errno)))) => Err(io::Error::from_raw_os_error(errno)),
            Ok(Ok(Some(Report::Exited(_) | Report::Signaled(_)) | None)) => {
                Err(io::Error::other("the guard ended before it had started the program"))
            }
            Ok(Err(error)) => Err(error),
            Err(_) => Err(io::ErrorKind::TimedOut.into()),
        }
    }

    fn ask_to_kill(&self) {
        if let Err(error) = self.launched.ties.group.stop(Stop::Kill) {
            // The overdue kill does without the guard.
            tracing::warn!(%error, "a guard cannot be asked to kill its group");
        }
    }

    /// Waits for the guard's end, removes what it left, and sums up.
    async fn see_to_the_end(mut self) -> Ended {
        self.wait_for_guard().await;
        let is_empty = self.end_remains().await;
        let Launched { mut guard, started_at, ties } = self.launched;
        if let Err(error) = guard.wait() {
            tracing::warn!(%error, pid = guard.id(), "a guard cannot be reaped");
        }
        ties.group.close();
        let (stdout, stderr) = tokio::join!(ties.stdout.finish(DRAIN_PATIENCE), ties.stderr.finish(DRAIN_PATIENCE));
        // What is left stays in the ledger, for a later sweep.
        if is_empty && let Err(error) = ties.entry.remove() {
            tracing::warn!(%error, "an entry of the process ledger cannot be removed");
        }
        Ended {
            // A program whose guard was killed before it could tell was killed by the kernel.
            exit: self.exit.unwrap_or(Exit::Signal(Signal::KILL.as_raw())),
            stdout,
            stderr,
            elapsed: started_at.elapsed(),
        }
    }

    /// Returns when the guard is a zombie and all that it reported is known.
    async fn wait_for_guard(&mut self) {
        let group = self.launched.ties.group.clone();
        let overdue = async {
            group.kill_asked().await;
            sleep(KILL_PATIENCE).await;
        };
        tokio::pin!(overdue);
        let mut is_overdue = false;
        loop {
            let ties = &mut self.launched.ties;
            let has_reports = !ties.reports.has_ended();
            tokio::select! {
                ended = ties.exit.ended() => {
                    if let Err(error) = ended {
                        tracing::warn!(%error, "the end of a guard cannot be watched");
                        self.kill_group();
                    }
                    break;
                }
                () = &mut overdue, if !is_overdue => {
                    is_overdue = true;
                    tracing::warn!("a guard did not obey a kill in time");
                    self.kill_group();
                }
                report = ties.reports.next(), if has_reports => self.note(report),
            }
        }
        // The guard's end of the socket is closed by now, so this returns as soon as everything is read.
        while !self.launched.ties.reports.has_ended() {
            match timeout(DRAIN_PATIENCE, self.launched.ties.reports.next()).await {
                Ok(report) => self.note(report),
                Err(_) => break,
            }
        }
    }

    fn note(&mut self, report: io::Result<Option<Report>>) {
        match report {
            Ok(Some(Report::Exited(code))) => self.exit = Some(Exit::Code(code)),
            Ok(Some(Report::Signaled(signal))) => self.exit = Some(Exit::Signal(signal)),
            Ok(Some(Report::Started | Report::Failed(_)) | None) => {}
            Err(error) => tracing::warn!(%error, "the reports of a guard cannot be read"),
        }
    }

    /// Kills what the guard left, with its zombie still there. Returns whether nothing is left.
    async fn end_remains(&self) -> bool {
        self.kill_group();
        if self.has_guard_ended_well() {
            // A guard ends well only when it has no child, and as a subreaper it inherits every orphan.
            return true;
        }
        let ties = &self.launched.ties;
        let remains = Remains { marker: &ties.marker, group: Some(ties.pid) };
        match remains.end().await {
            Ok(ending) => {
                if !ending.is_complete {
                    tracing::warn!(group = %ties.marker, "processes of a group cannot be killed");
                }
                ending.is_complete
            }
            Err(error) => {
                tracing::warn!(%error, "the process table cannot be read");
                false
            }
        }
    }

    fn kill_group(&self) {
        match kill_process_group(self.launched.ties.pid, Signal::KILL) {
            Ok(()) | Err(Errno::SRCH) => {}
            Err(error) => tracing::warn!(%error, "a process group cannot be killed"),
        }
    }

    fn has_guard_ended_well(&self) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        matches!(
            waitid(WaitId::Pid(self.launched.ties.pid), options),
            Ok(Some(status)) if status.exit_status() == Some(0)
        )
    }
}
