//! Walking a working tree in parallel, as fast as the system lists it.
//!
//! Responsible for visiting each directory that the rules let in once, and for never leaving the tree: every directory
//! is opened relative to its parent without following a link. Directories that vanish or may not be read are left out,
//! as cgc leaves them out. It must never read a file or decide what a difference is.

use std::ffi::{CStr, CString, OsStr, OsString};
use std::num::NonZero;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, RawDir, openat, statat};
use rustix::io::Errno;
use steward_ports::{FileKind, FileSystemError};

use crate::languages::kind_of_name;
use crate::rules::{IndexRules, Verdict};

/// More threads than this only wait for each other in the kernel.
const MAXIMUM_THREADS: usize = 8;

/// Room for the names that one system call returns.
const LISTING_BUFFER: usize = 32 << 10;

/// A directory while it is visited.
pub(crate) struct Directory<'a> {
    /// Its path relative to the root, empty for the root itself.
    pub(crate) path: &'a [u8],
    /// It, open.
    pub(crate) descriptor: BorrowedFd<'a>,
    /// Its regular files that belong to the graph, in no particular order.
    pub(crate) files: &'a [FoundFile],
}

/// A regular file that belongs to the graph.
pub(crate) struct FoundFile {
    /// Its name in its directory.
    pub(crate) name: CString,
    /// What cgc makes of it.
    pub(crate) kind: FileKind,
}

/// What is done in each directory. One value per thread, so that threads share nothing.
pub(crate) trait Visitor: Send {
    /// Takes one directory in.
    fn visit(&mut self, directory: &Directory<'_>) -> Result<(), FileSystemError>;
}

/// What a walk leaves behind.
pub(crate) struct Walked<V> {
    /// The visitors, each with what it saw.
    pub(crate) visitors: Vec<V>,
    /// Symbolic links whose names belong to the graph, relative to the root.
    pub(crate) links: Vec<PathBuf>,
}

/// Walks the tree at `root`, with a visitor made by `visitor` for each thread.
pub(crate) fn walk<V: Visitor>(
    root: &Path,
    rules: &IndexRules,
    visitor: impl Fn() -> V,
) -> Result<Walked<V>, FileSystemError> {
    let descriptor = open_directory(CWD, root).map_err(|errno| root_error(root, errno))?;
    let queue = Queue::new(Pending {
        parent: Arc::new(descriptor),
        name: c".".to_owned(),
        path: Vec::new(),
        verdict: Verdict::default(),
    });
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    let mut workers: Vec<Worker<'_, V>> =
        (0..threads.min(MAXIMUM_THREADS)).map(|_| Worker::new(root, rules, &queue, visitor())).collect();
    thread::scope(|scope| {
        let (own, others) = workers.split_at_mut(1);
        for worker in others {
            // A thread that cannot be started is one helper less; the own thread walks the rest.
            let started = thread::Builder::new().spawn_scoped(scope, || worker.run());
            if let Err(error) = started {
                tracing::debug!(%error, "a thread for the scan could not be started");
            }
        }
        own.iter_mut().for_each(Worker::run);
    });
    let mut walked = Walked { visitors: Vec::new(), links: Vec::new() };
    for worker in workers {
        walked.links.extend(worker.links);
        walked.visitors.push(worker.visitor);
    }
    match queue.into_failure() {
        Some(failure) => Err(failure),
        None => Ok(walked),
    }
}

/// A directory that waits to be listed. It keeps its parent open, so that no component of its path is looked up anew.
struct Pending {
    parent: Arc<OwnedFd>,
    name: CString,
    path: Vec<u8>,
    verdict: Verdict,
}

/// The directories still to be listed, shared by the threads.
struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    /// A stack: depth first keeps few directories open at once.
    pending: Vec<Pending>,
    /// How many threads are busy and may find more.
    busy: usize,
    failure: Option<FileSystemError>,
}

impl Queue {
    fn new(first: Pending) -> Self {
        Self { state: Mutex::new(State { pending: vec![first], busy: 0, failure: None }), changed: Condvar::new() }
    }

