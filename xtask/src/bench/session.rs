//! What a session costs: its start without a daemon, and the edits that are observed in it.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use serde_json::json;

use super::harness::Harness;
use super::processes;
use super::report::{Row, Unit, median, milliseconds};
use crate::stage::Stage;

/// How many files the workspace has.
const FILES: usize = 1_000;

/// How many sessions are started.
const STARTS: usize = 40;

/// How many edits are observed.
const EDITS: usize = 500;

/// How long the workspace may take to be looked at on a loaded machine.
const BOUND: Duration = Duration::from_mins(2);

/// Makes a workspace whose graph is current.
pub(super) fn indexed_workspace(stage: &Stage) -> anyhow::Result<PathBuf> {
    let directory = stage.scratch().directory("work/repository")?;
    for number in 0..FILES {
        let package = directory.join(format!("package_{}", number / 50));
        fs::create_dir_all(&package).with_context(|| format!("cannot create {}", package.display()))?;
        let file = package.join(format!("module_{number}.py"));
        let text = format!("def function_{number}():\n    return {number}\n");
        fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
    }
    stage.commit_all(&directory)?;
    stage.steward(&directory, &["index", "--yes", "--wait"])?;
    stage.wait_for_state(&directory, "clean", BOUND)?;
    Ok(directory)
}

/// Starts sessions on the clean workspace, each without a daemon before it.
pub(super) fn starts(stage: &Stage, harness: &mut Harness, directory: &Path) -> anyhow::Result<Vec<Row>> {
    let started = stage.cgc().starts()?;
    let mut held_up = Vec::new();
    for _ in 0..STARTS {
        stage.stop_daemon()?;
        let runs = harness.event(directory, "SessionStart", &json!({ "source": "startup" }), 1, None)?;
        ensure!(runs.printed.is_empty(), "a clean start is not silent: {}", runs.printed);
        held_up.extend(runs.times);
        stage.wait_for_state(directory, "clean", BOUND)?;
    }
    let started = stage.cgc().starts()? - started;
    let slowest = held_up.iter().max().copied().unwrap_or_default();
    Ok(vec![
        Row {
            what: "session start without a daemon holds the agent up",
            measured: milliseconds(median(held_up)),
            goal: 25.0,
            unit: Unit::Milliseconds,
            how: format!("median of {STARTS}, {FILES} files; slowest {:.1} ms", milliseconds(slowest)),
        },
        Row {
            what: "cgc processes at a clean session start",
            measured: count(started),
            goal: 0.0,
            unit: Unit::Processes,
            how: format!("all of {STARTS} starts, until the state was clean"),
        },
    ])
}

/// Observes edits, in turns with the empty program.
pub(super) fn edits(stage: &Stage, harness: &mut Harness, directory: &Path, empty: &Path) -> anyhow::Result<Vec<Row>> {
    let file = directory.join("package_0/module_0.py");
    let edit = json!({
        "tool_name": "Write",
        "tool_input": { "file_path": file, "content": "" },
        "tool_response": { "type": "update", "filePath": file, "content": "", "structuredPatch": [] },
    });
    let daemon = stage.daemon()?.context("no daemon is running")?;
    let started = stage.cgc().starts()?;
    let before = processes::cpu_time(daemon)?;
    let runs = harness.event(directory, "PostToolUse", &edit, EDITS, Some(empty))?;
    let spent = processes::cpu_time(daemon)?.saturating_sub(before);
    let children = steward_harness_stubs::descendants(daemon).len();
    let started = stage.cgc().starts()? - started;
    let (hook, empty) = (median(runs.times), median(runs.compared));
    let edits = u32::try_from(EDITS).context("too many edits")?;
    Ok(vec![
        Row {
            what: "hook process against an empty static program, daemon up",
            measured: hook.as_secs_f64() / empty.as_secs_f64(),
            goal: 2.5,
            unit: Unit::Times,
            how: format!("medians of {EDITS} in turns: {:.2} and {:.2} ms", milliseconds(hook), milliseconds(empty)),
        },
        Row {
            what: "processes for an observed edit",
            measured: count(children + started),
            goal: 0.0,
            unit: Unit::Processes,
            how: format!("cgc and children of the daemon, {EDITS} edits"),
        },
        Row {
            what: "processor time of the daemon for an observed edit",
            measured: (spent / edits).as_secs_f64() * 1e6,
            goal: 50.0,
            unit: Unit::Microseconds,
            how: format!("mean of {EDITS}, connection and reply included"),
        },
    ])
}

#[expect(clippy::cast_precision_loss, reason = "counts of processes are small")]
fn count(number: usize) -> f64 {
    number as f64
}
