//! The clients that wait for an answer, and what is left to send them.
//!
//! It must never block on a client: progress that nobody takes is dropped, and a client that is gone is forgotten.

use std::collections::BTreeMap;

use steward_ports::{SessionId, Tick};
use steward_session::{ClientAnswer, ClientId};
use steward_wire::{JobProgress, Reply};
use tokio::sync::mpsc;

use crate::translate::{JobClient, job_reply};

/// Where the replies to one request go. The connection closes when the last sender is dropped.
pub type Replies = mpsc::Sender<Reply>;

/// A harness event whose reply waits for what can be known at once.
#[derive(Debug)]
pub(crate) struct Delivery {
    pub(crate) session: SessionId,
    pub(crate) notices: bool,
    pub(crate) context: bool,
    pub(crate) replies: Replies,
    /// When the reply goes out whatever is known by then.
    pub(crate) due: Tick,
}

#[derive(Debug)]
enum Waiting {
    Job(JobClient),
    Status,
}

#[derive(Debug)]
struct Client {
    waiting: Waiting,
    replies: Replies,
    /// The last progress that was sent.
    seen: Option<JobProgress>,
}

impl Client {
    /// Whether `progress` says nothing new, time apart; it counts as sent otherwise.
    fn has_seen(&mut self, progress: &JobProgress) -> bool {
        let same = |seen: &JobProgress| {
            seen.phase == progress.phase && seen.done == progress.done && seen.total == progress.total
        };
        if self.seen.as_ref().is_some_and(same) {
            return true;
        }
        self.seen = Some(progress.clone());
        false
    }
}

/// All clients that wait.
#[derive(Debug, Default)]
pub(crate) struct Clients {
    waiting: BTreeMap<ClientId, Client>,
    next: u64,
}

impl Clients {
    /// Adds a client that asked for a job at `now`.
    pub(crate) fn add_job(&mut self, wait: bool, now: Tick, replies: Replies) -> ClientId {
        self.add(Waiting::Job(JobClient { wait, asked_at: now, joined: false }), replies)
    }

    /// Adds a client that wants the status.
    pub(crate) fn add_status(&mut self, replies: Replies) -> ClientId {
        self.add(Waiting::Status, replies)
    }

    /// Forgets a client and returns whether it was still waiting.
    pub(crate) fn remove(&mut self, client: ClientId) -> bool {
        self.waiting.remove(&client).is_some()
    }

    /// Sends `client` what `answer` means for it; returns whether that was its last reply.
    pub(crate) fn answer(&mut self, client: ClientId, answer: ClientAnswer, now: Tick) -> bool {
        let Some(entry) = self.waiting.get_mut(&client) else { return false };
        let reply = match &mut entry.waiting {
            Waiting::Job(job) => job_reply(job, answer, now),
            Waiting::Status => match answer {
                ClientAnswer::StatusFailed(problem) => Some(Reply::Failed { reason: problem.0 }),
                ClientAnswer::StatusReady(_) | ClientAnswer::Job { .. } => None,
            },
        };
        match reply {
            Some(Reply::Progress(progress)) if entry.has_seen(&progress) => false,
            Some(reply) => self.send(client, reply),
            None => false,
        }
    }

    /// Sends `client` a reply; returns whether it was its last.
    pub(crate) fn send(&mut self, client: ClientId, reply: Reply) -> bool {
        let Some(entry) = self.waiting.get(&client) else { return false };
        let last = reply.is_last();
        // A full or closed channel: progress is superseded by the next, and a client that is gone needs nothing.
        let _unsent = entry.replies.try_send(reply).err();
        if last {
            self.waiting.remove(&client);
        }
        last
    }

    fn add(&mut self, waiting: Waiting, replies: Replies) -> ClientId {
        let client = ClientId(self.next);
        self.next += 1;
        self.waiting.insert(client, Client { waiting, replies, seen: None });
        client
    }
}
