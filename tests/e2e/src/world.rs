//! A world for one test: a home, a PATH, a cgc, our programs, and the daemon that they start on demand.

use std::collections::BTreeMap;
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use rustix::process::{Signal, geteuid};
use serde_json::Value;
use steward_fake_cgc::Install;
use steward_harness_stubs::{ClaudeCode, LiveProcess, Scratch, ScriptedModel, kill, wait_for};

use crate::cgc::Cgc;
use crate::harness::Harness;
use crate::repository::Repository;

/// What all of a test's processes see of the machine.
///
/// Dropping it stops the daemon and fails the test over any process that is left. Declare it before its harnesses, so that
/// they end first.
#[derive(Debug)]
pub struct World {
    environment: BTreeMap<OsString, OsString>,
    programs: PathBuf,
    harness_program: PathBuf,
    sessions: u32,
    cgc: Cgc,
    scratch: Scratch,
}

impl World {
    /// A world in which there is no cgc.
    pub fn without_cgc() -> Self {
        Self::new(|_| Cgc::Missing)
    }

    /// A world with the stand-in for cgc.
    pub fn with_fake_cgc() -> Self {
        Self::new(Cgc::fake)
    }

    /// A world with the real cgc.
    pub fn with_real_cgc() -> Self {
        Self::new(Cgc::real)
    }

    fn new(install: impl FnOnce(&Scratch) -> Cgc) -> Self {
        let scratch = Scratch::new().unwrap();
        let cgc = install(&scratch);
        let programs = PathBuf::from(required_variable("STEWARD_TEST_BIN_DIR"));
        // The hook looks for a harness among its ancestors by name, and would otherwise find one that runs these tests.
        let harness_program = scratch.directory("harness").unwrap().join("claude");
        symlink(programs.join("fake-harness"), &harness_program).unwrap();
        let runtime = scratch.directory("run").unwrap();
        fs::set_permissions(&runtime, Permissions::from_mode(0o700)).unwrap();

        let (mark, root) = scratch.mark().variable();
        let root = root.to_path_buf();
        let mut world = Self { environment: BTreeMap::new(), programs, harness_program, sessions: 0, cgc, scratch };
        world.set(mark, root.clone());
        world.set("HOME", world.scratch.directory("home").unwrap());
        world.set("TMPDIR", world.scratch.directory("tmp").unwrap());
        let system = ["/usr/local/bin", "/usr/bin", "/bin"].map(Path::new);
        let path = world.cgc.directory().into_iter().chain(system).map(Path::to_path_buf);
        world.set("PATH", env::join_paths(path).unwrap());
        world.set("LANG", "C.UTF-8");
        world.set("XDG_RUNTIME_DIR", runtime);
        world.set("XDG_CONFIG_HOME", root.join("config"));
        world.set("XDG_STATE_HOME", root.join("state"));
        world.set("XDG_CACHE_HOME", root.join("cache"));
        if let Some(run) = env::var_os("STEWARD_TEST_RUN") {
            world.set("STEWARD_TEST_RUN", run);
        }
        for (name, value) in world.cgc.environment() {
            world.set(name, value);
        }
        world
    }

    /// Sets a variable for everything that is started from now on.
    pub fn set(&mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) {
        self.environment.insert(name.as_ref().to_owned(), value.as_ref().to_owned());
    }

    /// Takes a variable away from everything that is started from now on.
    pub fn unset(&mut self, name: &str) {
        self.environment.remove(OsStr::new(name));
    }

    /// The environment, exactly.
    pub fn environment(&self) -> &BTreeMap<OsString, OsString> {
        &self.environment
    }

    /// Writes the user's configuration file.
    pub fn configure(&self, toml: &str) {
        self.scratch.file("config/cgc-steward/config.toml", toml).unwrap();
    }

    /// The place of everything in this world.
    pub fn scratch(&self) -> &Scratch {
        &self.scratch
    }

    /// The user's home.
    pub fn home(&self) -> PathBuf {
        self.scratch.path().join("home")
    }

    /// The cgc.
    pub fn cgc(&self) -> &Cgc {
        &self.cgc
    }

    /// The stand-in for cgc, in a world that has it.
    #[track_caller]
    pub fn fake_cgc(&self) -> &Install {
        match &self.cgc {
            Cgc::Fake(install) => install,
            Cgc::Missing | Cgc::Real(_) => panic!("this world has no stand-in for cgc"),
        }
    }

    /// The path of one of our programs.
    pub fn program(&self, name: &str) -> PathBuf {
        self.programs.join(name)
    }

    pub(crate) fn harness_program(&self) -> &Path {
        &self.harness_program
    }

