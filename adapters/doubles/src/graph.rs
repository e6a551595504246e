//! A simulated cgc: where its graph is, what it holds, and what the ends of its commands mean.
//!
//! It must never answer better than the real one: an exit code of 0 means "worked" and proves nothing, every command
//! renews the database's times, and a command that was stopped is no success.

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use async_trait::async_trait;
use steward_ports::{
    Backend, CommandSpec, ContextMode, DatabaseIdentity, Ended, Exclusions, Exit, FileKind, GraphCounts, GraphFacts,
    GraphLocation, GraphQuery, GraphTarget, GraphTool, GraphToolError, Installation, Inventory, Manifest, Milestone,
    OutputLine, Timestamp, Verb, Verdict,
};

use crate::script::locked;

/// The simulated cgc's script.
pub const EXECUTABLE: &str = "/venv/bin/cgc";

/// The simulated embedded database.
pub const DATABASE: &str = "/home/.codegraphcontext/global/db/kuzudb";

/// A line that means [`Milestone::Started`].
pub const STARTED_LINE: &str = "started";

/// A line that means [`Milestone::Progress`]: 40 of 100 files.
pub const PROGRESS_LINE: &str = "40 of 100";

/// A line that means [`Milestone::Ready`].
pub const READY_LINE: &str = "ready";

#[expect(clippy::struct_excessive_bools, reason = "each is a fact about the simulated cgc, independent of the others")]
#[derive(Debug)]
struct State {
    is_installed: bool,
    location: GraphLocation,
    database: Option<DatabaseIdentity>,
    unreadable_magic: bool,
    grammars_missing: bool,
    is_known_unindexed: bool,
    contents: BTreeMap<PathBuf, Inventory>,
    verdicts: BTreeMap<Verb, VecDeque<Verdict>>,
    inspection_failures: usize,
    inspections: Vec<GraphQuery>,
    set_aside: Vec<PathBuf>,
}

/// A graph as a test makes it.
#[derive(Debug)]
pub struct FakeGraph {
    state: Mutex<State>,
}

impl Default for FakeGraph {
    /// cgc is installed and has no database yet.
    fn default() -> Self {
        let location = GraphLocation {
            backend: Backend::Kuzu,
            backend_source: "file magic".to_owned(),
            requested: None,
            database: Some(PathBuf::from(DATABASE)),
            context: None,
            mode: ContextMode::Global,
            exclusions: Exclusions::default(),
        };
        let state = State {
            is_installed: true,
            location,
            database: None,
            unreadable_magic: false,
            grammars_missing: false,
            is_known_unindexed: false,
            contents: BTreeMap::new(),
            verdicts: BTreeMap::new(),
            inspection_failures: 0,
            inspections: Vec::new(),
            set_aside: Vec::new(),
        };
        Self { state: Mutex::new(state) }
    }
}

impl FakeGraph {
    /// Uninstalls cgc.
    pub fn uninstall(&self) {
        locked(&self.state).is_installed = false;
    }

    /// Installs cgc again.
    pub fn install(&self) {
        locked(&self.state).is_installed = true;
    }

    /// Lets another backend keep the graph; a server has no database file.
    pub fn set_backend(&self, backend: Backend) {
        let mut state = locked(&self.state);
        if backend.is_server() {
            state.location.database = None;
        }
        state.location.backend = backend;
    }

    /// Creates the database file, empty of graphs, and says whether its bytes prove that.
    pub fn create_database(&self, is_known_unindexed: bool) {
        let mut state = locked(&self.state);
        state.is_known_unindexed = is_known_unindexed;
        state.renew_database();
    }

    /// Lets the database file begin with bytes of no known backend.
    pub fn spoil_magic(&self) {
        let mut state = locked(&self.state);
        state.renew_database();
        state.unreadable_magic = true;
    }

    /// Takes away the grammars that cgc keeps as files.
    pub fn lose_grammars(&self) {
        locked(&self.state).grammars_missing = true;
    }

    /// Lets somebody write the database file: its times and size change.
    pub fn renew_database(&self) {
        locked(&self.state).renew_database();
    }

    /// Builds or reconciles the graph of `root`: afterwards it holds exactly `manifest`, two functions for each parsed
    /// file. A whole `index` also renews what the graph says of when it was indexed; a reconcile does not.
    pub fn hold(&self, root: &Path, manifest: &Manifest, is_whole_index: bool) {
        let mut state = locked(&self.state);
        state.renew_database();
        let stamp = state.database.as_ref().map_or(0, |database| database.modified.as_nanos());
        let earlier = state.contents.get(root).and_then(|inventory| inventory.indexed_at.clone());
        let parsed = manifest.entries.iter().filter(|entry| entry.kind == FileKind::Parsed).count() as u64;
        let files: Vec<PathBuf> = manifest.entries.iter().map(|entry| entry.path.clone()).collect();
        let counts = GraphCounts { files: files.len() as u64, functions: 2 * parsed, classes: 0 };
        let indexed_at = if is_whole_index { Some(format!("indexed at {stamp}")) } else { earlier };
        let digest = Some(format!("digest of {}", manifest.entries.len()));
        state.contents.insert(root.to_path_buf(), Inventory { files, counts, indexed_at, commit: None, digest });
    }

    /// Lets the graph hold this of `root`, whatever the tree holds.
    pub fn hold_inventory(&self, root: &Path, inventory: Inventory) {
        let mut state = locked(&self.state);
        state.renew_database();
        state.contents.insert(root.to_path_buf(), inventory);
    }

    /// Returns what the graph holds of `root`.
    pub fn inventory(&self, root: &Path) -> Option<Inventory> {
        locked(&self.state).contents.get(root).cloned()
    }

