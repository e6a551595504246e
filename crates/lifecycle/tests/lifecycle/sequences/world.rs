//! The world around a machine: what it waits for, and what must hold at every moment.
//!
//! It must never allow what the world does not do: a database is granted only to who waits for it.

use std::collections::{BTreeMap, BTreeSet};

use steward_lifecycle::{ClientId, Effect, Event, Lifecycle, Problem, RunEvent, Scan, State, Task, Terms};
use steward_ports::{
    Backend, GroupId, Inventory, JobKind, LockState, Manifest, Milestone, NoticeKind, SessionId, Stop, Tick, Verb,
    Verdict,
};

use crate::support::*;

/// One step of a sequence. Numbers choose among what is possible at that moment.
#[derive(Debug, Clone, Copy)]
pub(super) enum Step {
    Join(u8),
    Replace(u8),
    Leave(u8),
    Edit,
    Look(u8),
    Sync(u8),
    Consult,
    Request(JobKind, u64),
    ClientLeaves(u64),
    Shutdown,
    Grant,
    Answer { which: usize, how: usize, is_doubled: bool },
    LateAnswer(usize),
    Deadline,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DatabaseUse {
    None,
    Waited,
    Held,
}

/// How a group meets a request to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Temper {
    Obedient,
    /// Nothing but a kill ends it.
    Deaf,
}

/// The world around a machine: what it waits for, and what must hold.
#[expect(clippy::struct_excessive_bools, reason = "five facts that are true or false independently of each other")]
pub(super) struct World {
    pub(super) lifecycle: Lifecycle,
    terms: Terms,
    now: Tick,
    pending: Vec<Task>,
    given: Vec<Event>,
    database: DatabaseUse,
    alive: BTreeMap<GroupId, Option<Stop>>,
    next_group: u64,
    told: BTreeSet<(SessionId, NoticeKind)>,
    sessions: BTreeSet<SessionId>,
    clients_asked: bool,
    rebuild_was_asked_for: bool,
    sync_was_asked_for: bool,
    is_ending: bool,
    /// Whether there was an edit since the tree was last looked at.
    is_edited: bool,
}

impl World {
    pub(super) fn new(terms: Terms) -> Self {
        Self {
            lifecycle: lifecycle(),
            terms,
            now: Tick::default(),
            pending: Vec::new(),
            given: Vec::new(),
            database: DatabaseUse::None,
            alive: BTreeMap::new(),
            next_group: 0,
            told: BTreeSet::new(),
            sessions: BTreeSet::new(),
            clients_asked: false,
            rebuild_was_asked_for: false,
            sync_was_asked_for: false,
            is_ending: false,
            is_edited: false,
        }
    }

    pub(super) fn take(&mut self, step: Step) {
        match step {
            Step::Join(number) => {
                let session = session(&number.to_string());
                if !self.is_ending {
                    self.sessions.insert(session.clone());
                }
                let terms = self.terms.clone();
                self.hear(Event::Joined { session, terms });
            }
            Step::Replace(number) => {
                let session = session(&number.to_string());
                self.told.retain(|(listener, _)| *listener != session);
                self.hear(Event::Replaced { session });
            }
            Step::Leave(number) => {
                let session = session(&number.to_string());
                self.sessions.remove(&session);
                self.told.retain(|(listener, _)| *listener != session);
                self.hear(Event::Left { session });
            }
            Step::Edit => {
                self.is_edited = true;
                self.hear(Event::EditObserved);
            }
            Step::Look(number) => self.hear(Event::LookRequested { session: session(&number.to_string()) }),
            Step::Sync(number) => {
                self.sync_was_asked_for = true;
                self.hear(Event::SyncRequested { session: session(&number.to_string()) });
            }
            Step::Consult => {
                let terms = self.terms.clone();
                self.hear(Event::Consulted { terms });
            }
            Step::Request(job, client) => {
                self.clients_asked = true;
                self.rebuild_was_asked_for |= job == JobKind::Rebuild;
                let terms = self.terms.clone();
                self.hear(Event::JobRequested { job, client: ClientId(client), terms });
            }
            Step::ClientLeaves(client) => self.hear(Event::ClientLeft { client: ClientId(client) }),
            Step::Shutdown => {
                self.is_ending = true;
                self.hear(Event::ShutdownRequested);
            }
            Step::Grant => {
                if self.database == DatabaseUse::Waited {
                    self.database = DatabaseUse::Held;
                    self.hear(Event::DatabaseGranted);
                }
            }
            Step::Answer { which, how, is_doubled } => {
                if !self.pending.is_empty() {
                    let task = self.pending.remove(which % self.pending.len());
                    self.answer(task, how, is_doubled);
                }
            }
            Step::LateAnswer(which) => {
                if !self.given.is_empty() {
                    let event = self.given[which % self.given.len()].clone();
                    self.hear(event);
                }
            }
            Step::Deadline => {
                if let Some(deadline) = self.lifecycle.deadline() {
                    self.now = self.now.max(deadline);
                    self.hear(Event::DeadlineReached);
                }
            }
        }
    }

