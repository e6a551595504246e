//! A Claude Code session without a screen, followed while it goes on, and how long each hook held it up.
//!
//! The times are Claude Code's own: from the line that says that a hook was started to the line that says what it answered.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use serde_json::Value;
use steward_harness_stubs::{ClaudeCode, Permissions, wait_for};

/// A hook that Claude Code ran.
#[derive(Debug, Clone)]
pub(super) struct HookCall {
    session: &'static str,
    event: String,
    held_up: Duration,
    message: Option<String>,
}

impl HookCall {
    /// What the human is shown.
    pub(super) fn message(&self) -> Option<&str> {
        self.message.as_deref()
    }
}

/// A running session. Dropping it ends it.
#[derive(Debug)]
pub(super) struct Session {
    name: &'static str,
    child: Child,
    lines: Receiver<(Instant, String)>,
    started: Vec<(String, Instant)>,
    calls: Vec<HookCall>,
}

impl Session {
    /// Starts Claude Code with one prompt in `directory`; it may do everything.
    pub(super) fn start(claude: &ClaudeCode, directory: &Path, name: &'static str) -> anyhow::Result<Self> {
        let mut command = claude.headless_command(directory, "Look around.", Permissions::Bypass);
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("cannot start {}", command.get_program().to_string_lossy()))?;
        let output = child.stdout.take().context("Claude Code has no output")?;
        let (sender, lines) = channel();
        // It ends with the output, which ends with the session.
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if sender.send((Instant::now(), line)).is_err() {
                    break;
                }
            }
        });
        Ok(Self { name, child, lines, started: Vec::new(), calls: Vec::new() })
    }

    /// Waits until the next hook of this event has answered.
    pub(super) fn wait_for_hook(&mut self, event: &str, bound: Duration) -> anyhow::Result<HookCall> {
        let end = Instant::now() + bound;
        loop {
            let Some(line) = self.next_line(end)? else {
                bail!("the session ended before the hook for {event}");
            };
            if let Some(call) = self.take_in(line)?
                && call.event == event
            {
                return Ok(call);
            }
        }
    }

    /// Waits until the session has ended, which must be well, and returns all hooks that it ran.
    pub(super) fn finish(mut self, bound: Duration) -> anyhow::Result<Vec<HookCall>> {
        let end = Instant::now() + bound;
        while let Some(line) = self.next_line(end)? {
            self.take_in(line)?;
        }
        let ended = wait_for(bound, || self.child.try_wait().transpose());
        let status = ended.context("Claude Code does not end")?.context("cannot wait for Claude Code")?;
        ensure!(status.success(), "Claude Code failed ({status})");
        ensure!(self.started.is_empty(), "hooks never answered: {:?}", self.started);
        Ok(std::mem::take(&mut self.calls))
    }

    fn next_line(&self, end: Instant) -> anyhow::Result<Option<(Instant, String)>> {
        match self.lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
            Ok(line) => Ok(Some(line)),
            Err(RecvTimeoutError::Disconnected) => Ok(None),
            Err(RecvTimeoutError::Timeout) => bail!("Claude Code says nothing more and does not end"),
        }
    }

    /// Notes one line of the stream; returns the hook that it ends.
    fn take_in(&mut self, (at, line): (Instant, String)) -> anyhow::Result<Option<HookCall>> {
        let Ok(event) = serde_json::from_str::<Value>(&line) else {
            bail!("Claude Code printed a line that is no JSON: {line}");
        };
        let id = event["hook_id"].as_str().unwrap_or_default();
        match event["subtype"].as_str() {
            Some("hook_started") => {
                self.started.push((id.to_owned(), at));
                Ok(None)
            }
            Some("hook_response") => {
                let position = self.started.iter().position(|(started, _)| started == id);
                let (_, begun) = self.started.swap_remove(position.context("a hook answered that was not started")?);
                let call = hook_call(self.name, &event, at - begun)?;
                self.calls.push(call.clone());
                Ok(Some(call))
            }
            Some(_) | None => Ok(None),
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // Both fail only where it has ended already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn hook_call(session: &'static str, event: &Value, held_up: Duration) -> anyhow::Result<HookCall> {
    let name = event["hook_event"].as_str().unwrap_or_default().to_owned();
    ensure!(event["exit_code"] == 0, "the hook for {name} did not exit with 0: {event}");
    let stdout = event["stdout"].as_str().unwrap_or_default();
    let message = if stdout.is_empty() {
        None
    } else {
        let answer: Value = serde_json::from_str(stdout).with_context(|| format!("the hook printed {stdout}"))?;
        answer["systemMessage"].as_str().map(str::to_owned)
    };
    Ok(HookCall { session, event: name, held_up, message })
}

/// The hooks, with how long each held the agent up.
pub(super) fn table(calls: &[HookCall]) -> String {
    let mut text = String::new();
    let mut line = |session: &str, event: &str, held_up: Duration| {
        let milliseconds = held_up.as_secs_f64() * 1000.0;
        // Writing to a string cannot fail.
        let _written = writeln!(text, "{session:<8} {event:<18} {milliseconds:>6.1} ms").is_ok();
    };
    for call in calls {
        line(call.session, &call.event, call.held_up);
    }
    line("both", "all hooks", calls.iter().map(|call| call.held_up).sum());
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_hook_that_says_something_is_told_from_a_silent_one() {
        let said = json!({ "hook_event": "SessionStart", "exit_code": 0, "stdout": r#"{"systemMessage": "hear"}"# });
        let silent = json!({ "hook_event": "Stop", "exit_code": 0, "stdout": "" });

        let said = hook_call("first", &said, Duration::from_millis(5)).unwrap();
        let silent = hook_call("first", &silent, Duration::from_micros(1500)).unwrap();

        assert_eq!((said.message(), silent.message()), (Some("hear"), None));
        let expected = "first    SessionStart          5.0 ms\nfirst    Stop                  1.5 ms\n\
                        both     all hooks             6.5 ms\n";
        assert_eq!(table(&[said, silent]), expected);
    }

    #[test]
    fn a_hook_that_fails_is_no_success() {
        let failed = json!({ "hook_event": "Stop", "exit_code": 2, "stdout": "" });

        assert!(hook_call("first", &failed, Duration::ZERO).is_err());
    }
}
