//! Stages for the real cgc: an indexed repository, and other cgc processes that the companion did not start.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use steward_e2e::{Repository, World, lock_holder};
use steward_harness_stubs::{LiveProcess, wait_for, wait_until};

/// Generous: cgc takes a second to start where nothing else runs, and several where everything does.
pub(crate) const BOUND: Duration = Duration::from_mins(2);

/// A small repository with a call across files and a class that inherits from one in another file.
pub(crate) fn small_repository(world: &World) -> Repository {
    let repository = world.repository("repo");
    repository.write_python("a.py", &["one", "two"]);
    repository.write("base.py", "class Base:\n    def run(self):\n        return 1\n");
    repository.write(
        "package/b.py",
        "from a import two\nfrom base import Base\n\n\nclass Child(Base):\n    def go(self):\n        return two()\n",
    );
    repository.write("README.md", "# Stored and not parsed\n");
    repository
}

/// What the graph of `small_repository` holds. cgc 0.6.13 gives a base class of another file no path.
pub(crate) const SMALL_GRAPH: [&str; 13] = [
    "base package/b.py Child ->  Base",
    "call a.py two -> a.py one",
    "call package/b.py go -> a.py two",
    "class base.py Base",
    "class package/b.py Child",
    "file README.md",
    "file a.py",
    "file base.py",
    "file package/b.py",
    "function a.py one",
    "function a.py two",
    "function base.py run",
    "function package/b.py go",
];

/// A world whose small repository was indexed by its human.
pub(crate) fn indexed() -> (World, Repository) {
    let world = World::with_real_cgc();
    let repository = small_repository(&world);
    world.steward_succeeds(repository.root(), &["index", "--yes", "--wait"]);
    assert_eq!(world.status(repository.root())["state"], "clean");
    (world, repository)
}

/// The file that holds the graph.
pub(crate) fn database(world: &World) -> PathBuf {
    world.home().join(".codegraphcontext/global/db/kuzudb")
}

/// The processes of cgc in this world, whoever started them, and the guards that lead them.
pub(crate) fn cgc_processes(world: &World) -> Vec<LiveProcess> {
    let program = world.cgc().executable().unwrap().display().to_string();
    let mut processes = world.scratch().mark().processes();
    processes.retain(|process| process.command_line.contains(&program));
    processes
}

/// Waits until a process of cgc holds the database, and returns its id.
#[track_caller]
pub(crate) fn wait_for_writer(world: &World) -> u32 {
    let database = database(world);
    wait_for(BOUND, || lock_holder(&database)).expect("no process of cgc takes the lock of the database")
}

/// Fails unless all processes of cgc go and the database is free.
#[track_caller]
pub(crate) fn assert_cgc_is_gone(world: &World) {
    let gone = wait_until(BOUND, || cgc_processes(world).is_empty());
    assert!(gone, "{:#?}", cgc_processes(world));
    assert_eq!(lock_holder(&database(world)), None);
}

/// The first words of each call of cgc after the first `skip`.
pub(crate) fn calls_after(world: &World, skip: usize) -> Vec<String> {
    let verb = |arguments: &Vec<String>| {
        let program = arguments.iter().position(|word| word.ends_with("/cgc")).unwrap_or_default();
        arguments.get(program + 1).cloned().unwrap_or_default()
    };
    world.cgc().calls().iter().skip(skip).map(verb).collect()
}

/// Fails where cgc was told to index or to rebuild after the first `skip` calls, which is no way to sync.
#[track_caller]
pub(crate) fn assert_nothing_was_indexed_anew(world: &World, skip: usize) {
    let calls = calls_after(world, skip);
    assert!(!calls.is_empty() && !calls.iter().any(|verb| verb == "index" || verb == "update"), "{calls:?}");
}

/// What the human was told about `words`, in these answers of hooks.
pub(crate) fn told<'a>(messages: &'a [String], words: &str) -> Vec<&'a str> {
    messages.iter().map(String::as_str).filter(|message| message.contains(words)).collect()
}

/// A process of cgc that somebody else started, and that holds the database. Dropping it ends it.
#[derive(Debug)]
pub(crate) struct OtherCgc(Child);

impl OtherCgc {
    /// An agent's own server.
    pub(crate) fn server(world: &World, repository: &Repository) -> Self {
        Self::start(world, repository, &["mcp", "start"], "MCP Server is running")
    }

    /// The human's own watcher.
    pub(crate) fn watcher(world: &World, repository: &Repository) -> Self {
        Self::start(world, repository, &["watch", "."], "Monitoring for file changes")
    }

    fn start(world: &World, repository: &Repository, arguments: &[&str], ready: &str) -> Self {
        let said = world.scratch().path().join("other-cgc");
        let output = File::create(&said).unwrap();
        let child = Command::new(world.cgc().executable().unwrap())
            .args(arguments)
            .current_dir(repository.root())
            .env_clear()
            .envs(world.environment())
            .stdin(Stdio::piped())
            .stdout(output.try_clone().unwrap())
            .stderr(output)
            .spawn()
            .unwrap();
        let other = Self(child);
        let text = || fs::read_to_string(&said).unwrap();
        assert!(wait_until(BOUND, || text().contains(ready)), "{}", text());
        assert_eq!(lock_holder(&database(world)), Some(other.pid()));
        other
    }

    pub(crate) fn pid(&self) -> u32 {
        self.0.id()
    }

    /// Whether it still runs.
    pub(crate) fn is_running(&mut self) -> bool {
        self.0.try_wait().unwrap().is_none()
    }
}

impl Drop for OtherCgc {
    fn drop(&mut self) {
        // It fails only where the process has ended already.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// Whether the status says that the graph is ready to be used: clean, behind, or being brought up to date.
pub(crate) fn is_ready(status: &Value) -> bool {
    let state = status["state"].as_str().unwrap();
    matches!(state, "clean" | "drift") || status["activity"]["name"] == "syncing"
}
