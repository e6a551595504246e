//! Simulated process groups that follow scripts.
//!
//! It must never run a command that the test did not expect, and never end a group without the script or a kill.

use std::collections::{BTreeMap, VecDeque};
use std::ffi::OsString;
use std::future::{Future as _, poll_fn};
use std::io;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Mutex;
use std::task::Poll;
use std::time::Duration;

use async_trait::async_trait;
use steward_ports::{
    Captured, CommandSpec, Ended, Exit, GroupId, OutputLine, OutputStream, ProcessEvent, Runner, RunnerError, Stop,
};
use tokio::sync::watch;

use crate::script::{Gate, Script, ScriptStep, locked};

const SIGKILL: i32 = 9;

/// One request to end a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StopRecord {
    /// The group.
    pub group: GroupId,
    /// How hard.
    pub stop: Stop,
}

#[derive(Debug)]
struct Group {
    program: PathBuf,
    capture_limit: usize,
    steps: VecDeque<ScriptStep>,
    output: Vec<u8>,
    stopped: watch::Sender<Option<Stop>>,
    ended: Option<Ended>,
}

#[derive(Debug, Default)]
struct State {
    expected: VecDeque<Script>,
    spawned: Vec<CommandSpec>,
    stops: Vec<StopRecord>,
    groups: BTreeMap<GroupId, Group>,
    most_at_once: usize,
    left_behind: usize,
}

/// Runs commands by script, in the order in which they are expected.
#[derive(Debug, Default)]
pub struct ScriptedRunner {
    state: Mutex<State>,
}

/// What a group does at its next step.
enum Next {
    Event(ProcessEvent),
    Change(Box<dyn FnOnce() + Send>),
    Wait(watch::Receiver<Option<Stop>>, Stop),
    Pause(watch::Receiver<Option<Stop>>, Gate),
    Lost(PathBuf),
}

impl ScriptedRunner {
    /// Expects one more command.
    pub fn expect(&self, script: Script) {
        locked(&self.state).expected.push_back(script);
    }

    /// Returns the commands that were to be started, oldest first.
    pub fn spawned(&self) -> Vec<CommandSpec> {
        locked(&self.state).spawned.clone()
    }

    /// Returns the requests to end, oldest first.
    pub fn stops(&self) -> Vec<StopRecord> {
        locked(&self.state).stops.clone()
    }

    /// Returns the groups that still live.
    pub fn alive(&self) -> Vec<GroupId> {
        let state = locked(&self.state);
        state.groups.iter().filter(|(_, group)| group.is_alive()).map(|(id, _)| *id).collect()
    }

    /// Returns how many groups lived at the same time at most.
    pub fn most_at_once(&self) -> usize {
        locked(&self.state).most_at_once
    }

    /// Kills every live group, as their guards do when the companion dies.
    pub fn kill_all(&self) {
        let state = locked(&self.state);
        state.groups.values().for_each(|group| {
            group.stopped.send_replace(Some(Stop::Kill));
        });
    }

    /// Lets the next sweep find `processes` of an earlier daemon.
    pub fn leave_behind(&self, processes: usize) {
        locked(&self.state).left_behind = processes;
    }

    /// Returns the arguments of the commands that were expected and never came.
    pub fn outstanding(&self) -> Vec<Vec<OsString>> {
        locked(&self.state).expected.iter().map(|script| script.arguments.clone()).collect()
    }

    fn step(&self, id: GroupId) -> Result<Next, RunnerError> {
        let mut state = locked(&self.state);
        let group = state.groups.get_mut(&id).ok_or(RunnerError::Unknown(id))?;
        if let Some(ended) = &group.ended {
            return Ok(Next::Event(ProcessEvent::Ended(ended.clone())));
        }
        if *group.stopped.borrow() == Some(Stop::Kill) {
            return Ok(Next::Event(group.end(Exit::Signal(SIGKILL))));
        }
        Ok(match group.steps.pop_front() {
            Some(ScriptStep::Line(text)) => Next::Event(group.say(text)),
            Some(ScriptStep::Do(change)) => Next::Change(change),
            Some(ScriptStep::AwaitStop(stop)) if *group.stopped.borrow() < Some(stop) => {
                group.steps.push_front(ScriptStep::AwaitStop(stop));
                Next::Wait(group.stopped.subscribe(), stop)
            }
            Some(ScriptStep::Pause(gate)) if !gate.is_open() && group.stopped.borrow().is_none() => {
                group.steps.push_front(ScriptStep::Pause(gate.clone()));
                Next::Pause(group.stopped.subscribe(), gate)
            }
            // What was waited for is there.
            Some(ScriptStep::AwaitStop(_) | ScriptStep::Pause(_)) => Next::Change(Box::new(|| ())),
            Some(ScriptStep::LoseTrack) => Next::Lost(group.program.clone()),
            Some(ScriptStep::End(exit)) => Next::Event(group.end(exit)),
            None => panic!("the script of {id:?} has no end"),
        })
    }
}

