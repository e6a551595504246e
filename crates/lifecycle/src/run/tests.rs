//! Rows of one run: what each event does in each phase.

use rstest::rstest;

use super::*;
use crate::samples::target;

const GROUP: GroupId = GroupId(1);
const BUDGET: Duration = Duration::from_secs(30);

fn at(milliseconds: u64) -> Tick {
    Tick::from_millis(milliseconds)
}

fn begin(verb: Verb, backend: Backend) -> Run {
    let (run, task) = Run::begin(verb, target(backend.clone()), BUDGET);
    assert_eq!(task, Task::Spawn { verb, target: Box::new(target(backend)) });
    run
}

fn running(verb: Verb) -> Run {
    let mut run = begin(verb, Backend::Kuzu);
    let step = run.on(RunEvent::Spawned(GROUP), at(0));
    assert_eq!(step, Step::task(run.follow(GROUP)));
    run
}

fn said(milestone: Milestone) -> RunEvent {
    RunEvent::Said { group: GROUP, milestone: Some(milestone) }
}

fn ended(verdict: Verdict) -> RunEvent {
    RunEvent::Ended { group: GROUP, verdict }
}

fn lost() -> RunEvent {
    RunEvent::FollowFailed { group: GROUP, problem: Problem("it is lost".to_owned()) }
}

fn stop(stop: Stop) -> Task {
    Task::Stop { group: GROUP, stop }
}

/// Lets time pass from deadline to deadline, each with the milliseconds at which it came and what was done.
fn wait_out(run: &mut Run) -> Vec<(u64, Vec<Task>)> {
    let mut steps = Vec::new();
    while let Some(deadline) = run.deadline() {
        let milliseconds = u64::try_from(deadline.since_start().as_millis()).expect("a test is short");
        steps.push((milliseconds, run.on(RunEvent::DeadlineReached, deadline).tasks));
    }
    steps
}

#[test]
fn a_run_ends_by_itself_with_what_its_end_means() {
    let mut run = running(Verb::Index);

    let step = run.on(ended(Verdict::Worked), at(1));

    assert_eq!(step, Step { tasks: vec![], end: Some(RunEnd::Verdict(Verdict::Worked)) });
    assert_eq!(run.deadline(), None);
    assert_eq!(run.on(ended(Verdict::Worked), at(2)), Step::default());
}

#[rstest]
#[case::kuzu(Backend::Kuzu, [(30_000, Stop::Interrupt), (33_500, Stop::Terminate), (34_000, Stop::Kill)])]
#[case::server(Backend::Neo4j, [(30_000, Stop::Interrupt), (33_500, Stop::Terminate), (34_000, Stop::Kill)])]
#[case::ladybug(Backend::Ladybug, [(30_000, Stop::Interrupt), (85_000, Stop::Terminate), (87_000, Stop::Kill)])]
fn lc_12_a_run_over_its_budget_is_stopped_step_by_step(#[case] backend: Backend, #[case] steps: [(u64, Stop); 3]) {
    let mut run = begin(Verb::Index, backend);
    let _followed = run.on(RunEvent::Spawned(GROUP), at(0));

    assert_eq!(wait_out(&mut run), steps.map(|(at, harder)| (at, vec![stop(harder)])));
    let step = run.on(ended(Verdict::Interrupted), at(90_000));
    assert_eq!(step.end, Some(RunEnd::TimedOut));
}

#[test]
fn a_deadline_that_is_not_reached_does_nothing() {
    let mut run = running(Verb::Index);

    assert_eq!(run.on(RunEvent::DeadlineReached, at(29_999)), Step::default());
}

#[test]
fn a_reconcile_is_interrupted_at_its_ready_line_and_counts_as_done() {
    let mut run = running(Verb::Reconcile);

    let step = run.on(said(Milestone::Ready), at(5));
    assert_eq!(step.tasks, [stop(Stop::Interrupt), run.follow(GROUP)]);
    assert!(matches!(step.tasks[1], Task::Follow { ready: true, .. }));

    let step = run.on(ended(Verdict::Reconciled), at(9));
    assert_eq!(step.end, Some(RunEnd::Verdict(Verdict::Reconciled)));
}

#[test]
fn a_reconcile_that_ignores_its_planned_interrupt_is_stopped_harder_and_counts_as_done() {
    let mut run = running(Verb::Reconcile);
    let _interrupted = run.on(said(Milestone::Ready), at(0));

    assert_eq!(wait_out(&mut run), [(3500, vec![stop(Stop::Terminate)]), (4000, vec![stop(Stop::Kill)])]);
    let step = run.on(ended(Verdict::Reconciled), at(4100));
    assert_eq!(step.end, Some(RunEnd::Verdict(Verdict::Reconciled)));
}

