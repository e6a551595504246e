//! `cargo xtask test` and `cargo xtask ci`: every check and every test, stage by stage, each with its time.
//!
//! A failed stage does not hide the others, except where those could not run without it.

use std::fmt;
use std::io::{BufRead as _, BufReader, IsTerminal as _, Write as _};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};

use crate::command::{cargo, run as run_command};
use crate::conformance::ResultsFrom;
use crate::provision::Component;
use crate::provision::cargo_tool::DENY;
use crate::test_run::{Profile, Scope, TestRun};
use crate::workspace::Workspace;
use crate::{arch, conformance, leftovers, provision, test_run};

/// How thorough and for whom.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Options {
    pub(crate) profile: Profile,
    /// Property tests try many more cases, and kill tests more moments.
    pub(crate) is_long: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Format,
    Architecture,
    Provision,
    Lints,
    Dependencies,
    Programs,
    DocumentationTests,
    Tests,
    Conformance,
}

impl Stage {
    /// Cheap ones first.
    const ALL: [Self; 9] = [
        Self::Format,
        Self::Architecture,
        Self::Provision,
        Self::Lints,
        Self::Dependencies,
        Self::Programs,
        Self::DocumentationTests,
        Self::Tests,
        Self::Conformance,
    ];

    /// Whether nothing that follows makes sense once this failed.
    fn is_prerequisite(self) -> bool {
        match self {
            Self::Provision | Self::Programs => true,
            Self::Format
            | Self::Architecture
            | Self::Lints
            | Self::Dependencies
            | Self::DocumentationTests
            | Self::Tests
            | Self::Conformance => false,
        }
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Self::Format => "format",
            Self::Architecture => "architecture",
            Self::Provision => "provision",
            Self::Lints => "lints",
            Self::Dependencies => "dependencies",
            Self::Programs => "programs",
            Self::DocumentationTests => "documentation tests",
            Self::Tests => "tests",
            Self::Conformance => "conformance",
        })
    }
}

/// Runs all stages, prints each one's time and the test runner's summary, and fails where a stage failed.
pub(crate) fn run(workspace: &Workspace, options: Options) -> anyhow::Result<()> {
    let mut lines = Vec::new();
    let mut failed = Vec::new();
    let mut summary = None;
    for stage in Stage::ALL {
        println!("==> {stage}");
        let begun = Instant::now();
        let outcome = perform(workspace, options, stage, &mut summary);
        let verdict = if outcome.is_ok() { "ok" } else { "FAILED" };
        lines.push(stage_line(stage, begun.elapsed(), verdict));
        if let Err(error) = outcome {
            eprintln!("error in {stage}: {error:#}");
            failed.push(stage.to_string());
            if stage.is_prerequisite() {
                break;
            }
        }
    }
    println!("\n{}", lines.join("\n"));
    if let Some(summary) = summary {
        println!("{summary}");
    }
    if !failed.is_empty() {
        bail!("failed: {}", failed.join(", "));
    }
    Ok(())
}

fn stage_line(stage: Stage, took: Duration, verdict: &str) -> String {
    format!("{stage:<20} {:>8.1} s  {verdict}", took.as_secs_f64())
}

fn perform(workspace: &Workspace, options: Options, stage: Stage, summary: &mut Option<String>) -> anyhow::Result<()> {
    let run_cargo = |arguments: &[&str]| run_command(cargo().args(arguments).current_dir(workspace.root()));
    match stage {
        Stage::Format => run_cargo(&["fmt", "--all", "--check"]),
        Stage::Architecture => {
            // Fetched for all platforms, since the checks without a network below look at every locked dependency.
            run_cargo(&["fetch", "--locked", "--quiet"])?;
            arch::run(workspace)
        }
        Stage::Provision => provision::provision(workspace, &Component::ALL),
        Stage::Lints => run_cargo(&["clippy", "--workspace", "--all-targets", "--locked", "--", "--deny", "warnings"]),
        Stage::Dependencies => {
            let checks = ["--offline", "check", "bans", "licenses", "sources"];
            run_command(DENY.command(workspace)?.args(checks))
        }
        Stage::Programs => test_run::build_programs(workspace),
        Stage::DocumentationTests => run_cargo(&["test", "--workspace", "--doc", "--locked", "--quiet"]),
        Stage::Tests => run_tests(workspace, options, summary),
        Stage::Conformance => conformance::run(workspace, ResultsFrom::EarlierRun(options.profile), false),
    }
}

fn run_tests(workspace: &Workspace, options: Options, summary: &mut Option<String>) -> anyhow::Result<()> {
    let test_run = TestRun::new(workspace, Scope::Workspace, options.profile)?;
    test_run.discard_report()?;
    let mut command = test_run.run_command()?.context("the workspace has no packages")?;
    if options.is_long {
        command.env("STEWARD_TEST_LONG", "1").env("PROPTEST_CASES", "4096");
    }
    let marker = leftovers::mark(&mut command);
    let outcome = run_and_find_summary(&mut command, summary);
    let left = leftovers::wait_until_gone(&marker);
    if left.is_empty() {
        return outcome;
    }
    let running = format!("the tests left processes running:\n{}", left.join("\n"));
    Err(match outcome {
        Ok(()) => anyhow::Error::msg(running),
        Err(error) => error.context(running),
    })
}

/// Runs the test runner with its messages passed through, and keeps the line that sums the run up.
fn run_and_find_summary(command: &mut Command, summary: &mut Option<String>) -> anyhow::Result<()> {
    if std::io::stderr().is_terminal() {
        command.args(["--color", "always"]);
    }
    let mut child = command.stderr(Stdio::piped()).spawn().context("cannot start the test runner")?;
    let messages = child.stderr.take().context("the test runner has no standard error")?;
    for line in BufReader::new(messages).split(b'\n') {
        let line = line.context("cannot read the test runner's messages")?;
        let text = String::from_utf8_lossy(&line);
        if is_summary(&text) {
            *summary = Some(text.trim().to_owned());
        }
        writeln!(std::io::stderr(), "{text}").context("cannot pass the test runner's messages on")?;
    }
    let status = child.wait().context("cannot wait for the test runner")?;
    if !status.success() {
        bail!("tests failed ({status})");
    }
    Ok(())
}

/// nextest 0.9.143 ends with `     Summary [   0.123s] 8 tests run: 8 passed, 0 skipped`.
fn is_summary(line: &str) -> bool {
    line.contains("Summary") && (line.contains("tests run:") || line.contains("test run:"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_is_told_from_other_lines() {
        assert!(is_summary("     Summary [   0.123s] 8 tests run: 8 passed, 0 skipped"));
        assert!(is_summary("\u{1b}[32;1m     Summary\u{1b}[0m [   0.1s] 1 test run: 1 passed, 0 skipped"));
        assert!(!is_summary("        PASS [   0.004s] xtask::bin/xtask summary"));
    }
}
