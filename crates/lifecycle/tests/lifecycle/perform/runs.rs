//! Starting, following and stopping cgc.

use super::*;

#[test]
fn a_spawn_runs_the_command_of_its_verb() {
    let mut mocks = Mocks::default();
    mocks.graph.expect_command().with(eq(Verb::Index), eq(target())).return_once(|_, _| command());
    mocks.runner.expect_spawn().with(eq(command())).return_once(|_| Ok(GROUP));

    let event = mocks.perform(Task::Spawn { verb: Verb::Index, target: Box::new(target()) });

    assert_eq!(event, Some(Event::Run(RunEvent::Spawned(GROUP))));
}

#[test]
fn a_spawn_that_fails_is_an_event() {
    let mut mocks = Mocks::default();
    mocks.graph.expect_command().return_once(|_, _| command());
    let refused = RunnerError::Spawn { program: PathBuf::from("/venv/bin/cgc"), source: denied() };
    mocks.runner.expect_spawn().return_once(|_| Err(refused));

    let event = mocks.perform(Task::Spawn { verb: Verb::Index, target: Box::new(target()) });

    let problem = problem("/venv/bin/cgc cannot be started");
    assert_eq!(event, Some(Event::Run(RunEvent::SpawnFailed(problem))));
}

#[test]
fn a_line_is_followed_by_what_it_means() {
    let mut mocks = Mocks::default();
    let line = OutputLine { stream: OutputStream::Stdout, text: "Monitoring".to_owned() };
    let said = line.clone();
    mocks.runner.expect_next().with(eq(GROUP)).return_once(|_| Ok(ProcessEvent::Line(said)));
    mocks.graph.expect_milestone().with(eq(Verb::Reconcile), eq(line)).return_once(|_, _| Some(Milestone::Ready));

    let event = mocks.perform(follow());

    let milestone = Some(Milestone::Ready);
    assert_eq!(event, Some(Event::Run(RunEvent::Said { group: GROUP, milestone })));
}

#[test]
fn an_end_is_followed_by_its_verdict() {
    let mut mocks = Mocks::default();
    mocks.runner.expect_next().return_once(|_| Ok(ProcessEvent::Ended(ended())));
    mocks
        .graph
        .expect_verdict()
        .with(eq(Verb::Reconcile), eq(target()), eq(ended()), eq(true))
        .return_once(|_, _, _, _| Verdict::Reconciled);

    let event = mocks.perform(follow());

    assert_eq!(event, Some(Event::Run(RunEvent::Ended { group: GROUP, verdict: Verdict::Reconciled })));
}

#[test]
fn a_group_that_cannot_be_followed_is_an_event() {
    let mut mocks = Mocks::default();
    mocks.runner.expect_next().return_once(|group| Err(RunnerError::Unknown(group)));

    let event = mocks.perform(follow());

    let problem = Problem("process group GroupId(3) is not known".to_owned());
    assert_eq!(event, Some(Event::Run(RunEvent::FollowFailed { group: GROUP, problem })));
}

#[test]
fn a_stop_answers_only_when_it_fails() {
    let mut mocks = Mocks::default();
    mocks.runner.expect_stop().with(eq(GROUP), eq(Stop::Interrupt)).return_once(|_, _| Ok(()));
    assert_eq!(mocks.perform(Task::Stop { group: GROUP, stop: Stop::Interrupt }), None);

    let mut mocks = Mocks::default();
    mocks.runner.expect_stop().return_once(|group, _| Err(RunnerError::Unknown(group)));
    let event = mocks.perform(Task::Stop { group: GROUP, stop: Stop::Interrupt });
    assert_eq!(event, Some(Event::TaskFailed(Problem("process group GroupId(3) is not known".to_owned()))));
}