    /// Takes the next directory; `None` once there can be no more or a thread failed.
    fn next(&self) -> Option<(Pending, Busy<'_>)> {
        let mut state = self.lock();
        loop {
            if state.failure.is_some() {
                return None;
            }
            if let Some(pending) = state.pending.pop() {
                state.busy += 1;
                return Some((pending, Busy(self)));
            }
            if state.busy == 0 {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Hands in what a directory led to.
    fn hand_in(&self, found: &mut Vec<Pending>, result: Result<(), FileSystemError>) {
        let mut state = self.lock();
        let is_news = !found.is_empty() || result.is_err();
        state.pending.append(found);
        if let Err(failure) = result {
            state.failure.get_or_insert(failure);
        }
        drop(state);
        if is_news {
            self.changed.notify_all();
        }
    }

    fn into_failure(self) -> Option<FileSystemError> {
        self.state.into_inner().unwrap_or_else(PoisonError::into_inner).failure
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic elsewhere is passed on by `thread::scope`; the state is whole at every moment.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A thread that is at work; dropped also by a panic, so that no other thread waits for it for ever.
struct Busy<'a>(&'a Queue);

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.busy -= 1;
        let is_last = state.busy == 0;
        drop(state);
        if is_last {
            self.0.changed.notify_all();
        }
    }
}

/// One thread of a walk.
struct Worker<'a, V> {
    root: &'a Path,
    rules: &'a IndexRules,
    queue: &'a Queue,
    visitor: V,
    links: Vec<PathBuf>,
    found: Vec<Pending>,
    files: Vec<FoundFile>,
    buffer: Vec<u8>,
}

impl<'a, V: Visitor> Worker<'a, V> {
    fn new(root: &'a Path, rules: &'a IndexRules, queue: &'a Queue, visitor: V) -> Self {
        Self {
            root,
            rules,
            queue,
            visitor,
            links: Vec::new(),
            found: Vec::new(),
            files: Vec::new(),
            buffer: Vec::with_capacity(LISTING_BUFFER),
        }
    }

    fn run(&mut self) {
        while let Some((pending, _busy)) = self.queue.next() {
            let result = self.list(&pending);
            self.queue.hand_in(&mut self.found, result);
        }
    }

    fn list(&mut self, pending: &Pending) -> Result<(), FileSystemError> {
        let descriptor = match open_directory(pending.parent.as_fd(), pending.name.as_c_str()) {
            Ok(descriptor) => Arc::new(descriptor),
            Err(errno) => return self.skip_or_fail(&pending.path, errno),
        };
        self.files.clear();
        let mut buffer = std::mem::take(&mut self.buffer);
        let mut listing = RawDir::new(descriptor.as_fd(), buffer.spare_capacity_mut());
        let listed = loop {
            match listing.next() {
                Some(Ok(entry)) => {
                    self.take_in(pending, &descriptor, entry.file_name(), entry.file_type());
                }
                Some(Err(errno)) => break self.skip_or_fail(&pending.path, errno),
                None => break Ok(()),
            }
        };
        self.buffer = buffer;
        listed?;
        self.visitor.visit(&Directory { path: &pending.path, descriptor: descriptor.as_fd(), files: &self.files })
    }

    fn take_in(&mut self, pending: &Pending, descriptor: &Arc<OwnedFd>, name: &CStr, listed_type: FileType) {
        let bytes = name.to_bytes();
        if matches!(bytes, b"." | b"..") {
            return;
        }
        let file_type = if listed_type == FileType::Unknown {
            // Some file systems do not tell the type in a listing.
            match statat(descriptor, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => FileType::from_raw_mode(stat.st_mode),
                Err(_) => return,
            }
        } else {
            listed_type
        };
        if file_type.is_dir() {
            let path = join(&pending.path, bytes);
            if let Some(verdict) = self.rules.enter(&path, bytes, pending.verdict) {
                self.found.push(Pending { parent: Arc::clone(descriptor), name: name.to_owned(), path, verdict });
            }
        } else if file_type.is_file() || file_type.is_symlink() {
            let Some(kind) = kind_of_name(bytes) else {
                return;
            };
            let path = join(&pending.path, bytes);
            if !self.rules.keeps_file(&path, bytes, pending.verdict) {
                return;
            }
            if file_type.is_file() {
                self.files.push(FoundFile { name: name.to_owned(), kind });
            } else {
                self.links.push(PathBuf::from(OsString::from_vec(path)));
            }
        }
    }

    fn skip_or_fail(&self, path: &[u8], errno: Errno) -> Result<(), FileSystemError> {
        let path = self.root.join(Path::new(OsStr::from_bytes(path)));
        match errno {
            // It vanished, became a link or a file, or may not be read; cgc's walk goes on as well.
            Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::ACCESS | Errno::PERM => {
                tracing::debug!(path = %path.display(), %errno, "a directory is left out of the scan");
                Ok(())
            }
            _ => Err(FileSystemError::Unreadable { path, source: errno.into() }),
        }
    }
}

/// Joins a directory's relative path and a name in it.
pub(crate) fn join(directory: &[u8], name: &[u8]) -> Vec<u8> {
    if directory.is_empty() {
        return name.to_vec();
    }
    let mut path = Vec::with_capacity(directory.len() + 1 + name.len());
    path.extend_from_slice(directory);
    path.push(b'/');
    path.extend_from_slice(name);
    path
}

fn open_directory(parent: BorrowedFd<'_>, path: impl rustix::path::Arg) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(parent, path, flags, Mode::empty())
}

fn root_error(root: &Path, errno: Errno) -> FileSystemError {
    match errno {
        Errno::NOENT | Errno::NOTDIR => FileSystemError::Vanished { path: root.to_owned() },
        _ => FileSystemError::Unreadable { path: root.to_owned(), source: errno.into() },
    }
}