    /// Lets the next end of `verb` that is not scripted yet mean `verdict`, whatever its exit.
    pub fn will_mean(&self, verb: Verb, verdict: Verdict) {
        locked(&self.state).verdicts.entry(verb).or_default().push_back(verdict);
    }

    /// Lets the next `times` inspections fail.
    pub fn fail_inspections(&self, times: usize) {
        locked(&self.state).inspection_failures = times;
    }

    /// Returns on which terms the graph was inspected, oldest first.
    pub fn inspections(&self) -> Vec<GraphQuery> {
        locked(&self.state).inspections.clone()
    }

    /// Returns the database file as it is now.
    pub fn database_now(&self) -> Option<DatabaseIdentity> {
        locked(&self.state).database.clone()
    }

    /// Returns the names that ruined databases were given.
    pub fn set_aside_databases(&self) -> Vec<PathBuf> {
        locked(&self.state).set_aside.clone()
    }
}

impl State {
    fn renew_database(&mut self) {
        let Some(path) = self.location.database.clone() else { return };
        let earlier = self.database.take();
        let generation = earlier.as_ref().map_or(1, |database| database.modified.as_nanos() + 1);
        self.database = Some(DatabaseIdentity {
            path,
            device: 1,
            inode: earlier.map_or(1, |database| database.inode),
            size: 4096,
            modified: Timestamp::from_nanos(generation),
            log_size: 0,
        });
    }

    fn natural_verdict(&self, verb: Verb, root: &Path, exit: Exit, reached_ready: bool) -> Verdict {
        match (verb, exit) {
            (Verb::Reconcile, _) if reached_ready => Verdict::Reconciled,
            (Verb::Inventory, Exit::Code(0)) => {
                self.contents.get(root).cloned().map_or(Verdict::Unindexed, Verdict::Holds)
            }
            (Verb::Index | Verb::Rebuild, Exit::Code(0)) => Verdict::Worked,
            (Verb::Doctor, Exit::Code(0)) => Verdict::Report("all is well".to_owned()),
            (_, Exit::Code(130) | Exit::Signal(_)) => Verdict::Interrupted,
            (_, Exit::Code(code)) => Verdict::Failed { reason: format!("cgc ended with code {code}") },
        }
    }
}

#[async_trait]
impl GraphTool for FakeGraph {
    async fn inspect(&self, query: &GraphQuery) -> Result<GraphFacts, GraphToolError> {
        let mut state = locked(&self.state);
        state.inspections.push(query.clone());
        if state.inspection_failures > 0 {
            state.inspection_failures -= 1;
            let source = std::io::Error::from(std::io::ErrorKind::PermissionDenied);
            return Err(GraphToolError::Unreadable { path: PathBuf::from("/home/.codegraphcontext/.env"), source });
        }
        if !state.is_installed {
            return Err(GraphToolError::Missing { executable: query.executable.clone() });
        }
        Ok(GraphFacts {
            installation: Installation {
                executable: PathBuf::from(EXECUTABLE),
                interpreter: Some(PathBuf::from("/venv/bin/python")),
                version: Some("0.6.13".to_owned()),
            },
            location: state.location.clone(),
            database: state.database.clone(),
            certainly_unindexed: state.database.is_none() || state.is_known_unindexed && state.contents.is_empty(),
            unreadable_magic: state.unreadable_magic,
            grammars_missing: state.grammars_missing,
        })
    }

    async fn database(&self, path: &Path) -> Result<Option<DatabaseIdentity>, GraphToolError> {
        Ok(locked(&self.state).database.clone().filter(|database| database.path == path))
    }

    async fn set_aside(&self, database: &Path) -> Result<PathBuf, GraphToolError> {
        let mut state = locked(&self.state);
        let is_there = state.database.take().is_some_and(|found| found.path == database);
        assert!(is_there, "{} was to be set aside and does not exist", database.display());
        state.unreadable_magic = false;
        state.contents.clear();
        let name = PathBuf::from(format!("{}.aside-{}", database.display(), state.set_aside.len() + 1));
        state.set_aside.push(name.clone());
        Ok(name)
    }

    fn command(&self, verb: Verb, target: &GraphTarget) -> CommandSpec {
        let argument = match verb {
            Verb::Inventory => "inventory",
            Verb::Index => "index",
            Verb::Rebuild => "rebuild",
            Verb::Reconcile => "reconcile",
            Verb::Doctor => "doctor",
        };
        CommandSpec {
            program: target.installation.executable.clone(),
            arguments: vec![argument.into()],
            directory: target.root.clone(),
            environment: target.environment.clone(),
            capture_limit: 16 * 1024,
            orphan_grace: Duration::from_secs(5),
            niceness: 10,
        }
    }

    fn milestone(&self, _verb: Verb, line: &OutputLine) -> Option<Milestone> {
        match line.text.as_str() {
            STARTED_LINE => Some(Milestone::Started),
            PROGRESS_LINE => Some(Milestone::Progress { done: 40, total: Some(100) }),
            READY_LINE => Some(Milestone::Ready),
            _ => None,
        }
    }

    fn verdict(&self, verb: Verb, target: &GraphTarget, ended: &Ended, reached_ready: bool) -> Verdict {
        let mut state = locked(&self.state);
        if state.database.is_some() {
            state.renew_database();
        }
        match state.verdicts.get_mut(&verb).and_then(VecDeque::pop_front) {
            Some(scripted) => scripted,
            None => state.natural_verdict(verb, &target.root, ended.exit, reached_ready),
        }
    }
}
