//! Who comes and goes, and what they want.
//!
//! It must never let work go on that nobody is left to want.

use std::collections::BTreeSet;

use steward_ports::{JobKind, SessionId, Tick};

use super::{Attendance, Depth, Lifecycle, Phase, Wish, refuse};
use crate::event::{ClientId, Effect, JobAnswer, Terms};
use crate::job::Origin;
use crate::notices;
use crate::state::{State, Work};

impl Lifecycle {
    pub(super) fn joined(&mut self, session: SessionId, terms: Terms, now: Tick) -> Vec<Effect> {
        if self.shutting_down {
            return Vec::new();
        }
        match self.sessions.get_mut(&session) {
            Some(attendance) => attendance.terms = terms.clone(),
            None => {
                self.sessions.insert(session.clone(), Attendance::new(terms.clone()));
            }
        }
        self.take_terms(terms);
        let mut effects = self.tell_of_creation();
        // A start that is reported twice is one start (B75): its decision is still to come.
        let is_new = self.undecided.insert(session);
        if is_new || matches!(self.phase, Phase::Idle) {
            effects.extend(self.look(now));
        }
        effects
    }

    /// Who joins while a graph is being created is told so, like those who saw it begin.
    fn tell_of_creation(&mut self) -> Vec<Effect> {
        let is_created = self.job().is_some_and(|job| job.order.kind == JobKind::Index && !job.is_stopping());
        if is_created { self.tell_all(&notices::indexing_started()) } else { Vec::new() }
    }

    pub(super) fn replaced(&mut self, session: &SessionId) -> Vec<Effect> {
        if let Some(attendance) = self.sessions.get_mut(session) {
            attendance.told.clear();
        }
        Vec::new()
    }

    pub(super) fn left(&mut self, session: &SessionId, now: Tick) -> Vec<Effect> {
        self.sessions.remove(session);
        self.undecided.remove(session);
        self.stop_what_nobody_wants(now)
    }

    pub(super) fn client_left(&mut self, client: ClientId, now: Tick) -> Vec<Effect> {
        if let Some(job) = self.job_mut() {
            job.clients.remove(&client);
        }
        if let Some(wish) = &mut self.wish {
            wish.clients.remove(&client);
            if wish.clients.is_empty() {
                self.wish = None;
            }
        }
        self.stop_what_nobody_wants(now)
    }

    fn stop_what_nobody_wants(&mut self, now: Tick) -> Vec<Effect> {
        if self.is_wanted() {
            return Vec::new();
        }
        self.look_again = false;
        self.retry_wanted = false;
        match &self.phase {
            Phase::Working(job) if job.order.origin == Origin::Client || !job.clients.is_empty() => Vec::new(),
            Phase::Working(_) | Phase::Asking(_) => self.stop_work(now),
            Phase::Idle
            | Phase::Inspecting { .. }
            | Phase::Comparing { .. }
            | Phase::Recording { .. }
            | Phase::Naming { .. } => Vec::new(),
        }
    }

    /// Whether somebody is there for whom the graph may be asked.
    pub(super) fn is_wanted(&self) -> bool {
        !self.shutting_down && (!self.sessions.is_empty() || self.wish.is_some())
    }

    pub(super) fn edit_observed(&mut self, now: Tick) -> Vec<Effect> {
        self.edits_unseen = true;
        if let Some(job) = self.job_mut() {
            job.disturb();
        }
        if self.knowledge.state == State::Clean {
            self.knowledge.state = State::Drift;
            self.knowledge.reason = "edits were observed since the graph was proved".to_owned();
            self.knowledge.since = now;
        }
        Vec::new()
    }

    pub(super) fn look_requested(&mut self, session: SessionId, now: Tick) -> Vec<Effect> {
        let Some(attendance) = self.sessions.get(&session).filter(|_| !self.shutting_down) else {
            return Vec::new();
        };
        if self.knowledge.state == State::Unknown && !attendance.may_look_again() {
            return Vec::new();
        }
        let terms = attendance.terms.clone();
        if self.retry_wanted && self.may_try(&session) {
            self.retry_wanted = false;
            self.undecided.insert(session);
        }
        self.take_terms(terms);
        self.look(now)
    }

    pub(super) fn consulted(&mut self, terms: Terms, now: Tick) -> Vec<Effect> {
        if self.terms.is_none() && self.next_terms.is_none() {
            self.next_terms = Some(terms);
        }
        if matches!(self.phase, Phase::Idle) { self.inspect(Depth::Passive, now) } else { Vec::new() }
    }

    pub(super) fn job_requested(&mut self, job: JobKind, client: ClientId, terms: Terms, now: Tick) -> Vec<Effect> {
        if self.shutting_down {
            return vec![refuse(client, "the companion is ending", None)];
        }
        // A job that is being stopped does nothing for anybody; the request waits for its end.
        if let Some(running) = self.job_mut().filter(|job| !job.is_stopping()) {
            if job == JobKind::Rebuild && running.order.kind != JobKind::Rebuild {
                let name = Work::from(running.order.kind).name();
                let advice = "Ask again when it has ended; `steward status` shows how far it is.";
                return vec![refuse(client, &format!("{name} is running"), Some(advice))];
            }
            running.clients.insert(client);
            return vec![Effect::Answer { client, answer: JobAnswer::Accepted { joined: true } }];
        }
        match &mut self.wish {
            Some(wish) if wish.job == job => {
                wish.clients.insert(client);
            }
            Some(_) => {
                return vec![refuse(client, "another request is being looked at", Some("Ask again."))];
            }
            None => {
                self.take_terms(terms);
                self.wish = Some(Wish { job, clients: BTreeSet::from([client]) });
            }
        }
        self.look(now)
    }

    /// A request is granted on its own terms, so nobody else's displace them before.
    fn take_terms(&mut self, terms: Terms) {
        if self.wish.is_none() {
            self.next_terms = Some(terms);
        }
    }

    pub(super) fn shut_down(&mut self, now: Tick) -> Vec<Effect> {
        self.shutting_down = true;
        self.look_again = false;
        let mut effects = self.refuse_wish("the companion is ending", None);
        effects.extend(self.stop_work(now));
        effects
    }
}

impl Attendance {
    fn new(terms: Terms) -> Self {
        Self { terms, told: BTreeSet::new(), failures: 0, questions: 0, unanswered: 0 }
    }

    /// A look or a question that came to nothing is tried a second time and not again (LC-15).
    pub(super) fn may_look_again(&self) -> bool {
        self.unanswered <= 1
    }
}