    /// Makes an empty git repository.
    pub fn repository(&self, name: &str) -> Repository {
        let root = self.scratch.directory(&format!("work/{name}")).unwrap();
        Repository::init(root, self.home())
    }

    /// Starts a harness process whose session begins in `directory`; no event is sent yet.
    pub fn harness(&mut self, directory: &Path) -> Harness {
        self.sessions += 1;
        Harness::start(self, directory, &format!("session-{}", self.sessions), &[])
    }

    /// As `harness`, after a shell has run `mount` where only this harness and what it starts see the result.
    pub fn harness_after_mount(&mut self, directory: &Path, mount: &str) -> Harness {
        self.sessions += 1;
        let script = format!("{mount} && exec \"$0\"");
        let mut wrapper = vec!["unshare", "--mount", "sh", "-c", &script];
        if !geteuid().is_root() {
            wrapper.insert(1, "--map-root-user");
        }
        let wrapper: Vec<OsString> = wrapper.into_iter().map(OsString::from).collect();
        Harness::start(self, directory, &format!("session-{}", self.sessions), &wrapper)
    }

    /// A real Claude Code in this world's home. Its hooks are the caller's to install.
    pub fn claude_code(&self, model: &ScriptedModel) -> ClaudeCode {
        let mut claude = ClaudeCode::new(&self.scratch, model).unwrap();
        for (name, value) in &self.environment {
            claude.set(name, value);
        }
        claude
    }

    /// Runs `steward` without a terminal in `directory` and returns what it did.
    #[track_caller]
    pub fn steward(&self, directory: &Path, arguments: &[&str]) -> Output {
        let program = self.program("steward");
        Command::new(&program)
            .args(arguments)
            .current_dir(directory)
            .env_clear()
            .envs(&self.environment)
            .stdin(Stdio::null())
            .output()
            .unwrap_or_else(|error| panic!("cannot run {}: {error}", program.display()))
    }

    /// Runs `steward`, which must succeed, and returns its stdout.
    #[track_caller]
    pub fn steward_succeeds(&self, directory: &Path, arguments: &[&str]) -> String {
        let output = self.steward(directory, arguments);
        let stdout = String::from_utf8(output.stdout).unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "steward {arguments:?}: {}\n{stdout}\n{stderr}", output.status);
        stdout
    }

    /// The status of a workspace, as `steward status --json` prints it.
    #[track_caller]
    pub fn status(&self, directory: &Path) -> Value {
        let text = self.steward_succeeds(directory, &["status", "--json"]);
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("status printed no JSON ({error}): {text}"))
    }

    /// Waits until the status is as `condition` wants it, and returns it. `awaited` says for what, in the failure.
    #[track_caller]
    pub fn wait_for_status(
        &self,
        directory: &Path,
        awaited: &str,
        bound: Duration,
        condition: impl Fn(&Value) -> bool,
    ) -> Value {
        let mut last = Value::Null;
        let found = wait_for(bound, || {
            last = self.status(directory);
            condition(&last).then(|| last.clone())
        });
        found.unwrap_or_else(|| panic!("waited {bound:?} in vain for {awaited}; the status is {last:#}"))
    }

    /// Waits until the workspace is in `state` and nothing is going on in it, and returns the status.
    #[track_caller]
    pub fn wait_for_state(&self, directory: &Path, state: &str, bound: Duration) -> Value {
        self.wait_for_status(directory, &format!("the state {state}"), bound, |status| {
            status["state"] == state && status["activity"].is_null()
        })
    }

    /// The live processes of this world that run the program called `name`.
    pub fn processes_of(&self, name: &str) -> Vec<LiveProcess> {
        let mut processes = self.scratch.mark().processes();
        processes.retain(|process| process.program_name() == name);
        processes
    }

    /// Kills every process of this world that runs the program called `name`, and waits until they are gone.
    #[track_caller]
    pub fn kill(&self, name: &str) {
        let processes = self.processes_of(name);
        assert!(!processes.is_empty(), "no {name} is running");
        for process in &processes {
            kill(process.pid, Signal::KILL);
        }
        let gone = wait_for(Duration::from_secs(10), || {
            let left = self.processes_of(name);
            processes.iter().all(|process| !left.iter().any(|other| other.is(process))).then_some(())
        });
        assert!(gone.is_some(), "{name} does not die");
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if thread::panicking() || self.processes_of("stewardd").is_empty() {
            return;
        }
        self.steward_succeeds(self.scratch.path(), &["daemon", "stop"]);
    }
}

/// A variable that `cargo xtask test` sets.
pub(crate) fn required_variable(name: &str) -> OsString {
    let value = env::var_os(name).filter(|value| !value.is_empty());
    value.unwrap_or_else(|| panic!("{name} is not set: `cargo xtask test` sets it, and `cargo xtask env` prints it"))
}
