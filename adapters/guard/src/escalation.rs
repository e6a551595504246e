//! When an orphaned guard gets harder with its group.
//!
//! A pure schedule: it must never signal anything or read a clock.

use std::time::{Duration, Instant};

use crate::protocol::Request;

/// The schedule of one guard. Idle while the daemon lives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Escalation {
    grace: Duration,
    orphaned_at: Option<Instant>,
    interrupted: bool,
    terminated: bool,
}

/// What is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// SIGINT to the group.
    Interrupt,
    /// SIGTERM to the group.
    Terminate,
    /// SIGKILL to everything.
    Kill,
}

impl Escalation {
    /// A schedule that ends with KILL `grace` after the daemon's end.
    pub(crate) const fn new(grace: Duration) -> Self {
        Self { grace, orphaned_at: None, interrupted: false, terminated: false }
    }

    /// Notes what the daemon has asked for already. A second SIGINT would break into the cleanup that the first one
    /// began (Python raises `KeyboardInterrupt` again), so none is sent twice.
    pub(crate) const fn note(&mut self, request: Request) {
        match request {
            Request::Start | Request::Kill => {}
            Request::Interrupt => self.interrupted = true,
            Request::Terminate => {
                self.interrupted = true;
                self.terminated = true;
            }
        }
    }

    /// Notes that the daemon is gone.
    pub(crate) fn orphan(&mut self, now: Instant) {
        self.orphaned_at.get_or_insert(now);
    }

    /// Whether the daemon is gone.
    pub(crate) const fn is_orphaned(&self) -> bool {
        self.orphaned_at.is_some()
    }

    /// When the next step is due, `None` while the daemon lives.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.next().map(|(_, at)| at)
    }

    /// The step that is due at `now`, each once; `Kill` stays due.
    pub(crate) fn due(&mut self, now: Instant) -> Option<Step> {
        let (step, at) = self.next()?;
        if at > now {
            return None;
        }
        match step {
            Step::Interrupt => self.interrupted = true,
            Step::Terminate => self.terminated = true,
            Step::Kill => {}
        }
        Some(step)
    }

    fn next(&self) -> Option<(Step, Instant)> {
        let orphaned_at = self.orphaned_at?;
        if !self.interrupted {
            return Some((Step::Interrupt, orphaned_at));
        }
        if !self.terminated {
            // As late as it can be and still be of use: a program that obeys SIGINT slowly is ruined by SIGTERM too.
            let lead = (self.grace / 4).min(TERMINATE_LEAD);
            return Some((Step::Terminate, orphaned_at + self.grace.saturating_sub(lead)));
        }
        Some((Step::Kill, orphaned_at + self.grace))
    }
}

/// How long before KILL a group gets TERM, at most.
const TERMINATE_LEAD: Duration = Duration::from_millis(500);

#[cfg(test)]
mod tests {
    use super::*;

    const GRACE: Duration = Duration::from_secs(4);

    #[test]
    fn nothing_is_due_while_the_daemon_lives() {
        let mut escalation = Escalation::new(GRACE);

        assert_eq!(escalation.deadline(), None);
        assert_eq!(escalation.due(Instant::now()), None);
    }

    #[test]
    fn an_orphan_interrupts_at_once_terminates_late_and_kills_at_the_grace() {
        let start = Instant::now();
        let mut escalation = Escalation::new(GRACE);
        escalation.orphan(start);

        assert_eq!(escalation.due(start), Some(Step::Interrupt));
        assert_eq!(escalation.due(start), None);
        assert_eq!(escalation.deadline(), Some(start + Duration::from_millis(3500)));
        assert_eq!(escalation.due(start + Duration::from_millis(3500)), Some(Step::Terminate));
        assert_eq!(escalation.due(start + Duration::from_millis(3999)), None);
        assert_eq!(escalation.due(start + GRACE), Some(Step::Kill));
    }

    #[test]
    fn what_the_daemon_sent_is_not_sent_again() {
        let start = Instant::now();
        let mut escalation = Escalation::new(GRACE);
        escalation.note(Request::Interrupt);
        escalation.orphan(start);

        assert_eq!(escalation.due(start), None);

        escalation.note(Request::Terminate);

        assert_eq!(escalation.deadline(), Some(start + GRACE));
    }

    #[test]
    fn a_second_end_of_input_does_not_restart_the_grace() {
        let start = Instant::now();
        let mut escalation = Escalation::new(GRACE);
        escalation.orphan(start);
        escalation.orphan(start + Duration::from_secs(1));

        assert_eq!(escalation.due(start), Some(Step::Interrupt));
    }

    #[test]
    fn no_grace_means_everything_at_once() {
        let start = Instant::now();
        let mut escalation = Escalation::new(Duration::ZERO);
        escalation.orphan(start);

        let steps = [escalation.due(start), escalation.due(start), escalation.due(start)];

        assert_eq!(steps, [Some(Step::Interrupt), Some(Step::Terminate), Some(Step::Kill)]);
    }
}
