//! `cargo xtask demo`: the main job on a real repository, with a real Claude Code and the real cgc, told step by step.
//!
//! Each step is checked, and the first that does not hold ends the demonstration with a failure. Only a copy of the
//! repository is touched, and nothing is left running.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use serde_json::Value;
use steward_harness_stubs::{ClaudeCode, Gate, ScriptedModel, Step, tools};

use crate::install;
use crate::provision::{self, Component};
use crate::stage::{Cgc, Stage};
use crate::workspace::Workspace;

mod indexing;
mod session;
mod source;

use session::{HookCall, Session};
use source::Source;

/// How long cgc may take for a graph. Beyond any repository that somebody would try this on.
const INDEXED_WITHIN: Duration = Duration::from_hours(1);

/// How long anything else may take on a loaded machine.
const BOUND: Duration = Duration::from_mins(1);

/// What the model must never hear of: a notice is for the human.
const NOTICE: &str = "code graph";

/// Shows the main job on a copy of the repository at `path`, by default on a part of this one.
pub(crate) fn run(workspace: &Workspace, path: Option<PathBuf>) -> anyhow::Result<()> {
    let begun = Instant::now();
    heading("What is needed: cgc, its grammars and Claude Code, all pinned; our own programs as they are installed");
    provision::provision(workspace, &[Component::Cgc, Component::ClaudeCode])?;
    let programs = install::private(workspace)?;
    println!("Programs in {}", programs.display());

    let stage = Stage::set(&programs, |scratch| Cgc::real(workspace, scratch))?;
    let source = path.map_or_else(|| Source::part_of(workspace), |path| Ok(Source::whole(path)))?;
    let repository = stage.scratch().directory("work")?.join(source.name());
    heading("A real repository");
    let files = source.copy_to(&repository)?;
    stage.commit_all(&repository)?;
    println!("{files} files of {source}, copied to {}", repository.display());

    heading("Wiring Claude Code: steward install claude-code --yes");
    let wired = stage.steward(&repository, &["install", "claude-code", "--yes"])?;
    println!("{}", last_line(&wired));

    let mut hooks = first_session(workspace, &stage, &repository)?;
    hooks.extend(second_session(workspace, &stage, &repository)?);

    heading("What the companion cost the agent");
    print!("{}", session::table(&hooks));
    let starts = stage.cgc().starts()?;
    stage.close()?;
    println!("\ncgc was started {starts} times in all, each time for the index; no process is left.");
    println!("Shown in {:.0} s.", begun.elapsed().as_secs_f64());
    Ok(())
}

/// A session on a workspace without a graph: the human is told, agrees, and the graph is made while the agent works.
fn first_session(workspace: &Workspace, stage: &Stage, repository: &Path) -> anyhow::Result<Vec<HookCall>> {
    heading("First session: Claude Code starts on a workspace without a graph");
    let gate = Gate::closed();
    let model = ScriptedModel::start([
        Step::calls([tools::bash("git log --oneline")]),
        Step::calls([tools::bash("git status --short")]).held_by(&gate),
        Step::text("I have looked around."),
    ])?;
    let mut session = Session::start(&claude(workspace, stage, &model)?, repository, "first")?;
    let start = session.wait_for_hook("SessionStart", BOUND)?;
    let notice = start.message().context("Claude Code shows the human nothing at the start")?.to_owned();
    println!("Claude Code shows:\n{}", indented(&notice));
    ensure!(notice.contains("has no code graph yet"), "the notice does not say that there is no graph");
    session.wait_for_hook("PostToolUse", BOUND)?;
    let status = stage.wait_for_state(repository, "unindexed", BOUND)?;
    println!("The agent works. The state is {}, cgc was started {} times.", status["state"], stage.cgc().starts()?);
    ensure!(stage.cgc().starts()? == 0, "cgc was started before anybody agreed to it");

    heading("The human agrees: steward index --yes --wait");
    let said = indexing::run(stage, repository, INDEXED_WITHIN)?;
    println!("{said}");
    let status = stage.wait_for_state(repository, "clean", BOUND)?;
    describe_graph(&status)?;
    let starts = stage.cgc().starts()?;

    heading("The agent goes on, and the first session ends");
    gate.open();
    let hooks = session.finish(BOUND)?;
    for message in hooks.iter().skip(1).filter_map(HookCall::message) {
        println!("Claude Code shows:\n{}", indented(message));
    }
    let status = stage.wait_for_state(repository, "clean", BOUND)?;
    println!("The agent ran git twice. The state is still {}.", status["state"]);
    ensure!(stage.cgc().starts()? == starts, "cgc was started although nothing had changed");
    ensure!(model.requests_with(NOTICE) == 0, "the model was told what is for the human");
    println!("The model was asked {} times and heard nothing of it.", model.conversation().len());
    Ok(hooks)
}

/// A session on a workspace whose graph is current: nothing is said, and nothing is done.
fn second_session(workspace: &Workspace, stage: &Stage, repository: &Path) -> anyhow::Result<Vec<HookCall>> {
    heading("Second session: the graph is current, and no daemon is running");
    stage.stop_daemon()?;
    let starts = stage.cgc().starts()?;
    let gate = Gate::closed();
    let model = ScriptedModel::start([Step::text("All is well.").held_by(&gate)])?;
    let mut session = Session::start(&claude(workspace, stage, &model)?, repository, "second")?;
    let start = session.wait_for_hook("SessionStart", BOUND)?;
    if let Some(notice) = start.message() {
        bail!("the human is told something at a clean start: {notice}");
    }
    let status = stage.wait_for_state(repository, "clean", BOUND)?;
    let sessions = status["sessions"].as_array().map_or(0, Vec::len);
    ensure!(sessions == 1, "the daemon knows {sessions} sessions");
    gate.open();
    let hooks = session.finish(BOUND)?;
    let started = stage.cgc().starts()? - starts;
    ensure!(started == 0, "a clean start and a turn started cgc {started} times");
    println!("Nothing was shown, the state was clean from the start, cgc was started 0 times.");
    Ok(hooks)
}

fn claude(workspace: &Workspace, stage: &Stage, model: &ScriptedModel) -> anyhow::Result<ClaudeCode> {
    let executable = provision::claude_code::executable(workspace);
    let mut claude = ClaudeCode::with_executable(executable, stage.scratch(), model)?;
    for (name, value) in stage.environment() {
        claude.set(name, value);
    }
    Ok(claude)
}

fn describe_graph(status: &Value) -> anyhow::Result<()> {
    let receipt = status["receipt"].as_object().context("the status shows no receipt")?;
    println!("The state is {}: {}", status["state"], text(&status["freshness"]["reason"]));
    println!(
        "Receipt: {} files at commit {:.12}, cgc {}, {} in {}",
        receipt["files"],
        text(&receipt["commit"]),
        text(&receipt["cgcVersion"]),
        text(&status["backend"]["name"]),
        text(&status["backend"]["database"]),
    );
    ensure!(receipt["files"].as_u64().is_some_and(|files| files > 0), "the graph holds no file");
    Ok(())
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or("nothing")
}

fn heading(words: &str) {
    println!("\n== {words}");
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("    {line}")).collect::<Vec<_>>().join("\n")
}

fn last_line(text: &str) -> &str {
    text.trim_end().lines().next_back().unwrap_or_default()
}