    fn answer(&mut self, task: Task, how: usize, is_doubled: bool) {
        if let Task::Follow { group, .. } = &task
            && self.alive.get(group) == Some(&Some(Stop::Kill))
        {
            self.alive.remove(group);
        }
        let Some(event) = self.event_for(task, how) else { return };
        // A start that is answered twice would be two groups.
        if is_doubled && !matches!(event, Event::Run(RunEvent::Spawned(_))) {
            self.given.push(event.clone());
        }
        self.hear(event);
    }

    /// Any answer that the port allows, chosen by `how`.
    fn event_for(&mut self, task: Task, how: usize) -> Option<Event> {
        let problem = || Problem("it failed".to_owned());
        Some(match task {
            Task::Inspect(_) => match how % 9 {
                0 => Event::InspectionFailed(problem()),
                1 => Event::Inspected(Box::new(no_database())),
                2 => Event::Inspected(Box::new(unknown_database())),
                3 => Event::Inspected(Box::new(rewritten_database())),
                4 => Event::Inspected(Box::new(odd_inspection(how))),
                _ => Event::Inspected(Box::new(trusted())),
            },
            Task::Compare(_) => match how % 6 {
                0 => Event::CompareFailed(problem()),
                1 => Event::Compared(None),
                2 | 3 => Event::Compared(Some(unchanged())),
                _ => Event::Compared(Some(edited())),
            },
            Task::ProbeLock(_) => match how % 6 {
                0 => Event::LockProbeFailed(problem()),
                1 => Event::LockProbed(LockState::Held(holder())),
                2 => Event::LockProbed(LockState::Absent),
                _ => Event::LockProbed(LockState::Free),
            },
            Task::SetAside(path) => {
                if how.is_multiple_of(4) {
                    Event::SetAsideFailed(problem())
                } else {
                    Event::SetAside(path)
                }
            }
            Task::Scan(_) => match how % 6 {
                0 => Event::ScanFailed(problem()),
                1 => Event::Scanned(Scan { manifest: Manifest::default().into(), head: None }),
                _ => Event::Scanned(scan()),
            },
            Task::RecordIntent(_) => either(how, Event::IntentRecorded, Event::IntentFailed(problem())),
            Task::ClearIntent => either(how, Event::IntentCleared, Event::ClearFailed(problem())),
            Task::DropReceipt => either(how, Event::ReceiptDropped, Event::DropFailed(problem())),
            Task::Spawn { .. } => {
                if how.is_multiple_of(6) {
                    return Some(Event::Run(RunEvent::SpawnFailed(problem())));
                }
                self.next_group += 1;
                let group = GroupId(self.next_group);
                self.alive.insert(group, None);
                assert_eq!(self.alive.len(), 1, "two runs of cgc at once");
                Event::Run(RunEvent::Spawned(group))
            }
            Task::Follow { group, verb, .. } => Event::Run(self.next_of(group, verb, how)),
            Task::Stop { .. } | Task::Notify { .. } => {
                return (how.is_multiple_of(4)).then(|| Event::TaskFailed(problem()));
            }
            Task::Recheck { .. } => match how % 6 {
                0 => Event::RecheckFailed(problem()),
                1 => Event::Rechecked(edited()),
                _ => Event::Rechecked(unchanged()),
            },
            Task::SaveReceipt { .. } => {
                either(how, Event::ReceiptSaved(Box::new(receipt())), Event::ReceiptFailed(problem()))
            }
            Task::RecordDatabase(_) => either(how, Event::DatabaseRecorded, Event::DatabaseRecordFailed(problem())),
        })
    }

