//! Carries out one effect of the application through the ports.
//!
//! It must never decide: a failure becomes an event.

use std::path::{Path, PathBuf};

use steward_config::{FileLayer, Layers, MAXIMUM_FILE, PROJECT_FILE, resolve, user_file};
use steward_lifecycle::{Ports, Problem};
use steward_ports::{Environment, FileText};

use crate::event::{Event, Resolution, Task};

/// Carries out `task`. `None` means that there is nothing to answer.
pub async fn perform(task: Task, ports: &Ports) -> Option<Event> {
    match task {
        Task::Resolve { request, directory, environment } => {
            let outcome = Box::new(resolve_directory(&directory, environment, ports).await);
            Some(Event::Resolved { request, outcome })
        }
        Task::WatchHarness { session, process } => match ports.processes.wait_ended(&process).await {
            Ok(()) => Some(Event::HarnessGone(session)),
            Err(error) => Some(Event::TaskFailed(Problem::from_error(&error))),
        },
        Task::Notify { session, notice } => match ports.notifier.notify(&session, &notice).await {
            Ok(()) => None,
            Err(error) => Some(Event::TaskFailed(Problem::from_error(&error))),
        },
        Task::Workspace { root, task } => {
            let event = steward_lifecycle::perform(task, &root, ports).await?;
            Some(Event::Workspace { root, event })
        }
    }
}

async fn resolve_directory(directory: &Path, environment: Environment, ports: &Ports) -> Result<Resolution, Problem> {
    let home = environment.get("HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
    let workspace =
        ports.files.resolve_workspace(directory, home.as_deref()).await.map_err(|error| Problem::from_error(&error))?;
    let user = match user_file(&environment) {
        Some(path) => read_layer(path, ports).await,
        None => None,
    };
    let project = read_layer(workspace.root.as_path().join(PROJECT_FILE), ports).await;
    let settings = resolve(&Layers { user, project, project_trusted: false, environment });
    Ok(Resolution { workspace, settings })
}

async fn read_layer(path: PathBuf, ports: &Ports) -> Option<FileLayer> {
    match ports.files.read_text(&path, MAXIMUM_FILE).await {
        Ok(FileText::Absent) => None,
        Ok(FileText::Text(text)) => Some(FileLayer::text(path, text)),
        Err(error) => Some(FileLayer::unusable(path, Problem::from_error(&error).0)),
    }
}
