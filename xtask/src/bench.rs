//! `cargo xtask bench`: what the companion costs, measured against its goals.
//!
//! Medians, and ratios of what is measured in turns in one run, so that a slow or busy machine changes both sides. It is
//! no test: nothing here runs in `cargo xtask test`, and a missed goal fails only where that is asked for.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

use crate::command::{self, capture, cargo, run as run_command};
use crate::install;
use crate::stage::{Cgc, Stage};
use crate::workspace::Workspace;

mod baseline;
mod harness;
mod idle;
mod machine;
mod processes;
mod report;
mod scan;
mod session;

use harness::Harness;
pub(crate) use harness::{COMMAND as STAND_IN, stand_in};
use report::Row;

/// The file that `--write` renders, relative to the workspace.
const DOCUMENT: &str = "docs/benchmarks.md";

/// What is done with the results.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Options {
    /// Print JSON.
    pub(crate) as_json: bool,
    /// Render the document.
    pub(crate) writes: bool,
    /// Fail where a goal is missed.
    pub(crate) checks: bool,
}

/// The programs that are measured, and those that they are compared with.
#[derive(Debug)]
struct Programs {
    /// Our own, as they are installed.
    installed: PathBuf,
    /// The stand-in for cgc.
    fake_cgc: PathBuf,
    /// Takes a manifest and compares the tree with it.
    drift_scan: PathBuf,
    /// Does nothing.
    empty: PathBuf,
}

/// Measures everything, which takes a few minutes, one of them idle.
pub(crate) fn run(workspace: &Workspace, options: Options) -> anyhow::Result<()> {
    let programs = Programs::build(workspace)?;
    let rows = measure(&programs)?;
    command::print(&if options.as_json { report::json(&rows)? } else { report::text(&rows) })?;
    if options.writes {
        let path = workspace.root().join(DOCUMENT);
        let document = report::document(&rows, &machine::describe()?);
        std::fs::write(&path, document).with_context(|| format!("cannot write {}", path.display()))?;
    }
    let missed = rows.iter().filter(|row| !row.is_within_goal()).count();
    if options.checks && missed > 0 {
        bail!("{missed} goals are missed");
    }
    Ok(())
}

fn measure(programs: &Programs) -> anyhow::Result<Vec<Row>> {
    let stage = Stage::set(&programs.installed, |scratch| Cgc::fake(&programs.fake_cgc, scratch))?;
    let mut harness = Harness::start(&stage)?;

    progress("a workspace of 1,000 files, indexed");
    let repository = session::indexed_workspace(&stage)?;
    progress("session starts without a daemon");
    let mut rows = session::starts(&stage, &mut harness, &repository)?;
    progress("hooks of observed edits, in turns with an empty program");
    rows.extend(session::edits(&stage, &mut harness, &repository, &programs.empty)?);
    progress("one idle minute");
    rows.extend(idle::minute(&stage, &repository)?);
    harness.end()?;
    progress("a tree of 100,000 files");
    rows.push(scan::drift(&stage, &programs.drift_scan)?);
    stage.close()?;
    Ok(rows)
}

/// Tells a person who waits what is being measured; the results go to standard output.
fn progress(what: &str) {
    eprintln!("measuring: {what}");
}

impl Programs {
    fn build(workspace: &Workspace) -> anyhow::Result<Self> {
        let installed = install::private(workspace)?;
        let mut build = cargo();
        build.args(["build", "--release", "--package=steward-fake-cgc", "--package=steward-filesystem"]);
        build.args(["--bin=fake-cgc", "--example=drift_scan"]).current_dir(workspace.root());
        run_command(&mut build)?;
        let release = workspace.target().join("release");
        Ok(Self {
            empty: baseline::build(&workspace.target().join("xtask"))?,
            installed,
            fake_cgc: release.join("fake-cgc"),
            drift_scan: release.join("examples").join("drift_scan"),
        })
    }
}

/// Runs a program of the stage to its end.
fn run_in(stage: &Stage, program: impl AsRef<Path>, directory: &Path, arguments: &[&str]) -> anyhow::Result<String> {
    capture(stage.command(program, directory).args(arguments))
}
