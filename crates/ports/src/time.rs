//! Time as values: a monotonic tick for deadlines and a wall timestamp for people and files.
//!
//! It must never read a clock; the `Clock` port does, in an adapter.

use std::fmt;
use std::time::Duration;

/// A monotonic instant: the time since the clock adapter started, suspend included.
///
/// Suspend counts because a laptop lid must not stretch a budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Tick(Duration);

impl Tick {
    /// The instant `since_start` after the clock adapter started.
    pub const fn new(since_start: Duration) -> Self {
        Self(since_start)
    }

    /// The instant `milliseconds` after the clock adapter started.
    pub const fn from_millis(milliseconds: u64) -> Self {
        Self(Duration::from_millis(milliseconds))
    }

    /// The time since the clock adapter started.
    pub const fn since_start(self) -> Duration {
        self.0
    }

    /// The instant `duration` later; saturates.
    #[must_use]
    pub const fn after(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(duration))
    }

    /// The time from `earlier` to this instant; zero if `earlier` is later.
    pub const fn duration_since(self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }
}

impl fmt::Display for Tick {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "+{:.3}s", self.0.as_secs_f64())
    }
}

/// A wall-clock instant in nanoseconds since the Unix epoch, the unit of file times on Linux.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(i128);

impl Timestamp {
    /// The instant `nanoseconds` after the Unix epoch; negative before it.
    pub const fn from_nanos(nanoseconds: i128) -> Self {
        Self(nanoseconds)
    }

    /// The instant `milliseconds` after the Unix epoch.
    pub const fn from_millis(milliseconds: i64) -> Self {
        Self(milliseconds as i128 * 1_000_000)
    }

    /// Nanoseconds since the Unix epoch.
    pub const fn as_nanos(self) -> i128 {
        self.0
    }

    /// Whole milliseconds since the Unix epoch, rounded down.
    pub const fn as_millis(self) -> i128 {
        self.0.div_euclid(1_000_000)
    }
}

/// Reads the two clocks.
#[async_trait::async_trait]
pub trait Clock: Send + Sync {
    /// Returns the monotonic time, suspend included.
    fn now(&self) -> Tick;

    /// Returns the wall time. It may jump in either direction between two calls.
    fn wall(&self) -> Timestamp;

    /// Returns once `now()` has reached `deadline`.
    async fn sleep_until(&self, deadline: Tick);
}
