//! A throw-away home, a repository and a cgc to work on it: the stand-in or the real one.
//!
//! It must never touch the home of whoever runs the tests.

use std::cell::{Cell, RefCell};
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use steward_cgc::Cgc;
use steward_fake_cgc::{Behaviour, Command as Verbs, Install, Rule, Script};
use steward_ports::{
    Captured, CommandSpec, Ended, Environment, Exit, GraphFacts, GraphQuery, GraphTarget, GraphTool, Inventory,
    Milestone, OutputLine, OutputStream, Verb, Verdict,
};

/// Nothing that the real one does here takes nearly as long.
const PATIENCE: Duration = Duration::from_mins(2);

pub(crate) struct World {
    directory: tempfile::TempDir,
    cgc: PathBuf,
    fake: Option<Install>,
    variables: RefCell<Environment>,
    has_grammars: Cell<bool>,
}

/// A cgc that was started and not yet waited for.
pub(crate) struct Running {
    child: Child,
    stdout: thread::JoinHandle<Vec<u8>>,
    stderr: thread::JoinHandle<Vec<u8>>,
    milestones: std::sync::mpsc::Receiver<Milestone>,
    started: Instant,
}

impl World {
    pub(crate) fn fake() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let install =
            Install::new(&directory.path().join("installation"), Path::new(env!("CARGO_BIN_EXE_fake-cgc"))).unwrap();
        Self::with(directory, install.executable().to_owned(), Some(install))
    }

    pub(crate) fn real() -> Self {
        let cgc = PathBuf::from(provided("STEWARD_TEST_CGC"));
        let world = Self::with(tempfile::tempdir().unwrap(), cgc, None);
        world.variables.borrow_mut().set("TREE_SITTER_LANGUAGE_PACK_LIBS_DIR", provided("STEWARD_TEST_GRAMMARS"));
        world
    }

    fn with(directory: tempfile::TempDir, cgc: PathBuf, fake: Option<Install>) -> Self {
        let mut variables = Environment::default();
        let home = directory.path().join("home");
        fs::create_dir(&home).unwrap();
        fs::create_dir(directory.path().join("repository")).unwrap();
        variables.set("HOME", home);
        variables.set("PATH", "/usr/local/bin:/usr/bin:/bin");
        let world = Self { directory, cgc, fake, variables: RefCell::new(variables), has_grammars: Cell::new(true) };
        world.write("alpha.py", "def alpha():\n    return beta()\n\n\ndef beta():\n    return 1\n");
        world.write("package/gamma.py", "class Gamma:\n    def delta(self):\n        return 2\n");
        world.write("README.md", "# A tree\n");
        world
    }

    pub(crate) fn root(&self) -> PathBuf {
        fs::canonicalize(self.directory.path()).unwrap().join("repository")
    }

    pub(crate) fn home(&self, path: &str) -> PathBuf {
        self.directory.path().join("home").join(path)
    }

    pub(crate) fn write(&self, path: &str, content: &str) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(crate) fn remove(&self, path: &str) {
        fs::remove_file(self.root().join(path)).unwrap();
    }

    pub(crate) fn rename(&self, from: &str, to: &str) {
        fs::rename(self.root().join(from), self.root().join(to)).unwrap();
    }

    /// Fills the tree so that an index takes long enough to be met in the middle.
    pub(crate) fn make_indexing_slow(&self) {
        for number in 0..60 {
            let functions: Vec<String> = (0..20)
                .map(|one| format!("def f{number}_{one}():\n    return f{number}_{}()\n\n", (one + 1) % 20))
                .collect();
            self.write(&format!("many/m{number}.py"), &functions.concat());
        }
        self.script([Rule::always(Verbs::Index, Behaviour::Slow(50)), Rule::always(Verbs::Watch, Behaviour::Slow(50))]);
    }

    /// Takes the grammars away.
    pub(crate) fn take_grammars(&self) {
        self.has_grammars.set(false);
        self.script([Rule::always(Verbs::Index, Behaviour::NoGrammars)]);
    }

    /// Chooses a backend as a user would, in the session's environment.
    pub(crate) fn choose(&self, backend: &str) {
        self.variables.borrow_mut().set("DEFAULT_DATABASE", backend);
    }

    fn environment(&self) -> Environment {
        let mut environment = self.variables.borrow().clone();
        if !self.has_grammars.get() {
            environment.set("TREE_SITTER_LANGUAGE_PACK_LIBS_DIR", self.home("no-grammars"));
        }
        environment
    }

    fn script(&self, rules: impl IntoIterator<Item = Rule>) {
        if let Some(fake) = &self.fake {
            fake.set_script(&Script::of(rules)).unwrap();
        }
    }

    pub(crate) fn facts(&self) -> GraphFacts {
        let query = GraphQuery { root: self.root(), executable: self.cgc.clone(), environment: self.environment() };
        wait(Cgc.inspect(&query)).unwrap()
    }

    pub(crate) fn target(&self) -> GraphTarget {
        let facts = self.facts();
        GraphTarget {
            root: self.root(),
            installation: facts.installation,
            location: facts.location,
            environment: self.environment(),
        }
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.facts().location.database.unwrap()
    }

    /// Runs `verb` to its end. A reconcile is interrupted at its ready line.
    pub(crate) fn run(&self, verb: Verb) -> Verdict {
        run_on(verb, &self.target())
    }

    pub(crate) fn start(&self, verb: Verb) -> Running {
        start(verb, &Cgc.command(verb, &self.target()))
    }

    pub(crate) fn judge(&self, verb: Verb, ended: &Ended) -> Verdict {
        Cgc.verdict(verb, &self.target(), ended, false)
    }

    pub(crate) fn inventory(&self) -> Inventory {
        match self.run(Verb::Inventory) {
            Verdict::Holds(inventory) => inventory,
            other => panic!("not an inventory: {other:?}"),
        }
    }

    pub(crate) fn set_aside(&self) -> PathBuf {
        wait(Cgc.set_aside(&self.database())).unwrap()
    }
}