#[rstest]
#[case::before_its_ready_line(vec![RunEvent::StopRequested], RunEnd::Stopped)]
#[case::after_it(
    vec![said(Milestone::Ready), RunEvent::StopRequested],
    RunEnd::Verdict(Verdict::Reconciled)
)]
#[case::just_before_it(
    vec![RunEvent::StopRequested, said(Milestone::Ready)],
    RunEnd::Verdict(Verdict::Reconciled)
)]
fn a_requested_end_is_an_end_without_success_unless_the_work_was_done(
    #[case] events: Vec<RunEvent>,
    #[case] expected: RunEnd,
) {
    let mut run = running(Verb::Reconcile);
    let mut stops = 0;
    for event in events {
        stops += run.on(event, at(1)).tasks.iter().filter(|task| **task == stop(Stop::Interrupt)).count();
    }

    let step = run.on(ended(Verdict::Reconciled), at(2));

    assert_eq!((step.end, stops), (Some(expected), 1));
}

#[test]
fn a_stop_while_starting_is_sent_once_there_is_somebody_to_send_it_to() {
    let mut run = begin(Verb::Index, Backend::Kuzu);

    assert_eq!(run.on(RunEvent::StopRequested, at(0)), Step::default());
    let step = run.on(RunEvent::Spawned(GROUP), at(1));

    assert_eq!(step.tasks, [run.follow(GROUP), stop(Stop::Interrupt)]);
    assert_eq!(run.on(ended(Verdict::Worked), at(2)).end, Some(RunEnd::Stopped));
}

#[test]
fn a_start_that_fails_ends_the_run() {
    let mut run = begin(Verb::Index, Backend::Kuzu);
    let problem = Problem("no memory".to_owned());

    let step = run.on(RunEvent::SpawnFailed(problem.clone()), at(0));

    assert_eq!(step.end, Some(RunEnd::NotStarted(problem)));
}

#[test]
fn a_group_that_is_lost_is_asked_to_end_gently_and_counts_as_over_only_once_it_was_killed() {
    let mut run = running(Verb::Index);

    let step = run.on(lost(), at(0));
    assert_eq!(step, Step::task(stop(Stop::Interrupt)));
    let step = run.on(RunEvent::DeadlineReached, at(3500));
    assert_eq!(step, Step::task(stop(Stop::Terminate)));
    let step = run.on(RunEvent::DeadlineReached, at(4000));

    let end = Some(RunEnd::Lost(Problem("it is lost".to_owned())));
    assert_eq!(step, Step { tasks: vec![stop(Stop::Kill)], end });
}

#[test]
fn a_group_that_is_lost_after_its_kill_is_over() {
    let mut run = running(Verb::Index);
    wait_out(&mut run);

    assert_eq!(run.on(lost(), at(40_000)).end, Some(RunEnd::Lost(Problem("it is lost".to_owned()))));
}

#[rstest]
#[case::said(RunEvent::Said { group: GroupId(9), milestone: Some(Milestone::Ready) })]
#[case::ended(RunEvent::Ended { group: GroupId(9), verdict: Verdict::Worked })]
#[case::lost(RunEvent::FollowFailed { group: GroupId(9), problem: Problem("it is lost".to_owned()) })]
#[case::started_twice(RunEvent::Spawned(GROUP))]
#[case::not_started_after_all(RunEvent::SpawnFailed(Problem("no memory".to_owned())))]
fn what_belongs_to_another_run_changes_nothing(#[case] event: RunEvent) {
    let mut run = running(Verb::Index);
    let before = run.clone();

    assert_eq!(run.on(event, at(1)), Step::default());
    assert_eq!(run, before);
}

#[test]
fn a_second_group_is_killed() {
    let mut run = running(Verb::Index);
    let group = GroupId(2);

    assert_eq!(run.on(RunEvent::Spawned(group), at(1)), Step::task(Task::Stop { group, stop: Stop::Kill }));
}

#[test]
fn what_cgc_says_is_kept_for_the_status() {
    let mut run = running(Verb::Index);
    assert!(!run.has_begun());

    let _line = run.on(RunEvent::Said { group: GROUP, milestone: None }, at(1));
    assert_eq!((run.has_begun(), run.last_output()), (false, Some(at(1))));
    let _progress = run.on(said(Milestone::Progress { done: 4, total: Some(9) }), at(2));

    assert_eq!((run.has_begun(), run.progress(), run.last_output()), (true, Some((4, Some(9))), Some(at(2))));
}
