//! A program in a pseudo-terminal, and the screen that a human would see.
//!
//! It knows no harness. Dropping it ends the program and all that descends from it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::io::{self, Read, Write};
use std::num::NonZero;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, ExitStatus, MasterPty, PtySize, native_pty_system};
use rustix::process::Signal;

use crate::error::HarnessError;
use crate::processes::{kill, kill_family, wait_for, wait_until};

/// Tall, so that what a test looks for has not scrolled away.
const ROWS: NonZero<u16> = NonZero::new(60).unwrap();
const COLUMNS: NonZero<u16> = NonZero::new(120).unwrap();

/// How long a typed text may take to show on the screen.
const ECHO_WITHIN: Duration = Duration::from_secs(30);

/// How long killed processes may take to go.
const END_WITHIN: Duration = Duration::from_secs(10);

/// A key that has no character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// Enter.
    Enter,
    /// Escape.
    Escape,
    /// Cursor down.
    Down,
    /// Cursor up.
    Up,
    /// Control and C.
    ControlC,
    /// Control and D.
    ControlD,
}

impl Key {
    const fn bytes(self) -> &'static [u8] {
        match self {
            Self::Enter => b"\r",
            Self::Escape => b"\x1b",
            Self::Down => b"\x1b[B",
            Self::Up => b"\x1b[A",
            Self::ControlC => b"\x03",
            Self::ControlD => b"\x04",
        }
    }
}

/// A program that runs in a pseudo-terminal of its own.
pub struct Terminal {
    child: Box<dyn Child + Send + Sync>,
    pid: u32,
    input: Box<dyn Write + Send>,
    master: Option<Box<dyn MasterPty + Send>>,
    display: Arc<Display>,
    reader: Option<JoinHandle<()>>,
}

impl Terminal {
    /// Starts `program` in `directory` with exactly this environment.
    pub fn start(
        program: &Path,
        arguments: &[&str],
        directory: &Path,
        environment: &BTreeMap<OsString, OsString>,
    ) -> Result<Self, HarnessError> {
        let size = PtySize { rows: ROWS.get(), cols: COLUMNS.get(), ..PtySize::default() };
        let pair = native_pty_system().openpty(size).map_err(|error| terminal_error(&error))?;
        let mut command = CommandBuilder::new(program);
        command.env_clear();
        command.args(arguments);
        command.cwd(directory);
        for (name, value) in environment {
            command.env(name, value);
        }
        let reader = pair.master.try_clone_reader().map_err(|error| terminal_error(&error))?;
        let input = pair.master.take_writer().map_err(|error| terminal_error(&error))?;
        let display = Arc::new(Display::new());
        let mut child = pair.slave.spawn_command(command).map_err(|error| HarnessError::Start {
            program: program.to_path_buf(),
            source: io::Error::other(format!("{error:#}")),
        })?;
        // Held open here, the terminal would never report its end.
        drop(pair.slave);
        let reading = {
            let display = Arc::clone(&display);
            thread::Builder::new().name("terminal".to_owned()).spawn(move || display.read(reader))
        };
        let (Some(pid), Ok(reading)) = (child.process_id(), reading) else {
            drop(child.kill());
            drop(child.wait());
            return Err(terminal_error("no process id or no thread"));
        };
        Ok(Self { child, pid, input, master: Some(pair.master), display, reader: Some(reading) })
    }

    /// The program's process id.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// What the screen shows, line by line, without trailing blanks.
    pub fn screen_text(&self) -> String {
        self.display.state().text()
    }

