//! Sample sessions and answers, and a way to hear several events.

use std::path::PathBuf;
use std::time::Duration;

use steward_config::{Layers, resolve};
use steward_lifecycle::Inspection;
use steward_ports::{
    Backend, ContextMode, Environment, Exclusions, GraphFacts, GraphLocation, Installation, ProcessIdentity, Record,
    SessionId, Tick, Workspace, WorkspaceKind, WorkspaceRoot,
};
use steward_session::{Effect, Event, Happened, RequestId, Resolution, SessionFacts, Steward, Task};

pub(crate) fn at(seconds: u64) -> Tick {
    Tick::new(Duration::from_secs(seconds))
}

pub(crate) fn root() -> WorkspaceRoot {
    WorkspaceRoot::from_canonical(PathBuf::from("/home/ada/shop"))
}

pub(crate) fn session() -> SessionId {
    SessionId::new("claude-code:10:20")
}

pub(crate) fn harness(happened: Happened) -> Event {
    let process = ProcessIdentity { pid: 10, start_time: 20, boot_id: "boot".to_owned() };
    let facts = SessionFacts {
        id: session(),
        process,
        directory: PathBuf::from("/home/ada/shop/src"),
        environment: Environment::default(),
    };
    Event::Harness { session: facts, happened }
}

pub(crate) fn resolved(request: RequestId) -> Event {
    let kind = WorkspaceKind::Repository { common_directory: PathBuf::from("/home/ada/shop/.git"), worktree: None };
    let workspace = Workspace { root: root(), kind };
    let layers = Layers { environment: auto_create(), ..Layers::default() };
    Event::Resolved { request, outcome: Box::new(Ok(Resolution { workspace, settings: resolve(&layers) })) }
}

fn auto_create() -> Environment {
    let mut environment = Environment::default();
    environment.set("CGC_LIFECYCLE_AUTO_CREATE", "true");
    environment
}

pub(crate) fn unindexed() -> Event {
    let location = GraphLocation {
        backend: Backend::Kuzu,
        backend_source: "file magic".to_owned(),
        requested: None,
        database: Some(PathBuf::from("/home/db")),
        context: None,
        mode: ContextMode::Global,
        exclusions: Exclusions::default(),
    };
    let facts = GraphFacts {
        installation: Installation { executable: PathBuf::from("/bin/cgc"), interpreter: None, version: None },
        location,
        database: None,
        certainly_unindexed: true,
        unreadable_magic: false,
        grammars_missing: false,
    };
    let inspection = Inspection {
        facts: Ok(facts),
        lock: None,
        record: Record::default(),
        intent_is_foreign: false,
        problems: Vec::new(),
    };
    workspace(steward_lifecycle::Event::Inspected(Box::new(inspection)))
}

pub(crate) fn workspace(event: steward_lifecycle::Event) -> Event {
    Event::Workspace { root: root(), event }
}

/// Hears `event` and returns the tasks that follow.
pub(crate) fn tasks(steward: &mut Steward, event: Event, now: Tick) -> Vec<Task> {
    let task = |effect| match effect {
        Effect::Task(task) => Some(task),
        Effect::Answer { .. } => None,
    };
    steward.on(event, now).into_iter().filter_map(task).collect()
}

pub(crate) fn request_in(tasks: &[Task]) -> RequestId {
    let found = tasks.iter().find_map(|task| match task {
        Task::Resolve { request, .. } => Some(*request),
        Task::WatchHarness { .. } | Task::Notify { .. } | Task::Workspace { .. } => None,
    });
    found.expect("the directory is to be resolved")
}
