//! The `Clock` port on Linux.
//!
//! Responsible for reading `CLOCK_BOOTTIME`, which counts suspend, and for sleeping until a deadline of it. It must
//! never poll: a sleep is one timer, armed anew only where the machine was suspended meanwhile.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use rustix::time::{ClockId, clock_gettime};
use steward_ports::{Clock, Tick, Timestamp};

/// The system's clocks. Ticks count from the construction of this value.
#[derive(Debug)]
pub struct SystemClock {
    start: Duration,
}

impl SystemClock {
    /// Starts counting now.
    #[expect(clippy::new_without_default, reason = "a default that depends on the moment would surprise")]
    pub fn new() -> Self {
        Self { start: since_boot() }
    }
}

#[async_trait]
impl Clock for SystemClock {
    fn now(&self) -> Tick {
        Tick::new(since_boot().saturating_sub(self.start))
    }

    fn wall(&self) -> Timestamp {
        let now = SystemTime::now();
        let nanoseconds = match now.duration_since(UNIX_EPOCH) {
            Ok(after) => i128::try_from(after.as_nanos()).unwrap_or(i128::MAX),
            Err(before) => i128::try_from(before.duration().as_nanos()).map_or(i128::MIN, |nanoseconds| -nanoseconds),
        };
        Timestamp::from_nanos(nanoseconds)
    }

    async fn sleep_until(&self, deadline: Tick) {
        // Tokio's timers stand still in suspend; after a resume the remaining time is computed anew.
        loop {
            let remaining = deadline.duration_since(self.now());
            if remaining.is_zero() {
                return;
            }
            tokio::time::sleep(remaining).await;
        }
    }
}

fn since_boot() -> Duration {
    let time = clock_gettime(ClockId::Boottime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_sleep_ends_at_its_deadline_and_not_before() {
        let clock = SystemClock::new();
        let deadline = clock.now().after(Duration::from_millis(5));

        clock.sleep_until(deadline).await;

        assert!(clock.now() >= deadline);
    }

    #[tokio::test]
    async fn a_deadline_in_the_past_returns_at_once() {
        let clock = SystemClock::new();

        clock.sleep_until(Tick::default()).await;

        assert!(clock.wall() > Timestamp::from_millis(1_700_000_000_000));
    }
}