    fn next_of(&mut self, group: GroupId, verb: Verb, how: usize) -> RunEvent {
        let milestone = match how {
            0 => None,
            1 => Some(Milestone::Started),
            2 => Some(Milestone::Progress { done: 1, total: Some(2) }),
            3 | 4 => Some(Milestone::Ready),
            5 => return RunEvent::FollowFailed { group, problem: Problem("it is lost".to_owned()) },
            _ => {
                self.alive.remove(&group);
                return RunEvent::Ended { group, verdict: verdict(verb, how) };
            }
        };
        if self.alive.contains_key(&group) {
            RunEvent::Said { group, milestone }
        } else {
            RunEvent::Ended { group, verdict: Verdict::Interrupted }
        }
    }

    fn hear(&mut self, event: Event) {
        let may_be_clean = match &event {
            Event::Compared(Some(comparison)) => comparison.difference.is_empty(),
            Event::ReceiptSaved(_) => true,
            _ => false,
        };
        let was_clean = self.lifecycle.knowledge().state == State::Clean;
        let effects = self.lifecycle.on(event, self.now);
        for effect in effects {
            self.take_effect(effect);
        }
        let is_clean = self.lifecycle.knowledge().state == State::Clean;
        assert!(!is_clean || was_clean || may_be_clean, "clean without a proof");
        assert!(!is_clean || !self.is_edited, "clean in spite of an edit");
    }

    fn take_effect(&mut self, effect: Effect) {
        match effect {
            Effect::Acquire(_) => {
                assert_eq!(self.database, DatabaseUse::None, "asked for the database twice");
                self.database = DatabaseUse::Waited;
            }
            Effect::Release(_) => {
                assert_ne!(self.database, DatabaseUse::None, "let go of a database that it did not have");
                assert!(self.alive.values().all(|stop| *stop == Some(Stop::Kill)), "let go while cgc runs");
                self.database = DatabaseUse::None;
            }
            Effect::Answer { .. } => {}
            Effect::Task(task) => self.take_task(task),
        }
    }

    fn take_task(&mut self, task: Task) {
        match &task {
            Task::Spawn { verb, .. } => {
                assert_eq!(self.database, DatabaseUse::Held, "cgc without the database");
                let waits = self.pending.iter().any(|pending| matches!(pending, Task::Spawn { .. }));
                assert!(!waits && self.alive.is_empty(), "two runs of cgc at once");
                assert!(!self.is_ending, "cgc was started at the end");
                assert!(!self.sessions.is_empty() || self.clients_asked, "cgc was started for nobody");
                match verb {
                    Verb::Rebuild => assert!(self.rebuild_was_asked_for, "a rebuild without a yes"),
                    Verb::Index => {
                        assert!(self.terms.policy.auto_create || self.clients_asked, "an index without a yes");
                    }
                    Verb::Reconcile => {
                        let policy = &self.terms.policy;
                        let is_allowed = policy.sync_on_start || policy.auto_create;
                        let is_asked_for = self.clients_asked || self.sync_was_asked_for;
                        assert!(is_allowed || is_asked_for, "a sync that nobody wanted");
                    }
                    Verb::Inventory | Verb::Doctor => {}
                }
            }
            Task::SetAside(_) => assert!(self.rebuild_was_asked_for, "a database was set aside without a yes"),
            Task::Stop { group, stop } => {
                if let Some(sent) = self.alive.get_mut(group) {
                    *sent = (*sent).max(Some(*stop));
                }
                self.alive.retain(|_, sent| *sent != Some(Stop::Kill));
            }
            Task::Notify { session, notice } => {
                assert!(self.sessions.contains(session), "told a session that is gone");
                assert!(self.told.insert((session.clone(), notice.kind)), "told twice of {}", notice.kind.name());
            }
            Task::Compare(_) | Task::Scan(_) => self.is_edited = false,
            Task::Inspect(_)
            | Task::ProbeLock(_)
            | Task::RecordIntent(_)
            | Task::ClearIntent
            | Task::DropReceipt
            | Task::Follow { .. }
            | Task::Recheck { .. }
            | Task::SaveReceipt { .. }
            | Task::RecordDatabase(_) => {}
        }
        self.pending.push(task);
    }

