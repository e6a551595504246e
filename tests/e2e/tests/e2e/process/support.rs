//! Stages for the stand-in: an indexed repository, other cgc processes, and what is left of either on the machine.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use steward_e2e::{Harness, HookRun, Repository, World, lock_holder};
use steward_fake_cgc::{Behaviour, Call, Rule, Script};
use steward_harness_stubs::{wait_for, wait_until};

/// Far above what anything here takes: a loaded machine is no defect.
pub(crate) const BOUND: Duration = Duration::from_secs(20);

/// The file begins with its magic and the storage version; the stand-in's graph follows as JSON.
const HEADER: usize = 12;

/// A repository of three small Python files and one that is stored without being parsed.
pub(crate) fn small_repository(world: &World) -> Repository {
    let repository = world.repository("repo");
    repository.write_python("a.py", &["one", "two"]);
    repository.write_python("b.py", &["three"]);
    repository.write_python("package/c.py", &["four"]);
    repository.write("README.md", "# Stored and not parsed\n");
    repository
}

/// A world whose small repository was indexed by its human.
#[track_caller]
pub(crate) fn indexed() -> (World, Repository) {
    let world = World::with_fake_cgc();
    let repository = small_repository(&world);
    index(&world, &repository);
    (world, repository)
}

/// Has a human index the repository.
#[track_caller]
pub(crate) fn index(world: &World, repository: &Repository) {
    world.steward_succeeds(repository.root(), &["index", "--yes", "--wait"]);
    assert_eq!(world.status(repository.root())["state"], "clean");
}

/// Tells the stand-in how to behave from its next call on.
pub(crate) fn behave(world: &World, rules: impl IntoIterator<Item = Rule>) {
    world.fake_cgc().set_script(&Script::of(rules)).unwrap();
}

/// What hangs until it is interrupted, once so many files are written; `None` before anything is opened.
pub(crate) fn hang(after_files: Option<usize>) -> Behaviour {
    Behaviour::Hang { after_files, ignores_signals: false }
}

/// The calls of cgc after the first `skip`.
pub(crate) fn calls_after(world: &World, skip: usize) -> Vec<Call> {
    world.fake_cgc().calls().unwrap().split_off(skip)
}

/// Their verbs.
pub(crate) fn verbs_after(world: &World, skip: usize) -> Vec<String> {
    let calls = world.cgc().calls().into_iter().skip(skip);
    calls.map(|mut arguments| arguments.swap_remove(0)).collect()
}

/// How often the human was told `words` in the answers of these hooks.
pub(crate) fn times_told(hooks: &[HookRun], words: &str) -> usize {
    hooks.iter().map(|hook| hook.message().matches(words).count()).sum()
}

/// Sends prompts until the human was told `words`, and returns the hooks' answers.
#[track_caller]
pub(crate) fn prompt_until_told(harness: &mut Harness, words: &str) -> Vec<HookRun> {
    let mut hooks = Vec::new();
    let was_told = wait_until(BOUND, || {
        hooks.push(harness.human_prompts("Go on."));
        times_told(&hooks, words) > 0
    });
    assert!(was_told, "nobody said {words:?}: {:?}", hooks.iter().map(HookRun::message).collect::<Vec<_>>());
    hooks
}

/// The file that holds the graph.
pub(crate) fn database(world: &World) -> PathBuf {
    world.home().join(".codegraphcontext/global/db/kuzudb")
}

/// The files of a repository in the graph with the functions of each, read from the stand-in's file.
pub(crate) fn graph(world: &World, repository: &Repository) -> BTreeMap<String, Vec<String>> {
    graph_in(&database(world), repository)
}

/// The same of another database.
pub(crate) fn graph_in(database: &Path, repository: &Repository) -> BTreeMap<String, Vec<String>> {
    let bytes = fs::read(database).unwrap();
    let graph: Value = serde_json::from_slice(&bytes[HEADER..]).unwrap();
    let names = |node: &Value| {
        let functions = node["functions"].as_array().unwrap().iter();
        functions.map(|name| name.as_str().unwrap().to_owned()).collect()
    };
    let files = graph["files"].as_object().unwrap().iter();
    let below = files.filter_map(|(path, node)| {
        let path = Path::new(path).strip_prefix(repository.root()).ok()?;
        Some((path.to_str().unwrap().to_owned(), names(node)))
    });
    below.collect()
}

/// What `graph` returns where it holds these.
pub(crate) fn files(expected: &[(&str, &[&str])]) -> BTreeMap<String, Vec<String>> {
    let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    expected.iter().map(|&(path, names)| (path.to_owned(), owned(names))).collect()
}

/// The stand-ins and guards that run.
pub(crate) fn workers(world: &World) -> Vec<String> {
    let is_worker = |name: &str| matches!(name, "cgc" | "fake-cgc" | "steward-guard");
    let processes = world.scratch().mark().processes().into_iter();
    processes.filter(|process| is_worker(process.program_name())).map(|process| process.to_string()).collect()
}

/// Fails unless every cgc and guard goes, and the database with them is free.
#[track_caller]
pub(crate) fn assert_nothing_works(world: &World) {
    let gone = wait_until(BOUND, || workers(world).is_empty());
    assert!(gone, "{:#?}", workers(world));
    assert_eq!(lock_holder(&database(world)), None);
}

/// Waits until a call of cgc after the first `skip` is `verb`, and returns it.
#[track_caller]
pub(crate) fn wait_for_call(world: &World, skip: usize, verb: &str) -> Call {
    let found = wait_for(BOUND, || calls_after(world, skip).into_iter().find(|call| call.arguments[0] == verb));
    found.unwrap_or_else(|| panic!("cgc {verb} was never started: {:?}", verbs_after(world, skip)))
}

/// Waits until a process holds the database, and returns its id.
#[track_caller]
pub(crate) fn wait_for_writer(world: &World) -> u32 {
    let database = database(world);
    wait_for(BOUND, || lock_holder(&database)).expect("no process takes the lock of the database")
}

/// Waits until nothing goes on in the workspace, and returns its status.
#[track_caller]
pub(crate) fn wait_for_rest(world: &World, repository: &Repository) -> Value {
    world.wait_for_status(repository.root(), "rest", BOUND, |status| status["activity"].is_null())
}

/// A watcher that the human started, and that holds the database. Dropping it ends it.
#[derive(Debug)]
pub(crate) struct OtherCgc(Child);

impl OtherCgc {
    /// Starts it in `repository` and waits until it has the database.
    #[track_caller]
    pub(crate) fn watches(world: &World, repository: &Repository) -> Self {
        let child = Command::new(world.cgc().executable().unwrap())
            .args(["watch", "."])
            .current_dir(repository.root())
            .env_clear()
            .envs(world.environment())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let other = Self(child);
        assert_eq!(wait_for_writer(world), other.pid());
        other
    }

    pub(crate) fn pid(&self) -> u32 {
        self.0.id()
    }

    /// How the companion calls it.
    pub(crate) fn name(&self) -> String {
        format!("cgc watch (pid {})", self.pid())
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
    matches!(status["state"].as_str().unwrap(), "clean" | "drift") || status["activity"]["name"] == "syncing"
}
