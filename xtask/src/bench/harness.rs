//! A process that stands for the harness: hooks are its children and sessions are keyed by it, as with the real one.
//!
//! It is this program under the harness's name, since the hook looks for that name among its ancestors and would find
//! whatever runs the benchmark otherwise. It ends when its input does.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::stage::Stage;

/// The command by which this program becomes the stand-in.
pub(crate) const COMMAND: &str = "stand-in-for-a-harness";

/// Asks for programs to be run in turns, each with the same input.
#[derive(Debug, Serialize, Deserialize)]
struct Order {
    programs: Vec<(PathBuf, Vec<String>)>,
    input: PathBuf,
    rounds: usize,
}

/// How long each run of each program took, and what the last run of the last program printed.
#[derive(Debug, Serialize, Deserialize)]
struct Outcome {
    nanoseconds: Vec<Vec<u64>>,
    printed: String,
    failure: Option<String>,
}

/// The stand-in, running. Dropping it ends it.
#[derive(Debug)]
pub(super) struct Harness {
    child: Child,
    orders: Option<ChildStdin>,
    outcomes: BufReader<ChildStdout>,
    hook: PathBuf,
    input: PathBuf,
}

/// What a run of hooks came to.
#[derive(Debug)]
pub(super) struct Runs {
    /// How long each took.
    pub(super) times: Vec<Duration>,
    /// The same for the program that it was compared with.
    pub(super) compared: Vec<Duration>,
    /// What the last hook printed.
    pub(super) printed: String,
}

impl Harness {
    pub(super) fn start(stage: &Stage) -> anyhow::Result<Self> {
        let own = std::env::current_exe().context("cannot find this program")?;
        let program = stage.scratch().directory("harness")?.join("claude");
        symlink(&own, &program).with_context(|| format!("cannot link {}", program.display()))?;
        let mut command = stage.command(&program, stage.scratch().path());
        command.arg(COMMAND).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().with_context(|| format!("cannot start {}", program.display()))?;
        Ok(Self {
            orders: child.stdin.take(),
            outcomes: BufReader::new(child.stdout.take().context("the stand-in has no output")?),
            child,
            hook: stage.program("steward-claude-code"),
            input: stage.scratch().path().join("event.json"),
        })
    }

    /// Hands an event to the hook `rounds` times, in turns with `compared` where there is one.
    pub(super) fn event(
        &mut self,
        directory: &Path,
        name: &str,
        fields: &Value,
        rounds: usize,
        compared: Option<&Path>,
    ) -> anyhow::Result<Runs> {
        let mut payload = json!({
            "session_id": "bench",
            "transcript_path": directory.join("transcript.jsonl"),
            "cwd": directory,
            "hook_event_name": name,
        });
        for (key, value) in fields.as_object().into_iter().flatten() {
            payload[key] = value.clone();
        }
        std::fs::write(&self.input, payload.to_string())
            .with_context(|| format!("cannot write {}", self.input.display()))?;
        let programs = compared
            .map(|program| (program.to_path_buf(), Vec::new()))
            .into_iter()
            .chain([(self.hook.clone(), vec!["hook".to_owned()])])
            .collect();
        let mut outcome = self.order(&Order { programs, input: self.input.clone(), rounds })?;
        if let Some(failure) = outcome.failure {
            bail!("{failure}");
        }
        let mut times = || -> Vec<Duration> {
            outcome.nanoseconds.pop().unwrap_or_default().into_iter().map(Duration::from_nanos).collect()
        };
        Ok(Runs { times: times(), compared: times(), printed: outcome.printed })
    }

    /// Ends the process, and with it its session.
    pub(super) fn end(mut self) -> anyhow::Result<()> {
        drop(self.orders.take());
        let status = self.child.wait().context("cannot wait for the stand-in")?;
        ensure!(status.success(), "the stand-in failed ({status})");
        Ok(())
    }

    fn order(&mut self, order: &Order) -> anyhow::Result<Outcome> {
        let orders = self.orders.as_mut().context("the stand-in has been ended")?;
        let mut exchange = || -> io::Result<Outcome> {
            let mut line = serde_json::to_vec(order)?;
            line.push(b'\n');
            orders.write_all(&line)?;
            let mut answer = String::new();
            self.outcomes.read_line(&mut answer)?;
            Ok(serde_json::from_str(&answer)?)
        };
        exchange().context("the stand-in broke off")
    }
}

impl Drop for Harness {
    fn drop(&mut self) {
        // Both fail only where it has ended already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// What the stand-in does: orders from standard input, outcomes to standard output.
pub(crate) fn stand_in() -> anyhow::Result<()> {
    let mut output = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let order: Order = serde_json::from_str(&line.context("orders cannot be read")?).context("a garbled order")?;
        let mut outcome =
            Outcome { nanoseconds: vec![Vec::new(); order.programs.len()], printed: String::new(), failure: None };
        if let Err(error) = carry_out(&order, &mut outcome) {
            outcome.failure = Some(format!("{error:#}"));
        }
        let answer = serde_json::to_string(&outcome).context("an outcome cannot be written")?;
        writeln!(output, "{answer}").and_then(|()| output.flush()).context("outcomes cannot be written")?;
    }
    Ok(())
}

fn carry_out(order: &Order, outcome: &mut Outcome) -> anyhow::Result<()> {
    for _ in 0..order.rounds {
        for ((program, arguments), times) in order.programs.iter().zip(&mut outcome.nanoseconds) {
            let input = File::open(&order.input).with_context(|| format!("cannot open {}", order.input.display()))?;
            let mut command = Command::new(program);
            command.args(arguments).stdin(input).stdout(Stdio::piped()).stderr(Stdio::null());
            let (elapsed, printed) = time(&mut command).with_context(|| format!("cannot run {}", program.display()))?;
            times.push(u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX));
            outcome.printed = printed;
        }
    }
    Ok(())
}

/// Runs a program as harnesses run hooks: until it has ended and nothing holds its output open.
fn time(command: &mut Command) -> anyhow::Result<(Duration, String)> {
    let begun = Instant::now();
    let mut child = command.spawn()?;
    let mut printed = String::new();
    child.stdout.take().context("there is no output")?.read_to_string(&mut printed)?;
    let status = child.wait()?;
    let elapsed = begun.elapsed();
    ensure!(status.success(), "it failed ({status})");
    Ok((elapsed, printed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_run_in_turns_with_the_same_input() {
        let scratch = tempfile::tempdir().unwrap();
        let input = scratch.path().join("input");
        let record = scratch.path().join("record");
        std::fs::write(&input, "same").unwrap();
        let script = |name: &str| {
            let text = format!("echo {name} >>{}; cat; echo {name}", record.display());
            (PathBuf::from("/bin/sh"), vec!["-c".to_owned(), text])
        };
        let order = Order { programs: vec![script("first"), script("second")], input, rounds: 2 };
        let mut outcome = Outcome { nanoseconds: vec![Vec::new(); 2], printed: String::new(), failure: None };

        carry_out(&order, &mut outcome).unwrap();

        assert_eq!(outcome.nanoseconds.iter().map(Vec::len).collect::<Vec<_>>(), [2, 2]);
        assert_eq!(outcome.printed, "samesecond\n");
        assert_eq!(std::fs::read_to_string(record).unwrap(), "first\nsecond\nfirst\nsecond\n");
    }

    #[test]
    fn a_program_that_fails_is_not_timed() {
        assert!(time(Command::new("false").stdout(Stdio::piped())).is_err());
    }
}
