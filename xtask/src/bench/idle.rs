//! What the daemon costs while a session does nothing.

use std::path::Path;
use std::thread;
use std::time::Duration;

use anyhow::Context as _;
use steward_harness_stubs::wait_until;

use super::processes;
use super::report::{Row, Unit};
use crate::stage::Stage;

/// How long the daemon may take to come to rest after the last event.
const RESTS_WITHIN: Duration = Duration::from_secs(30);

/// How long it has to have slept to be at rest, longer than it waits for edits to be quiet.
const AT_REST: Duration = Duration::from_secs(3);

const MINUTE: Duration = Duration::from_mins(1);

/// Watches the daemon for a minute, with one session on the workspace.
pub(super) fn minute(stage: &Stage, directory: &Path) -> anyhow::Result<Vec<Row>> {
    let status = stage.wait_for_state(directory, "clean", RESTS_WITHIN)?;
    let sessions = status["sessions"].as_array().map_or(0, Vec::len);
    let daemon = stage.daemon()?.context("no daemon is running")?;
    // One that never comes to rest is measured all the same, and shows.
    let _rests = wait_until(RESTS_WITHIN, || {
        let before = processes::wake_ups(daemon);
        thread::sleep(AT_REST);
        let after = processes::wake_ups(daemon);
        matches!((before, after), (Ok(before), Ok(after)) if before == after)
    });
    let (woken, spent) = (processes::wake_ups(daemon)?, processes::cpu_time(daemon)?);
    thread::sleep(MINUTE);
    let woken = processes::wake_ups(daemon)?.saturating_sub(woken);
    let spent = processes::cpu_time(daemon)?.saturating_sub(spent);
    let resident = processes::resident(daemon)?;
    let threads = processes::threads(daemon)?;
    Ok(vec![
        Row {
            what: "resident memory of the idle daemon",
            measured: number(resident) / 1e6,
            goal: 8.0,
            unit: Unit::Megabytes,
            how: format!("{sessions} session on 1,000 files, {threads} thread(s)"),
        },
        Row {
            what: "wake-ups of the idle daemon in a minute",
            measured: number(woken),
            goal: 0.0,
            unit: Unit::WakeUps,
            how: format!("all threads; {} µs of processor time", spent.as_micros()),
        },
    ])
}

#[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
fn number(value: u64) -> f64 {
    value as f64
}
