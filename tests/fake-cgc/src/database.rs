//! The database file: its magic, its lock, its log, and what a killed writer leaves of them.
//!
//! It must never be mistaken for a real one by cgc: what follows the magic is JSON.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;

use crate::graph::{Change, Graph};
use crate::interrupt::Interrupt;

/// A fresh database takes a page (cgc 0.6.13).
const PAGE: usize = 4096;

/// An embedded backend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Backend {
    Kuzu,
    Ladybug,
}

impl Backend {
    fn header(self) -> Vec<u8> {
        let (magic, version): (&[u8], u64) = match self {
            Self::Kuzu => (b"KUZU", 39),
            Self::Ladybug => (b"LBUG", 43),
        };
        [magic, version.to_le_bytes().as_slice()].concat()
    }
}

/// Why a database cannot be opened, in the words of its backend.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// Another process has it.
    Locked(String),
    /// Its bytes make no sense.
    Broken(String),
    /// An interrupt came while it was waited for.
    Interrupted,
}

/// An open database. Its lock is the process's until the file is closed.
#[derive(Debug)]
pub(crate) struct Database {
    pub(crate) graph: Graph,
    backend: Backend,
    path: PathBuf,
    file: File,
}

impl Database {
    /// Opens the database at `path`, creating it; waits up to `patience` for its lock.
    pub(crate) fn open(
        path: &Path,
        backend: Backend,
        patience: Duration,
        interrupt: &Interrupt,
    ) -> io::Result<Result<Self, Refusal>> {
        if path.is_dir() {
            let text = format!("Runtime exception: Database path cannot be a directory: {}", path.display());
            return Ok(Err(Refusal::Broken(text)));
        }
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        let is_new = !path.exists();
        let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
        let deadline = Instant::now() + patience;
        while !lock(&file)? {
            if Instant::now() >= deadline {
                return Ok(Err(Refusal::Locked(locked(path, backend))));
            }
            if interrupt.sleep(patience / 16) {
                return Ok(Err(Refusal::Interrupted));
            }
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        if is_new && beside(path, ".wal").exists() {
            return Ok(Err(Refusal::Broken("unordered_map::at".to_owned())));
        }
        let graph = match read_graph(&bytes, path, backend) {
            Ok(graph) => graph,
            Err(text) => return Ok(Err(Refusal::Broken(text))),
        };
        let mut database = Self { graph, backend, path: path.to_path_buf(), file };
        if bytes.is_empty() {
            database.write_graph(&Graph::default())?;
        }
        if let Err(text) = database.replay()? {
            return Ok(Err(Refusal::Broken(text)));
        }
        Ok(Ok(database))
    }

    /// Applies a change and logs it. What is logged survives a kill.
    pub(crate) fn change(&mut self, change: Change) -> io::Result<()> {
        let mut line = serde_json::to_string(&change).map_err(io::Error::other)?;
        line.push('\n');
        OpenOptions::new().create(true).append(true).open(beside(&self.path, ".wal"))?.write_all(line.as_bytes())?;
        self.graph.apply(change);
        Ok(())
    }

    /// Checkpoints and closes. The file is written even where nothing changed, so that its times change.
    pub(crate) fn close(mut self) -> io::Result<()> {
        let graph = std::mem::take(&mut self.graph);
        self.write_graph(&graph)?;
        match fs::remove_file(beside(&self.path, ".wal")) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    fn write_graph(&mut self, graph: &Graph) -> io::Result<()> {
        let mut bytes = self.backend.header();
        serde_json::to_writer(&mut bytes, graph)?;
        bytes.resize(bytes.len().max(PAGE), b' ');
        self.file.seek(SeekFrom::Start(0))?;
        self.file.write_all(&bytes)?;
        self.file.set_len(bytes.len() as u64)
    }

    /// Applies the log that a killed process left. Kuzu takes its good part; Ladybug is ruined by a job without an end.
    fn replay(&mut self) -> io::Result<Result<(), String>> {
        let text = match fs::read_to_string(beside(&self.path, ".wal")) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Ok(())),
            Err(error) => return Err(error),
        };
        let mut is_open = false;
        for line in text.lines() {
            let Ok(change) = serde_json::from_str(line) else {
                break;
            };
            match &change {
                Change::Begin => is_open = true,
                Change::Commit => is_open = false,
                Change::Repository { .. }
                | Change::Merge { .. }
                | Change::Replace { .. }
                | Change::Remove { .. }
                | Change::Delete { .. } => {}
            }
            self.graph.apply(change);
        }
        if is_open && self.backend == Backend::Ladybug {
            let text = "Storage exception: Checksum verification failed, the WAL file is corrupted.";
            return Ok(Err(text.to_owned()));
        }
        Ok(Ok(()))
    }
}

fn read_graph(bytes: &[u8], path: &Path, backend: Backend) -> Result<Graph, String> {
    let header = backend.header();
    if bytes.is_empty() {
        return Ok(Graph::default());
    }
    if !bytes.starts_with(&header[..4]) {
        let name = match backend {
            Backend::Kuzu => "Kuzu",
            Backend::Ladybug => "Lbug",
        };
        return Err(format!(
            "Runtime exception: Unable to open database. The file is not a valid {name} database file!"
        ));
    }
    bytes.get(header.len()..).and_then(|content| serde_json::from_slice(content).ok()).ok_or_else(|| {
        format!(
            "Runtime exception: Reading past the end of the file {} with size {} at offset 39989248",
            path.display(),
            bytes.len()
        )
    })
}

/// Takes a write lock on the whole file, as Kuzu and Ladybug do; false where another process has it.
fn lock(file: &File) -> io::Result<bool> {
    let whole = libc::flock {
        l_type: i16::try_from(libc::F_WRLCK).unwrap_or_default(),
        l_whence: i16::try_from(libc::SEEK_SET).unwrap_or_default(),
        l_start: 0,
        l_len: 0,
        l_pid: 0,
    };
    match fcntl(file, FcntlArg::F_SETLK(&whole)) {
        Ok(_) => Ok(true),
        Err(Errno::EAGAIN | Errno::EACCES) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

fn locked(path: &Path, backend: Backend) -> String {
    let path = path.display();
    match backend {
        Backend::Kuzu => format!(
            "IO exception: Could not set lock on file : {path}\nSee the docs: https://docs.kuzudb.com/concurrency for \
             more information."
        ),
        Backend::Ladybug => format!(
            "IO exception: Could not set lock on file : {path} (Error: Resource temporarily unavailable)\nSee the docs: \
             https://docs.ladybugdb.com/concurrency for more information."
        ),
    }
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}
