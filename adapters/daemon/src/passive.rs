//! The status without a daemon: the same machine, asked once, with nobody there.
//!
//! It must never start cgc or a daemon, and never write.

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;

use steward_session::{ClientAnswer, ClientId, Effect, Event, Ports, StatusQuestion, Steward, perform};
use steward_wire::StatusReport;

use crate::report::{Now, report, unknown};
use crate::translate::environment;

/// Returns the status of `directory`'s workspace from records and the working tree alone.
pub async fn passive_status(directory: PathBuf, variables: &BTreeMap<String, String>, ports: &Ports) -> StatusReport {
    let mut steward = Steward::new(ports.clock.now());
    let question =
        StatusQuestion { client: ClientId(0), directory: directory.clone(), environment: environment(variables) };
    let mut events = VecDeque::from([Event::StatusRequested(question)]);
    while let Some(event) = events.pop_front() {
        for effect in steward.on(event, ports.clock.now()) {
            let answer = match effect {
                Effect::Task(task) => {
                    events.extend(perform(task, ports).await);
                    continue;
                }
                Effect::Answer { answer, .. } => answer,
            };
            let now = Now { tick: ports.clock.now(), wall: ports.clock.wall() };
            return match answer {
                ClientAnswer::StatusReady(root) => match steward.status(&root) {
                    Some(view) => report(view, Vec::new(), None, now),
                    None => unknown(directory, "the workspace is not known", now),
                },
                ClientAnswer::StatusFailed(problem) => unknown(directory, &problem.0, now),
                ClientAnswer::Job { .. } => unknown(directory, "an answer to another question came", now),
            };
        }
    }
    let now = Now { tick: ports.clock.now(), wall: ports.clock.wall() };
    unknown(directory, "no answer could be had", now)
}
