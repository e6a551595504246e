//! A tree of files in memory, with stamps that change as a file system changes them.
//!
//! It must never find a workspace that the test did not make, and never model what the real scan decides by ignore
//! files: a file is parsed, stored or ignored by its extension alone, and by the directories that are excluded by name.

mod compare;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use async_trait::async_trait;
use steward_ports::{
    Comparison, ContentHash, Exclusions, FileKind, FileStamp, FileSystem, FileSystemError, FileText, Manifest,
    ManifestDigest, ManifestEntry, Timestamp, Workspace, WorkspaceKind, WorkspaceRoot,
};

use self::compare::difference;
use crate::script::locked;

#[derive(Debug, Clone)]
struct File {
    content: Vec<u8>,
    stamp: FileStamp,
}

#[derive(Debug, Clone)]
struct Repository {
    kind: WorkspaceKind,
    head: Option<String>,
}

#[derive(Debug, Default)]
struct Tree {
    files: BTreeMap<PathBuf, File>,
    repositories: BTreeMap<PathBuf, Repository>,
    directories: BTreeSet<PathBuf>,
    unreadable: BTreeSet<PathBuf>,
    next_inode: u64,
    time: i128,
    scans: usize,
    comparisons: usize,
}

/// Files, repositories and directories as a test makes them. Every change has a later time than the one before.
#[derive(Debug, Default)]
pub struct MemoryFs {
    tree: Mutex<Tree>,
}

impl MemoryFs {
    /// Makes `root` the top level of a main checkout whose HEAD names `head`.
    pub fn make_repository(&self, root: &Path, head: &str) {
        let kind = WorkspaceKind::Repository { common_directory: root.join(".git"), worktree: None };
        self.make_checkout(root, kind, head);
    }

    /// Makes `root` the linked worktree `name` of the repository with the common directory `common_directory`.
    pub fn make_worktree(&self, root: &Path, common_directory: &Path, name: &str, head: &str) {
        let common_directory = common_directory.to_path_buf();
        self.make_checkout(root, WorkspaceKind::Repository { common_directory, worktree: Some(name.to_owned()) }, head);
    }

    fn make_checkout(&self, root: &Path, kind: WorkspaceKind, head: &str) {
        let mut tree = locked(&self.tree);
        tree.directories.insert(root.to_path_buf());
        tree.repositories.insert(root.to_path_buf(), Repository { kind, head: Some(head.to_owned()) });
    }

    /// Makes a directory.
    pub fn make_directory(&self, path: &Path) {
        locked(&self.tree).directories.insert(path.to_path_buf());
    }

    /// Lets HEAD of the checkout at `root` name `head`.
    pub fn set_head(&self, root: &Path, head: &str) {
        match locked(&self.tree).repositories.get_mut(root) {
            Some(repository) => repository.head = Some(head.to_owned()),
            None => panic!("{} is no repository", root.display()),
        }
    }

    /// Writes a file, in place where it exists.
    pub fn write(&self, path: &Path, content: &str) {
        let mut tree = locked(&self.tree);
        let (time, inode) = (tree.tick(), tree.inode(path));
        let stamp = FileStamp { size: content.len() as u64, modified: time, changed: time, inode };
        tree.files.insert(path.to_path_buf(), File { content: content.as_bytes().to_vec(), stamp });
    }

    /// Renews the times of a file and leaves its content.
    pub fn touch(&self, path: &Path) {
        let mut tree = locked(&self.tree);
        let time = tree.tick();
        let stamp = &mut tree.file_mut(path).stamp;
        (stamp.modified, stamp.changed) = (time, time);
    }

    /// Removes a file.
    pub fn remove(&self, path: &Path) {
        let removed = locked(&self.tree).files.remove(path);
        assert!(removed.is_some(), "{} does not exist", path.display());
    }

    /// Renames a file.
    pub fn rename(&self, from: &Path, to: &Path) {
        let mut tree = locked(&self.tree);
        let time = tree.tick();
        let Some(mut file) = tree.files.remove(from) else { panic!("{} does not exist", from.display()) };
        file.stamp.changed = time;
        tree.files.insert(to.to_path_buf(), file);
    }

    /// Lets every access to `path`, a file or a workspace root, fail from now on.
    pub fn make_unreadable(&self, path: &Path) {
        locked(&self.tree).unreadable.insert(path.to_path_buf());
    }

    /// Ends what [`MemoryFs::make_unreadable`] began.
    pub fn make_readable(&self, path: &Path) {
        locked(&self.tree).unreadable.remove(path);
    }

    /// Returns all files under `root`, relative to it.
    pub fn files(&self, root: &Path) -> Vec<PathBuf> {
        let tree = locked(&self.tree);
        tree.files.keys().filter_map(|path| path.strip_prefix(root).ok()).map(Path::to_path_buf).collect()
    }

    /// Returns the manifest of `root` without counting a scan.
    pub fn manifest(&self, root: &Path) -> Manifest {
        locked(&self.tree).manifest(root, &Exclusions::default())
    }

    /// Returns how many scans there were.
    pub fn scans(&self) -> usize {
        locked(&self.tree).scans
    }

    /// Returns how many comparisons there were.
    pub fn comparisons(&self) -> usize {
        locked(&self.tree).comparisons
    }
}

impl Tree {
    fn tick(&mut self) -> Timestamp {
        self.time += 1;
        Timestamp::from_nanos(self.time)
    }

    fn inode(&mut self, path: &Path) -> u64 {
        if let Some(file) = self.files.get(path) {
            return file.stamp.inode;
        }
        self.next_inode += 1;
        self.next_inode
    }

