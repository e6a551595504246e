//! What a script asks for that the real cgc does not do by itself, or not on demand.
//!
//! It must never end a process other than its own.

use std::hint;
use std::io::{self, Write};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Duration;

use nix::sys::signal::{Signal, raise};
use nix::unistd::setsid;
use signal_hook::consts::{SIGINT, SIGTERM};
use steward_fake_cgc::Behaviour;

use crate::interrupt::Interrupt;
use crate::terminal::{complain, say};

/// The argument that makes the stand-in a process which only lives.
pub(crate) const GRANDCHILD: &str = "--be-a-grandchild";

const LIFETIME: Duration = Duration::from_mins(10);

/// The behaviours that apply to one call.
#[derive(Debug)]
pub(crate) struct Misbehaviour {
    behaviours: Vec<Behaviour>,
}

impl Misbehaviour {
    pub(crate) fn new(behaviours: Vec<Behaviour>) -> Self {
        Self { behaviours }
    }

    /// Does what comes before or instead of the command; `Some` with the exit code where it came instead.
    pub(crate) fn instead(&self, interrupt: &Interrupt) -> io::Result<Option<u8>> {
        for behaviour in &self.behaviours {
            match behaviour {
                Behaviour::Hang { after_files: None, ignores_signals } => {
                    return hang(interrupt, *ignores_signals).map(Some);
                }
                Behaviour::Crash { after_files: None, signal } => return crash(*signal).map(Some),
                Behaviour::Lie => {
                    complain("No configuration file found. Using defaults.");
                    return Ok(Some(0));
                }
                Behaviour::Garbage => {
                    flood(b"\xff\xfe\x00{[(\x1b[31m\r\n\xc3\x28", 1)?;
                    return Ok(Some(0));
                }
                Behaviour::Print { stdout, stderr, exit } => {
                    io::stdout().write_all(stdout.as_bytes())?;
                    io::stderr().write_all(stderr.as_bytes())?;
                    return Ok(Some(u8::try_from(*exit).unwrap_or(1)));
                }
                Behaviour::Flood(bytes) => {
                    let line = [[b'x'; 1023].as_slice(), b"\n"].concat();
                    flood(&line, bytes.div_ceil(line.len()))?;
                    return Ok(Some(0));
                }
                Behaviour::Burn => loop {
                    if interrupt.came() {
                        return Ok(Some(130));
                    }
                    hint::spin_loop();
                },
                Behaviour::Banner(text) => {
                    say(text);
                    complain(text);
                }
                Behaviour::Grandchild => start_grandchild()?,
                Behaviour::Fallback { taken } => complain(&format!(
                    "2026-11-30 21:55:44,691 - WARNING - codegraphcontext.utils.debug_log - Database backend \
                     fallback: FalkorDB Lite is not supported or not installed here. Now using {taken}."
                )),
                Behaviour::Hang { after_files: Some(_), .. }
                | Behaviour::Crash { after_files: Some(_), .. }
                | Behaviour::NoGrammars
                | Behaviour::Slow(_)
                | Behaviour::SlowInterrupt(_) => {}
            }
        }
        Ok(None)
    }

    /// Does what is due once `files` files are written; `Some` with the exit code where that ends the command.
    pub(crate) fn after(&self, files: usize, interrupt: &Interrupt) -> io::Result<Option<u8>> {
        for behaviour in &self.behaviours {
            match behaviour {
                Behaviour::Hang { after_files: Some(due), ignores_signals } if *due == files => {
                    return hang(interrupt, *ignores_signals).map(Some);
                }
                Behaviour::Crash { after_files: Some(due), signal } if *due == files => {
                    return crash(*signal).map(Some);
                }
                _ => {}
            }
        }
        Ok(None)
    }

    /// Whether there is no grammar for any language.
    pub(crate) fn has_no_grammars(&self) -> bool {
        self.behaviours.contains(&Behaviour::NoGrammars)
    }

    /// How long a file takes.
    pub(crate) fn time_for_a_file(&self) -> Duration {
        self.milliseconds(|behaviour| match behaviour {
            Behaviour::Slow(milliseconds) => Some(*milliseconds),
            _ => None,
        })
    }

    /// How long it takes to obey an interrupt.
    pub(crate) fn time_to_obey(&self) -> Duration {
        self.milliseconds(|behaviour| match behaviour {
            Behaviour::SlowInterrupt(milliseconds) => Some(*milliseconds),
            _ => None,
        })
    }

    fn milliseconds(&self, of: impl Fn(&Behaviour) -> Option<u64>) -> Duration {
        Duration::from_millis(self.behaviours.iter().find_map(of).unwrap_or_default())
    }
}

/// Lives in a session of its own with the streams that it inherited.
pub(crate) fn be_a_grandchild() -> ExitCode {
    match setsid() {
        Ok(_) => {
            thread::sleep(LIFETIME);
            ExitCode::SUCCESS
        }
        Err(_) => ExitCode::FAILURE,
    }
}

fn hang(interrupt: &Interrupt, ignores_signals: bool) -> io::Result<u8> {
    if ignores_signals {
        // A caught signal wakes a sleep and changes nothing.
        for signal in [SIGINT, SIGTERM] {
            signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false)))?;
        }
        loop {
            thread::sleep(LIFETIME);
        }
    }
    interrupt.wait();
    Ok(130)
}

fn crash(signal: i32) -> io::Result<u8> {
    // The runtime catches the first SIGSEGV or SIGBUS, finds that its stack is whole, and restores the default.
    for _ in 0..2 {
        raise(Signal::try_from(signal)?)?;
    }
    Ok(1)
}

fn flood(bytes: &[u8], times: usize) -> io::Result<()> {
    for _ in 0..times {
        io::stdout().write_all(bytes)?;
        io::stderr().write_all(bytes)?;
    }
    io::stdout().flush()
}

fn start_grandchild() -> io::Result<()> {
    Command::new(std::env::current_exe()?).arg(GRANDCHILD).stdin(Stdio::null()).spawn().map(drop)
}
