//! What it costs to find out whether a large tree has changed, against `git status` on the same tree.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};

use super::report::{Row, Unit, median, milliseconds};
use super::run_in;
use crate::stage::Stage;

const DIRECTORIES: usize = 1_000;
const FILES_EACH: usize = 100;

/// How often one follows the other.
const BLOCKS: usize = 3;

/// How often each is run in a row.
const ROUNDS: usize = 7;

/// Compares a tree of 100,000 files with its manifest, in turns with `git status`.
pub(super) fn drift(stage: &Stage, drift_scan: &Path) -> anyhow::Result<Row> {
    let tree = stage.scratch().directory("work/large")?;
    generate(&tree)?;
    stage.commit_all(&tree)?;
    let status = || run_in(stage, "git", &tree, &["status", "--porcelain"]);
    // The first one brings the index up to date and the tree into memory.
    ensure!(status()?.is_empty(), "the generated tree differs from its commit");
    let mut git = Vec::new();
    let mut scans = Vec::new();
    for _ in 0..BLOCKS {
        for _ in 0..ROUNDS {
            let begun = Instant::now();
            status()?;
            git.push(begun.elapsed());
        }
        let printed = run_in(stage, drift_scan, &tree, &[".", &ROUNDS.to_string()])?;
        ensure!(!printed.contains("differences"), "the scan finds differences where there are none: {printed}");
        scans.push(Duration::from_secs_f64(reported(&printed, "compare-median")? / 1000.0));
    }
    let (scan, git) = (median(scans), median(git));
    Ok(Row {
        what: "drift scan of 100,000 files against git status, both warm",
        measured: scan.as_secs_f64() / git.as_secs_f64(),
        goal: 1.5,
        unit: Unit::Times,
        how: format!(
            "medians of {} in {BLOCKS} turns: {:.0} and {:.0} ms",
            BLOCKS * ROUNDS,
            milliseconds(scan),
            milliseconds(git)
        ),
    })
}

fn generate(tree: &Path) -> anyhow::Result<()> {
    for number in 0..DIRECTORIES {
        let directory = tree.join(format!("group_{}/package_{number}", number / 40));
        fs::create_dir_all(&directory).with_context(|| format!("cannot create {}", directory.display()))?;
        for file in 0..FILES_EACH {
            let path = directory.join(format!("module_{file}.py"));
            let text = format!("def function_{number}_{file}():\n    return {file}\n");
            fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        }
    }
    Ok(())
}

/// Reads a line such as `compare-median 123.4`.
fn reported(printed: &str, name: &str) -> anyhow::Result<f64> {
    let value = printed.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
    value.with_context(|| format!("the scan does not tell {name}: {printed}"))
}
