//! What a group did and nobody has asked for yet.
//!
//! It must never make the group wait for its reader: lines that are not fetched are dropped, the oldest first.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use steward_ports::{Captured, Ended, OutputLine, ProcessEvent};
use tokio::sync::Notify;

/// How many lines are kept for a reader that is behind. A reader that is so far behind cares for the latest ones: the
/// line that says "ready" rather than the progress before it.
pub(crate) const LINES_KEPT: usize = 512;

/// The events of one group, in order.
#[derive(Debug, Default)]
pub(crate) struct Mailbox {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    lines: VecDeque<OutputLine>,
    ended: Option<Ended>,
    is_end_delivered: bool,
}

impl Mailbox {
    /// Adds a line, at the cost of the oldest where there are too many.
    pub(crate) fn push_line(&self, line: OutputLine) {
        let mut state = self.lock();
        if state.lines.len() == LINES_KEPT {
            state.lines.pop_front();
        }
        state.lines.push_back(line);
        drop(state);
        self.changed.notify_waiters();
    }

    /// Adds the end, after which nothing comes.
    pub(crate) fn push_end(&self, ended: Ended) {
        self.lock().ended = Some(ended);
        self.changed.notify_waiters();
    }

    /// Takes the next event, or waits for it. The end is returned every time. Dropping the future loses nothing.
    pub(crate) async fn next(&self) -> ProcessEvent {
        loop {
            // Made before the look, so that an event between the look and the wait ends the wait.
            let changed = self.changed.notified();
            if let Some(event) = self.take() {
                return event;
            }
            changed.await;
        }
    }

    /// Whether the end was taken at least once.
    pub(crate) fn is_end_delivered(&self) -> bool {
        self.lock().is_end_delivered
    }

    /// Gives up the output that the end carries and counts it as dropped.
    pub(crate) fn forget_output(&self) {
        if let Some(ended) = &mut self.lock().ended {
            forget(&mut ended.stdout);
            forget(&mut ended.stderr);
        }
    }

    fn take(&self) -> Option<ProcessEvent> {
        let mut state = self.lock();
        if let Some(line) = state.lines.pop_front() {
            return Some(ProcessEvent::Line(line));
        }
        let ended = state.ended.clone()?;
        state.is_end_delivered = true;
        Some(ProcessEvent::Ended(ended))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // No holder of the lock can panic half way through a change.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn forget(captured: &mut Captured) {
    let kept = captured.head.len() + captured.tail.len();
    *captured = Captured { head: Vec::new(), tail: Vec::new(), dropped: captured.dropped + kept as u64 };
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use steward_ports::{Exit, OutputStream};

    use super::*;

    fn line(text: &str) -> OutputLine {
        OutputLine { stream: OutputStream::Stdout, text: text.to_owned() }
    }

    fn ended() -> Ended {
        Ended {
            exit: Exit::Code(0),
            stdout: Captured { head: b"abc".to_vec(), tail: b"de".to_vec(), dropped: 1 },
            stderr: Captured::default(),
            elapsed: Duration::ZERO,
        }
    }

    #[tokio::test]
    async fn lines_come_first_and_the_end_comes_every_time() {
        let mailbox = Mailbox::default();
        mailbox.push_line(line("one"));
        mailbox.push_end(ended());

        assert_eq!(mailbox.next().await, ProcessEvent::Line(line("one")));
        assert!(!mailbox.is_end_delivered());
        assert_eq!(mailbox.next().await, ProcessEvent::Ended(ended()));
        assert_eq!(mailbox.next().await, ProcessEvent::Ended(ended()));
        assert!(mailbox.is_end_delivered());
    }

    #[tokio::test]
    async fn a_reader_that_is_behind_loses_the_oldest_lines() {
        let mailbox = Mailbox::default();
        for number in 0..LINES_KEPT + 2 {
            mailbox.push_line(line(&number.to_string()));
        }

        assert_eq!(mailbox.next().await, ProcessEvent::Line(line("2")));
    }

    #[tokio::test]
    async fn a_waiting_reader_is_woken() {
        let mailbox = Mailbox::default();

        let (event, ()) = tokio::join!(mailbox.next(), async { mailbox.push_line(line("one")) });

        assert_eq!(event, ProcessEvent::Line(line("one")));
    }

    #[tokio::test]
    async fn forgotten_output_is_counted_as_dropped() {
        let mailbox = Mailbox::default();
        mailbox.push_end(ended());

        mailbox.forget_output();

        let ProcessEvent::Ended(ended) = mailbox.next().await else {
            panic!("no line was written");
        };
        assert_eq!(ended.stdout, Captured { dropped: 6, ..Captured::default() });
    }
}
