//! `steward doctor`.
//!
//! It must never change anything outside the companion's own state: what is broken is named with the next step, never
//! mended, and cgc's own doctor, which writes its settings file, gets a throw-away home.

mod cgc_report;
mod companion;
mod finding;
mod graph;
mod wiring;

use std::path::Path;

use serde_json::json;
use steward_ports::Environment;
use steward_session::{Event, Ports, RequestId, Resolution, Task, perform};
use steward_wire::StatusReport;

use crate::failure::Failure;
use crate::ports::{machine_ports, on_runtime};
use crate::status::report;
use crate::surroundings::Surroundings;
use crate::terminal::Terminal;
use cgc_report::CgcReport;
use finding::{Finding, Verdict};

/// What the checks look at.
struct Subject<'a> {
    surroundings: &'a Surroundings,
    ports: &'a Ports,
    environment: Environment,
    resolution: Resolution,
    report: Result<StatusReport, Failure>,
}

/// Looks at everything that the companion needs for the workspace of `path`, or of the current directory.
pub(crate) fn doctor(
    surroundings: &Surroundings,
    terminal: &mut Terminal,
    json: bool,
    path: Option<&Path>,
) -> Result<(), Failure> {
    let directory = surroundings.directory(path)?;
    let report = report(surroundings, directory.clone());
    let (findings, report) = on_runtime(async {
        let ports = machine_ports(surroundings).await?;
        let environment: Environment =
            surroundings.forwarded().into_iter().map(|(name, value)| (name.into(), value.into())).collect();
        let resolution = resolve(&ports, &directory, &environment).await?;
        let subject = Subject { surroundings, ports: &ports, environment, resolution, report };
        let mut findings = companion::look(&subject);
        let (graph, target) = graph::look(&subject).await;
        findings.extend(graph);
        findings.extend(wiring::look(&subject).await);
        let report = match target {
            Some(target) => Some(cgc_report::ask(&subject, &target).await),
            None => None,
        };
        Ok((findings, report))
    })?;
    let failed = findings.iter().filter(|finding| finding.verdict == Verdict::Fail).count();
    if json {
        terminal.say(
            &json!({"healthy": failed == 0, "checks": findings, "cgcDoctor": report.as_ref().map(as_json)}).to_string(),
        );
    } else {
        show(terminal, &findings, report.as_ref());
    }
    match failed {
        0 => Ok(()),
        1 => Err(Failure::new("one check failed")),
        _ => Err(Failure::new(format!("{failed} checks failed"))),
    }
}

async fn resolve(ports: &Ports, directory: &Path, environment: &Environment) -> Result<Resolution, Failure> {
    let task =
        Task::Resolve { request: RequestId(0), directory: directory.to_owned(), environment: environment.clone() };
    match perform(task, ports).await {
        Some(Event::Resolved { outcome, .. }) => outcome.map_err(|problem| Failure::new(problem.0)),
        Some(_) | None => Err(Failure::new("the workspace cannot be found out")),
    }
}

fn as_json(report: &CgcReport) -> serde_json::Value {
    match report {
        Ok(said) => json!({"end": said.end, "text": said.text, "problem": null}),
        Err(problem) => json!({"end": null, "text": null, "problem": problem}),
    }
}

fn show(terminal: &mut Terminal, findings: &[Finding], report: Option<&CgcReport>) {
    for finding in findings {
        terminal.say(&finding.render());
    }
    match report {
        Some(Ok(report)) => terminal.say(&format!("\ncgc's own doctor {}:\n{}", report.end, report.text)),
        Some(Err(problem)) => terminal.say(&format!("\ncgc's own doctor could not be asked: {problem}")),
        None => {}
    }
}