impl Group {
    fn is_alive(&self) -> bool {
        self.ended.is_none() && *self.stopped.borrow() != Some(Stop::Kill)
    }

    fn say(&mut self, text: String) -> ProcessEvent {
        self.output.extend_from_slice(text.as_bytes());
        self.output.push(b'\n');
        ProcessEvent::Line(OutputLine { stream: OutputStream::Stdout, text })
    }

    fn end(&mut self, exit: Exit) -> ProcessEvent {
        let stdout = bounded(&self.output, self.capture_limit);
        let ended = Ended { exit, stdout, stderr: Captured::default(), elapsed: Duration::ZERO };
        self.ended = Some(ended.clone());
        ProcessEvent::Ended(ended)
    }
}

#[async_trait]
impl Runner for ScriptedRunner {
    async fn spawn(&self, command: &CommandSpec) -> Result<GroupId, RunnerError> {
        let mut state = locked(&self.state);
        state.spawned.push(command.clone());
        let Some(script) = state.expected.pop_front() else {
            panic!("no command was expected and {:?} was to be started", command.arguments);
        };
        assert!(
            script.arguments == command.arguments,
            "{:?} was expected and {:?} was to be started",
            script.arguments,
            command.arguments,
        );
        if !script.can_start {
            let source = io::Error::from(io::ErrorKind::PermissionDenied);
            return Err(RunnerError::Spawn { program: command.program.clone(), source });
        }
        let id = GroupId(state.groups.len() as u64 + 1);
        let group = Group {
            program: command.program.clone(),
            capture_limit: command.capture_limit,
            steps: script.steps,
            output: Vec::new(),
            stopped: watch::Sender::new(None),
            ended: None,
        };
        state.groups.insert(id, group);
        let alive = state.groups.values().filter(|group| group.is_alive()).count();
        state.most_at_once = state.most_at_once.max(alive);
        Ok(id)
    }

    async fn next(&self, group: GroupId) -> Result<ProcessEvent, RunnerError> {
        loop {
            match self.step(group)? {
                Next::Event(event) => return Ok(event),
                Next::Change(change) => change(),
                Next::Wait(mut stopped, stop) => {
                    // The sender lives as long as `self`, so an error cannot come.
                    let _stopped = stopped.wait_for(|stopped| *stopped >= Some(stop)).await.is_ok();
                }
                Next::Pause(stopped, gate) => released(stopped, &gate).await,
                Next::Lost(program) => {
                    let source = io::Error::from(io::ErrorKind::Other);
                    return Err(RunnerError::Unreachable { program, source });
                }
            }
        }
    }

    async fn stop(&self, group: GroupId, stop: Stop) -> Result<(), RunnerError> {
        let mut state = locked(&self.state);
        state.stops.push(StopRecord { group, stop });
        let group = state.groups.get(&group).ok_or(RunnerError::Unknown(group))?;
        group.stopped.send_modify(|stopped| *stopped = (*stopped).max(Some(stop)));
        Ok(())
    }

    async fn sweep(&self) -> Result<usize, RunnerError> {
        Ok(std::mem::take(&mut locked(&self.state).left_behind))
    }
}

