//! How a daemon ends: idle, drained, stopped.
//!
//! It must never end under a job, and never begin one while it ends.

use steward_lifecycle::Problem;
use steward_session::{Event, Happened, Steward};

use crate::support::*;

/// A session started in an unindexed repository whose user agreed in advance, and the index waits for its turn.
fn indexing() -> Steward {
    let mut steward = Steward::new(at(0));
    let first = tasks(&mut steward, harness(Happened::SessionStarted), at(0));
    let _inspect = tasks(&mut steward, resolved(request_in(&first)), at(0));
    let _start = tasks(&mut steward, unindexed(), at(0));
    assert_eq!(steward.job_count(), 1);
    steward
}

#[test]
fn nobody_there_for_long_enough_is_the_end() {
    let steward = Steward::new(at(5));

    assert_eq!(steward.deadline(), Some(at(35)));
    assert!(!steward.is_finished(at(34)));
    assert!(steward.is_finished(at(35)));
}

#[test]
fn a_session_keeps_the_daemon() {
    let mut steward = Steward::new(at(0));
    let first = tasks(&mut steward, harness(Happened::SessionStarted), at(0));
    let failed = Box::new(Err(Problem("the directory is gone".to_owned())));
    let _nothing = tasks(&mut steward, Event::Resolved { request: request_in(&first), outcome: failed }, at(1));

    assert!(!steward.is_finished(at(1_000)));

    let _nothing = tasks(&mut steward, Event::HarnessGone(session()), at(1_000));
    assert!(steward.is_finished(at(1_030)));
}

#[test]
fn draining_waits_for_the_job_and_takes_up_nothing_after_it() {
    let mut steward = indexing();

    let _waits = tasks(&mut steward, Event::StopRequested { drain: true }, at(1));
    assert!(!steward.is_finished(at(1)));
    let unreadable = steward_lifecycle::Event::LockProbeFailed(Problem("the lock cannot be read".to_owned()));
    let _over = tasks(&mut steward, workspace(unreadable), at(2));

    assert!(steward.is_finished(at(2)));
    assert_eq!(tasks(&mut steward, harness(Happened::PromptSubmitted), at(3)), Vec::new());
    assert_eq!(steward.deadline(), None);
}

#[test]
fn stopping_gives_up_what_has_not_begun() {
    let mut steward = indexing();

    let _stopped = tasks(&mut steward, Event::StopRequested { drain: false }, at(1));
    let free = steward_lifecycle::Event::LockProbed(steward_ports::LockState::Absent);
    let _over = tasks(&mut steward, workspace(free), at(1));

    assert!(steward.is_finished(at(1)));
}