    fn file_mut(&mut self, path: &Path) -> &mut File {
        match self.files.get_mut(path) {
            Some(file) => file,
            None => panic!("{} does not exist", path.display()),
        }
    }

    fn check(&self, path: &Path) -> Result<(), FileSystemError> {
        if self.unreadable.contains(path) {
            let source = io::Error::from(io::ErrorKind::PermissionDenied);
            return Err(FileSystemError::Unreadable { path: path.to_path_buf(), source });
        }
        Ok(())
    }

    fn exists(&self, directory: &Path) -> bool {
        self.directories.iter().chain(self.files.keys()).any(|path| path.starts_with(directory))
    }

    fn manifest(&self, root: &Path, exclusions: &Exclusions) -> Manifest {
        let entries = self.files.iter().filter_map(|(path, file)| {
            let relative = path.strip_prefix(root).ok()?;
            let kind = kind_of(relative).filter(|_| !is_excluded(relative, exclusions))?;
            let hash = match kind {
                FileKind::Parsed => Some(ContentHash(*blake3::hash(&file.content).as_bytes())),
                FileKind::Bare => None,
            };
            Some(ManifestEntry { path: relative.to_path_buf(), kind, stamp: file.stamp, hash })
        });
        Manifest { entries: entries.collect(), taken_at: Timestamp::from_nanos(self.time) }
    }

    fn head(&self, root: &Path) -> Option<String> {
        self.repositories.get(root)?.head.clone()
    }
}

#[async_trait]
impl FileSystem for MemoryFs {
    async fn resolve_workspace<'a>(
        &self,
        directory: &Path,
        home: Option<&'a Path>,
    ) -> Result<Workspace, FileSystemError> {
        let tree = locked(&self.tree);
        if !tree.exists(directory) {
            return Err(FileSystemError::Vanished { path: directory.to_path_buf() });
        }
        let found = directory.ancestors().find_map(|path| Some((path, tree.repositories.get(path)?)));
        let (root, kind) = match found {
            Some((root, repository)) => (root, repository.kind.clone()),
            None => (directory, WorkspaceKind::Plain),
        };
        let is_forbidden = root == Path::new("/") || Some(root) == home;
        let kind = if is_forbidden { WorkspaceKind::Forbidden } else { kind };
        Ok(Workspace { root: WorkspaceRoot::from_canonical(root.to_path_buf()), kind })
    }

    async fn read_text(&self, path: &Path, limit: u64) -> Result<FileText, FileSystemError> {
        let tree = locked(&self.tree);
        tree.check(path)?;
        let Some(file) = tree.files.get(path) else { return Ok(FileText::Absent) };
        let unusable = |reason: &str| FileSystemError::Unusable { path: path.to_path_buf(), reason: reason.to_owned() };
        if file.stamp.size > limit {
            return Err(unusable("it is too large"));
        }
        match String::from_utf8(file.content.clone()) {
            Ok(text) => Ok(FileText::Text(text)),
            Err(_) => Err(unusable("it is not UTF-8")),
        }
    }

    async fn scan<'a>(
        &self,
        root: &Path,
        exclusions: &Exclusions,
        _previous: Option<&'a Manifest>,
    ) -> Result<Manifest, FileSystemError> {
        let mut tree = locked(&self.tree);
        tree.scans += 1;
        tree.check(root)?;
        Ok(tree.manifest(root, exclusions))
    }

    async fn compare(
        &self,
        root: &Path,
        exclusions: &Exclusions,
        baseline: &Manifest,
    ) -> Result<Comparison, FileSystemError> {
        let mut tree = locked(&self.tree);
        tree.comparisons += 1;
        tree.check(root)?;
        let current = tree.manifest(root, exclusions);
        let (difference, touched) = difference(baseline, &current);
        Ok(Comparison {
            difference,
            touched,
            files: current.entries.len(),
            parsed_files: current.entries.iter().filter(|entry| entry.kind == FileKind::Parsed).count(),
            head: tree.head(root),
        })
    }

    async fn head(&self, root: &Path) -> Result<Option<String>, FileSystemError> {
        let tree = locked(&self.tree);
        tree.check(root)?;
        Ok(tree.head(root))
    }

    fn kind_by_name(&self, path: &Path) -> Option<FileKind> {
        match path.extension()?.to_str()? {
            "py" | "rs" | "ts" => Some(FileKind::Parsed),
            "md" | "toml" => Some(FileKind::Bare),
            _ => None,
        }
    }

    fn digest(&self, manifest: &Manifest) -> ManifestDigest {
        let mut hasher = blake3::Hasher::new();
        for entry in &manifest.entries {
            hasher.update(entry.path.as_os_str().as_encoded_bytes());
            hasher.update(format!(" {:?} {:?}\n", entry.kind, entry.hash).as_bytes());
        }
        ManifestDigest(hasher.finalize().to_string())
    }
}

fn kind_of(path: &Path) -> Option<FileKind> {
    match path.extension()?.to_str()? {
        "py" | "rs" | "js" | "ts" | "go" => Some(FileKind::Parsed),
        "md" | "toml" | "json" | "yaml" => Some(FileKind::Bare),
        _ => None,
    }
}

fn is_excluded(path: &Path, exclusions: &Exclusions) -> bool {
    let names = exclusions.directories.as_deref().unwrap_or_default();
    path.components().any(|component| names.iter().any(|name| component.as_os_str().eq_ignore_ascii_case(name)))
}
