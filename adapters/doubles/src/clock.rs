//! A clock that moves only when a test moves it.
//!
//! It must never move by itself.

use std::time::Duration;

use async_trait::async_trait;
use steward_ports::{Clock, Tick, Timestamp};
use tokio::sync::watch;

/// Where the wall clock of a [`ManualClock`] begins: an hour of January 2025.
const WALL_START: Timestamp = Timestamp::from_millis(1_736_000_000_000);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Reading {
    now: Tick,
    wall: Timestamp,
}

/// A monotonic and a wall clock under a test's hand.
#[derive(Debug)]
pub struct ManualClock {
    reading: watch::Sender<Reading>,
}

impl Default for ManualClock {
    fn default() -> Self {
        Self { reading: watch::Sender::new(Reading { now: Tick::default(), wall: WALL_START }) }
    }
}

impl ManualClock {
    /// Moves both clocks on by `duration` and wakes the sleepers whose deadline is reached.
    pub fn advance(&self, duration: Duration) {
        let nanoseconds = i128::try_from(duration.as_nanos()).unwrap_or(i128::MAX);
        self.reading.send_modify(|reading| {
            reading.now = reading.now.after(duration);
            reading.wall = Timestamp::from_nanos(reading.wall.as_nanos().saturating_add(nanoseconds));
        });
    }

    /// Moves on to `deadline`; does nothing where that is past.
    pub fn advance_to(&self, deadline: Tick) {
        self.advance(deadline.duration_since(self.now()));
    }

    /// Sets the wall clock alone, as an administrator or NTP does.
    pub fn set_wall(&self, wall: Timestamp) {
        self.reading.send_modify(|reading| reading.wall = wall);
    }
}

#[async_trait]
impl Clock for ManualClock {
    fn now(&self) -> Tick {
        self.reading.borrow().now
    }

    fn wall(&self) -> Timestamp {
        self.reading.borrow().wall
    }

    async fn sleep_until(&self, deadline: Tick) {
        let mut reading = self.reading.subscribe();
        // The sender lives as long as `self`, so an error cannot come.
        let _reached = reading.wait_for(|reading| reading.now >= deadline).await.is_ok();
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    #[test]
    fn a_sleeper_wakes_at_its_deadline_and_not_before() {
        let clock = ManualClock::default();
        let mut sleep = clock.sleep_until(Tick::from_millis(100));

        clock.advance(Duration::from_millis(99));
        assert_eq!(sleep.as_mut().now_or_never(), None);
        clock.advance(Duration::from_millis(1));
        assert_eq!(sleep.as_mut().now_or_never(), Some(()));
    }

    #[test]
    fn the_wall_clock_may_jump_without_the_ticks() {
        let clock = ManualClock::default();

        clock.set_wall(Timestamp::from_millis(5));

        assert_eq!((clock.wall(), clock.now()), (Timestamp::from_millis(5), Tick::default()));
    }
}
