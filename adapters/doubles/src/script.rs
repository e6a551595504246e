//! What a simulated program does, step by step.
//!
//! It must never decide what a command means; the test that writes the script does.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use steward_ports::{Exit, Stop};
use tokio::sync::watch;

/// Holds a simulated program up until the test lets it go on.
#[derive(Debug, Clone, Default)]
pub struct Gate {
    is_open: Arc<watch::Sender<bool>>,
}

impl Gate {
    /// Lets whoever waits go on.
    pub fn open(&self) {
        self.is_open.send_replace(true);
    }

    pub(crate) fn is_open(&self) -> bool {
        *self.is_open.borrow()
    }

    pub(crate) fn subscribe(&self) -> watch::Receiver<bool> {
        self.is_open.subscribe()
    }
}

/// One thing that a simulated program does.
pub enum ScriptStep {
    /// It writes this line to stdout.
    Line(String),
    /// It changes the simulated world.
    Do(Box<dyn FnOnce() + Send>),
    /// It goes on only once it was asked to end at least this hard. Weaker requests are ignored.
    AwaitStop(Stop),
    /// It goes on once the gate is open or it was asked to end, however gently.
    Pause(Gate),
    /// It can no longer be waited for, though it lives.
    LoseTrack,
    /// It ends.
    End(Exit),
}

impl fmt::Debug for ScriptStep {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(text) => formatter.debug_tuple("Line").field(text).finish(),
            Self::Do(_) => formatter.write_str("Do"),
            Self::AwaitStop(stop) => formatter.debug_tuple("AwaitStop").field(stop).finish(),
            Self::Pause(_) => formatter.write_str("Pause"),
            Self::LoseTrack => formatter.write_str("LoseTrack"),
            Self::End(exit) => formatter.debug_tuple("End").field(exit).finish(),
        }
    }
}

/// One expected command and what its program does. Whatever the script says, a kill ends it.
#[derive(Debug)]
pub struct Script {
    pub(crate) arguments: Vec<OsString>,
    pub(crate) can_start: bool,
    pub(crate) steps: VecDeque<ScriptStep>,
}

impl Script {
    /// Expects a command with exactly these arguments.
    pub fn command(arguments: &[&str]) -> Self {
        let arguments = arguments.iter().map(OsString::from).collect();
        Self { arguments, can_start: true, steps: VecDeque::new() }
    }

    /// Lets the start itself fail.
    #[must_use]
    pub fn cannot_start(mut self) -> Self {
        self.can_start = false;
        self
    }

    /// Adds a line of output.
    #[must_use]
    pub fn says(self, line: &str) -> Self {
        self.then(ScriptStep::Line(line.to_owned()))
    }

    /// Adds a change of the simulated world.
    #[must_use]
    pub fn does(self, change: impl FnOnce() + Send + 'static) -> Self {
        self.then(ScriptStep::Do(Box::new(change)))
    }

    /// Adds a wait for a request to end that is at least as hard as `stop`.
    #[must_use]
    pub fn awaits(self, stop: Stop) -> Self {
        self.then(ScriptStep::AwaitStop(stop))
    }

    /// Adds a wait for `gate`.
    #[must_use]
    pub fn pauses(self, gate: &Gate) -> Self {
        self.then(ScriptStep::Pause(gate.clone()))
    }

    /// Adds the end.
    #[must_use]
    pub fn ends(self, exit: Exit) -> Self {
        self.then(ScriptStep::End(exit))
    }

    /// Returns the steps, to be told anew.
    pub fn into_steps(self) -> impl Iterator<Item = ScriptStep> {
        self.steps.into_iter()
    }

    /// Adds a step.
    #[must_use]
    pub fn then(mut self, step: ScriptStep) -> Self {
        self.steps.push_back(step);
        self
    }
}

/// A test that panicked with the lock has failed already; what follows may still look at the state.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
