//! SIGINT as Python treats it: an exception at the next opportunity, unless the process was started with it ignored.
//!
//! It must never catch anything else; SIGTERM ends cgc 0.6.13 on the spot.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use std::{fs, io, thread};

use signal_hook::consts::SIGINT;

const STEP: Duration = Duration::from_millis(5);

/// Whether an interrupt came.
#[derive(Debug, Clone)]
pub(crate) struct Interrupt {
    came: Arc<AtomicBool>,
}

impl Interrupt {
    /// Begins to listen.
    pub(crate) fn watch() -> io::Result<Self> {
        let came = Arc::new(AtomicBool::new(false));
        if !is_ignored()? {
            signal_hook::flag::register(SIGINT, Arc::clone(&came))?;
        }
        Ok(Self { came })
    }

    /// Whether one has come.
    pub(crate) fn came(&self) -> bool {
        self.came.load(Ordering::SeqCst)
    }

    /// Sleeps for `time`, or until one comes. Returns whether one has come.
    pub(crate) fn sleep(&self, time: Duration) -> bool {
        let deadline = Instant::now() + time;
        while !self.came() && Instant::now() < deadline {
            thread::sleep(STEP.min(deadline.saturating_duration_since(Instant::now())));
        }
        self.came()
    }

    /// Sleeps until one comes.
    pub(crate) fn wait(&self) {
        while !self.came() {
            thread::sleep(STEP);
        }
    }
}

/// Whether SIGINT was ignored when this process was started.
fn is_ignored() -> io::Result<bool> {
    let status = fs::read_to_string("/proc/self/status")?;
    let mask = status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok());
    Ok(mask.unwrap_or_default() & (1 << (SIGINT - 1)) != 0)
}