/// Returns once `gate` is open or an end was asked for.
async fn released(mut stopped: watch::Receiver<Option<Stop>>, gate: &Gate) {
    let mut opened = gate.subscribe();
    let mut open = pin!(opened.wait_for(|is_open| *is_open));
    let mut stop = pin!(stopped.wait_for(Option::is_some));
    poll_fn(|context| {
        let is_released = open.as_mut().poll(context).is_ready() || stop.as_mut().poll(context).is_ready();
        if is_released { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}

/// Keeps half of `limit` from the start and half from the end, as the port promises.
fn bounded(output: &[u8], limit: usize) -> Captured {
    if output.len() <= limit {
        return Captured { head: output.to_vec(), ..Captured::default() };
    }
    let half = limit / 2;
    let tail_start = output.len() - (limit - half);
    Captured { head: output[..half].to_vec(), tail: output[tail_start..].to_vec(), dropped: (tail_start - half) as u64 }
}

#[cfg(test)]
mod tests {
    use std::panic::AssertUnwindSafe;

    use futures::FutureExt as _;
    use steward_ports::Environment;

    use super::*;

    fn command(argument: &str) -> CommandSpec {
        CommandSpec {
            program: PathBuf::from("/bin/cgc"),
            arguments: vec![argument.into()],
            directory: PathBuf::from("/repository"),
            environment: Environment::default(),
            capture_limit: 8,
            orphan_grace: Duration::ZERO,
            niceness: 0,
        }
    }

    fn spawn(runner: &ScriptedRunner, argument: &str) -> GroupId {
        runner.spawn(&command(argument)).now_or_never().expect("a spawn never waits").expect("it can start")
    }

    fn next(runner: &ScriptedRunner, group: GroupId) -> Option<ProcessEvent> {
        runner.next(group).now_or_never().map(|event| event.expect("the group is known"))
    }

    fn stop(runner: &ScriptedRunner, group: GroupId, stop: Stop) {
        runner.stop(group, stop).now_or_never().expect("a stop never waits").expect("the group is known");
    }

    fn exit(event: Option<ProcessEvent>) -> Option<Exit> {
        match event {
            Some(ProcessEvent::Ended(ended)) => Some(ended.exit),
            Some(ProcessEvent::Line(_)) | None => None,
        }
    }

    #[test]
    fn a_group_follows_its_script_and_ends_more_than_once() {
        let runner = ScriptedRunner::default();
        runner.expect(Script::command(&["index"]).says("hello").ends(Exit::Code(3)));

        let group = spawn(&runner, "index");

        let line = OutputLine { stream: OutputStream::Stdout, text: "hello".to_owned() };
        assert_eq!(next(&runner, group), Some(ProcessEvent::Line(line)));
        assert_eq!(runner.alive(), [group]);
        assert_eq!(exit(next(&runner, group)), Some(Exit::Code(3)));
        assert_eq!(exit(next(&runner, group)), Some(Exit::Code(3)));
        assert_eq!(runner.alive(), []);
    }

    #[test]
    fn a_group_that_ignores_an_interrupt_waits_for_something_harder() {
        let runner = ScriptedRunner::default();
        runner.expect(Script::command(&["watch"]).awaits(Stop::Terminate).ends(Exit::Signal(15)));
        let group = spawn(&runner, "watch");

        stop(&runner, group, Stop::Interrupt);
        assert_eq!(next(&runner, group), None);
        stop(&runner, group, Stop::Terminate);

        assert_eq!(exit(next(&runner, group)), Some(Exit::Signal(15)));
    }

    #[test]
    fn a_kill_ends_what_the_script_would_not() {
        let runner = ScriptedRunner::default();
        runner.expect(Script::command(&["watch"]).awaits(Stop::Kill).ends(Exit::Code(0)));
        let group = spawn(&runner, "watch");

        stop(&runner, group, Stop::Kill);

        assert_eq!(exit(next(&runner, group)), Some(Exit::Signal(SIGKILL)));
    }

    #[test]
    fn captured_output_is_bounded() {
        let runner = ScriptedRunner::default();
        runner.expect(Script::command(&["index"]).says("0123456789").ends(Exit::Code(0)));
        let group = spawn(&runner, "index");
        let _line = next(&runner, group);

        let Some(ProcessEvent::Ended(ended)) = next(&runner, group) else { panic!("it ends") };

        let expected = Captured { head: b"0123".to_vec(), tail: b"789\n".to_vec(), dropped: 3 };
        assert_eq!(ended.stdout, expected);
    }

    #[test]
    fn an_unexpected_command_fails_the_test() {
        let runner = ScriptedRunner::default();
        runner.expect(Script::command(&["index"]).ends(Exit::Code(0)));

        let outcome = std::panic::catch_unwind(AssertUnwindSafe(|| spawn(&runner, "update")));

        let message = outcome.expect_err("it panics").downcast::<String>().expect("with a text");
        assert_eq!(*message, r#"["index"] was expected and ["update"] was to be started"#);
    }
}