    /// Lets everything that is under way come to its end, without anything new from outside.
    pub(super) fn settle(&mut self, temper: Temper) {
        for _ in 0..200 {
            self.take(Step::Grant);
            let is_free = |task: &Task| match task {
                Task::Follow { group, .. } => temper == Temper::Obedient || !self.alive.contains_key(group),
                _ => true,
            };
            match self.pending.iter().position(is_free) {
                Some(which) => {
                    let task = self.pending.remove(which);
                    // An answer that is no failure wherever there is one; a follow ends.
                    self.answer(task, 23, false);
                }
                None if self.lifecycle.deadline().is_some() => self.take(Step::Deadline),
                None => return,
            }
        }
        panic!("it does not come to rest: {:?}", self.lifecycle);
    }

    pub(super) fn assert_at_rest(&self) {
        assert!(self.lifecycle.is_idle(), "not idle: {:?}", self.lifecycle);
        assert!(self.alive.is_empty(), "cgc still runs");
        assert_eq!(self.database, DatabaseUse::None, "the database was kept");
    }
}

fn either(how: usize, good: Event, bad: Event) -> Event {
    if how.is_multiple_of(6) { bad } else { good }
}

fn odd_inspection(how: usize) -> steward_lifecycle::Inspection {
    let mut found = unknown_database();
    match how % 5 {
        0 => found.facts = Err(Problem("there is no cgc".to_owned())),
        1 => found.lock = Some(LockState::Held(holder())),
        2 => found.record.intent = Some(intent(JobKind::Index)),
        3 => {
            found = trusted();
            found.facts = found.facts.map(|mut facts| {
                facts.location.backend = Backend::Neo4j;
                facts.location.database = None;
                facts.database = None;
                facts
            });
            found.record.last_backend = None;
        }
        _ => {
            found.facts = found.facts.map(|mut facts| {
                facts.unreadable_magic = true;
                facts
            });
        }
    }
    found
}

fn verdict(verb: Verb, how: usize) -> Verdict {
    let reason = "as cgc says".to_owned();
    let good = match verb {
        Verb::Inventory => Verdict::Holds(inventory()),
        Verb::Index | Verb::Rebuild => Verdict::Worked,
        Verb::Reconcile => Verdict::Reconciled,
        Verb::Doctor => Verdict::Report(reason.clone()),
    };
    match how {
        6 => Verdict::Skipped,
        7 => Verdict::Partial { failed: 1 },
        8 => Verdict::NoGrammars,
        9 => Verdict::Busy,
        10 => Verdict::Corrupt { evidence: reason },
        11 => Verdict::ServerDown { evidence: reason },
        12 => Verdict::BackendChanged { evidence: reason },
        13 => Verdict::Interrupted,
        14 => Verdict::Failed { reason },
        15 => Verdict::Unindexed,
        16 => Verdict::Holds(Inventory::default()),
        _ => good,
    }
}