impl Running {
    /// Waits until cgc says so; false where it ends without.
    pub(crate) fn wait_for(&self, milestone: &Milestone) -> bool {
        let deadline = Instant::now() + PATIENCE;
        while let Ok(reached) = self.milestones.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            if reached == *milestone {
                return true;
            }
        }
        false
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.child.id().try_into().unwrap()), signal).unwrap();
    }

    pub(crate) fn end(mut self) -> Ended {
        let deadline = Instant::now() + PATIENCE;
        let status = loop {
            match self.child.try_wait().unwrap() {
                Some(status) => break status,
                None if Instant::now() < deadline => thread::sleep(Duration::from_millis(5)),
                None => {
                    self.child.kill().unwrap();
                    panic!("cgc did not end");
                }
            }
        };
        Ended {
            exit: exit(status),
            stdout: captured(self.stdout),
            stderr: captured(self.stderr),
            elapsed: self.started.elapsed(),
        }
    }
}

/// Runs `verb` on `target` to its end. A reconcile is interrupted at its ready line.
pub(crate) fn run_on(verb: Verb, target: &GraphTarget) -> Verdict {
    let running = start(verb, &Cgc.command(verb, target));
    let is_ready = verb == Verb::Reconcile && running.wait_for(&Milestone::Ready);
    if is_ready {
        running.signal(Signal::SIGINT);
    }
    Cgc.verdict(verb, target, &running.end(), is_ready)
}

/// Waits until `condition` holds.
pub(crate) fn until(what: &str, condition: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < deadline, "{what} did not come");
        thread::sleep(Duration::from_millis(5));
    }
}

pub(crate) fn wait<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

fn start(verb: Verb, command: &CommandSpec) -> Running {
    let started = Instant::now();
    let mut child = Command::new(&command.program)
        .args(&command.arguments)
        .current_dir(&command.directory)
        .env_clear()
        .envs(command.environment.iter())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (sender, milestones) = std::sync::mpsc::channel();
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    let stdout = thread::spawn(move || {
        let mut all = Vec::new();
        loop {
            let begin = all.len();
            if lines.read_until(b'\n', &mut all).unwrap() == 0 {
                return all;
            }
            let line = OutputLine {
                stream: OutputStream::Stdout,
                text: String::from_utf8_lossy(&all[begin..]).trim_end().to_owned(),
            };
            if let Some(milestone) = Cgc.milestone(verb, &line) {
                drop(sender.send(milestone));
            }
        }
    });
    let mut errors = child.stderr.take().unwrap();
    let stderr = thread::spawn(move || {
        let mut all = Vec::new();
        errors.read_to_end(&mut all).unwrap();
        all
    });
    Running { child, stdout, stderr, milestones, started }
}

fn captured(reader: thread::JoinHandle<Vec<u8>>) -> Captured {
    Captured { head: reader.join().unwrap(), ..Captured::default() }
}

fn exit(status: ExitStatus) -> Exit {
    match (status.code(), status.signal()) {
        (Some(code), _) => Exit::Code(code),
        (None, Some(signal)) => Exit::Signal(signal),
        (None, None) => panic!("neither code nor signal: {status:?}"),
    }
}

fn provided(name: &str) -> OsString {
    env::var_os(name)
        .unwrap_or_else(|| panic!("{name} is not set; `cargo xtask test` sets it, `cargo xtask env` prints it"))
}