    /// Waits until the screen is as `condition` wants it and returns it. `awaited` says for what, in the error.
    pub fn wait_for(
        &self,
        awaited: &str,
        bound: Duration,
        condition: impl Fn(&str) -> bool,
    ) -> Result<String, HarnessError> {
        let end = Instant::now() + bound;
        let mut state = self.display.state();
        loop {
            let text = state.text();
            if condition(&text) {
                return Ok(text);
            }
            let awaited = awaited.to_owned();
            let evidence = format!("the screen:\n{text}");
            if state.has_ended {
                return Err(HarnessError::Ended { awaited, evidence });
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(HarnessError::TimedOut { awaited, bound, evidence });
            }
            let woken = self.display.changed.wait_timeout(state, left);
            state = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Waits until `text` stands on the screen; line breaks and blanks do not count, since terminals wrap.
    pub fn wait_for_text(&self, text: &str, bound: Duration) -> Result<String, HarnessError> {
        self.wait_for(text, bound, |screen| shows(screen, text))
    }

    /// Types `text`, waits until it shows, and presses Enter.
    ///
    /// In one piece with the Enter it would look like pasted text, which harnesses do not send off.
    pub fn type_line(&mut self, text: &str) -> Result<(), HarnessError> {
        let before = occurrences(&self.screen_text(), text);
        self.write(text.as_bytes())?;
        self.wait_for(&format!("the typed text `{text}`"), ECHO_WITHIN, |screen| occurrences(screen, text) > before)?;
        self.press(Key::Enter)
    }

    /// Presses a key.
    pub fn press(&mut self, key: Key) -> Result<(), HarnessError> {
        self.write(key.bytes())
    }

    /// Sends a signal to the program, and to nothing that descends from it.
    pub fn signal(&self, signal: Signal) {
        kill(self.pid, signal);
    }

    /// Waits until the program has ended, and reaps it.
    pub fn wait_for_end(&mut self, bound: Duration) -> Result<ExitStatus, HarnessError> {
        match wait_for(bound, || self.child.try_wait().transpose()) {
            Some(Ok(status)) => Ok(status),
            Some(Err(source)) => Err(HarnessError::System { action: "wait for the program's end", source }),
            None => Err(HarnessError::TimedOut {
                awaited: "the program's end".to_owned(),
                bound,
                evidence: format!("the screen:\n{}", self.screen_text()),
            }),
        }
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), HarnessError> {
        let written = self.input.write_all(bytes).and_then(|()| self.input.flush());
        written.map_err(|source| HarnessError::System { action: "type into the terminal", source })
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // Once reaped, the number may be another process's.
        if let Ok(None) = self.child.try_wait() {
            kill_family(self.pid);
            drop(self.child.wait());
        }
        drop(self.master.take());
        // A process that got away may hold the terminal; who looks for what is left reports that, not this.
        let has_ended = wait_until(END_WITHIN, || self.display.state().has_ended);
        if let Some(reader) = self.reader.take().filter(|_| has_ended) {
            drop(reader.join());
        }
    }
}

impl fmt::Debug for Terminal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Terminal").field("pid", &self.pid).finish_non_exhaustive()
    }
}

/// The screen, kept by a thread that reads what the program writes.
struct Display {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    parser: vt100::Parser,
    has_ended: bool,
}

impl Display {
    fn new() -> Self {
        Self {
            state: Mutex::new(State { parser: vt100::Parser::new(ROWS, COLUMNS, 0), has_ended: false }),
            changed: Condvar::new(),
        }
    }

    fn read(&self, mut output: impl Read) {
        let mut buffer = [0; 8192];
        loop {
            // The end of a terminal is an error on Linux; either way there is no more to come.
            let length = output.read(&mut buffer).unwrap_or(0);
            let mut state = self.state();
            state.parser.process(&buffer[..length]);
            state.has_ended = length == 0;
            self.changed.notify_all();
            if state.has_ended {
                return;
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn text(&self) -> String {
        let screen = self.parser.screen().contents();
        let lines: Vec<&str> = screen.lines().map(str::trim_end).collect();
        lines.join("\n").trim_end().to_owned()
    }
}

fn shows(screen: &str, text: &str) -> bool {
    occurrences(screen, text) > 0
}

fn occurrences(screen: &str, text: &str) -> usize {
    without_blanks(screen).matches(&without_blanks(text)).count()
}

fn without_blanks(text: &str) -> String {
    text.split_whitespace().collect()
}

fn terminal_error(error: impl fmt::Display) -> HarnessError {
    HarnessError::System { action: "open a pseudo-terminal", source: io::Error::other(error.to_string()) }
}
