//! Resolving directories to workspaces, and what follows once one is known.
//!
//! It must never take the daemon's own directory for a session's.

use std::path::PathBuf;

use steward_config::Warning;
use steward_freshness::Freshness;
use steward_lifecycle::{ClientId, JobAnswer, Lifecycle, Problem, Terms};
use steward_ports::{Environment, JobKind, Notice, NoticeKind, SessionId, Tick, WorkspaceRoot};

use super::{Place, Steward, terms};
use crate::event::{ClientAnswer, Effect, Happened, Origin, RequestId, Resolution, Task};

impl Steward {
    pub(super) fn resolve(&mut self, origin: Origin, directory: PathBuf, environment: Environment) -> Vec<Effect> {
        let request = RequestId(self.next_request);
        self.next_request += 1;
        self.requests.insert(request, origin);
        vec![Effect::Task(Task::Resolve { request, directory, environment })]
    }

    pub(super) fn resolve_session(&mut self, id: &SessionId) -> Vec<Effect> {
        let request = RequestId(self.next_request);
        let Some(session) = self.sessions.get_mut(id) else { return Vec::new() };
        if let Some(superseded) = session.request.replace(request) {
            self.requests.remove(&superseded);
        }
        let (directory, environment) = (session.facts.directory.clone(), session.facts.environment.clone());
        self.resolve(Origin::Session(id.clone()), directory, environment)
    }

    pub(super) fn resolved(
        &mut self,
        request: RequestId,
        outcome: Result<Resolution, Problem>,
        now: Tick,
    ) -> Vec<Effect> {
        let Some(origin) = self.requests.remove(&request) else { return Vec::new() };
        match (origin, outcome) {
            (Origin::Session(id), Ok(resolution)) => self.session_placed(&id, resolution, now),
            (Origin::Session(id), Err(problem)) => self.session_unplaced(&id, problem, now),
            (Origin::Job { client, job, environment }, Ok(resolution)) => {
                self.job_placed(client, job, &environment, resolution, now)
            }
            (Origin::Job { client, .. }, Err(problem)) => {
                let answer = JobAnswer::Refused { reason: problem.0, advice: None };
                vec![Effect::Answer { client, answer: ClientAnswer::Job { answer, activity: None } }]
            }
            (Origin::Status { client, environment }, Ok(resolution)) => {
                self.reader_placed(client, &environment, resolution, now)
            }
            (Origin::Status { client, .. }, Err(problem)) => {
                vec![Effect::Answer { client, answer: ClientAnswer::StatusFailed(problem) }]
            }
        }
    }

    fn session_placed(&mut self, id: &SessionId, resolution: Resolution, now: Tick) -> Vec<Effect> {
        let root = self.place(resolution);
        let Some(session) = self.sessions.get_mut(id) else { return Vec::new() };
        session.request = None;
        let left = session.root.replace(root.clone()).filter(|old| *old != root);
        let joined_before = left.is_none() && self.places.get(&root).is_some_and(|place| place.has_session(id));
        let waiting = std::mem::take(&mut session.waiting);
        let mut effects = match left {
            Some(old) => self.leave(id, &old, now),
            None => Vec::new(),
        };
        effects.extend(self.tell_of_settings(id, &root));
        // A harness may never report a start; the first event of a session is its start then.
        if !joined_before && !waiting.contains(&Happened::SessionStarted) {
            effects.extend(self.session_event(id, Happened::SessionStarted, now));
        }
        for happened in waiting {
            effects.extend(self.session_event(id, happened, now));
        }
        effects
    }

    /// A session without a workspace (its directory is gone) is watched and otherwise left alone.
    fn session_unplaced(&mut self, id: &SessionId, problem: Problem, now: Tick) -> Vec<Effect> {
        self.last_problem = Some((problem, now));
        if let Some(session) = self.sessions.get_mut(id) {
            session.request = None;
            session.waiting.clear();
        }
        Vec::new()
    }

    fn job_placed(
        &mut self,
        client: ClientId,
        job: JobKind,
        environment: &Environment,
        resolution: Resolution,
        now: Tick,
    ) -> Vec<Effect> {
        let (root, terms) = self.place_client(environment, resolution);
        self.tell(&root, steward_lifecycle::Event::JobRequested { job, client, terms }, now)
    }

    fn reader_placed(
        &mut self,
        client: ClientId,
        environment: &Environment,
        resolution: Resolution,
        now: Tick,
    ) -> Vec<Effect> {
        let (root, terms) = self.place_client(environment, resolution);
        if let Some(place) = self.places.get_mut(&root) {
            place.readers.push(client);
        }
        self.tell(&root, steward_lifecycle::Event::Consulted { terms }, now)
    }

    /// A client comes with an environment of its own, so its terms are not those of any session.
    fn place_client(&mut self, environment: &Environment, resolution: Resolution) -> (WorkspaceRoot, Terms) {
        let terms = terms(&resolution.settings.settings, resolution.workspace.root.as_path(), environment);
        (self.place(resolution), terms)
    }

    fn place(&mut self, resolution: Resolution) -> WorkspaceRoot {
        let Resolution { workspace, settings } = resolution;
        self.idle_exit = settings.settings.daemon.idle_exit;
        let root = workspace.root.clone();
        match self.places.get_mut(&root) {
            Some(place) => place.settings = settings,
            None => {
                let lifecycle = Lifecycle::new(workspace.root, workspace.kind);
                let freshness = Freshness::default();
                self.places.insert(root.clone(), Place { lifecycle, freshness, settings, readers: Vec::new() });
            }
        }
        root
    }

    pub(super) fn terms_of_session(&self, id: &SessionId, root: &WorkspaceRoot) -> Option<Terms> {
        let session = self.sessions.get(id)?;
        let place = self.places.get(root)?;
        Some(terms(&place.settings.settings, root.as_path(), &session.facts.environment))
    }

    fn tell_of_settings(&mut self, id: &SessionId, root: &WorkspaceRoot) -> Vec<Effect> {
        let Some(place) = self.places.get(root) else { return Vec::new() };
        let warnings = &place.settings.warnings;
        let Some(session) = self.sessions.get_mut(id) else { return Vec::new() };
        if warnings.is_empty() || session.told_of_settings {
            return Vec::new();
        }
        session.told_of_settings = true;
        let notice = settings_notice(warnings);
        vec![Effect::Task(Task::Notify { session: id.clone(), notice })]
    }
}

impl Place {
    fn has_session(&self, id: &SessionId) -> bool {
        self.lifecycle.sessions().any(|session| session == id)
    }
}

fn settings_notice(warnings: &[Warning]) -> Notice {
    let lines: Vec<String> = warnings.iter().map(Warning::to_string).collect();
    let untrusted = warnings.iter().any(|warning| match warning {
        Warning::Untrusted { .. } => true,
        Warning::BadValue { .. }
        | Warning::UnknownKey { .. }
        | Warning::UnusableFile { .. }
        | Warning::Unmergeable { .. } => false,
    });
    Notice {
        kind: NoticeKind::UntrustedConfiguration,
        text: format!("Some settings do not count: {}.", lines.join("; ")),
        advice: untrusted.then(|| "Set these keys in your own configuration file or in the environment.".to_owned()),
    }
}
