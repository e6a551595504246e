//! What cgc leaves out of a workspace, and so what belongs to its manifest.
//!
//! Responsible for gathering the ignore files in cgc's order of precedence and for deciding a path by them. The facts
//! are those of cgc 0.6.13 (`core/cgcignore.py`, `tools/indexing/discovery.py`, `cli/config_manager.py`). It must never
//! write: cgc creates a missing `.cgcignore`, this module only counts with its content.

use std::collections::{BTreeSet, HashMap};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use regex::RegexSet;
use rustix::fs::{Access, access};
use steward_ports::{Exclusions, FileKind, FileSystemError};

use crate::bounded::{self, Content};
use crate::languages::kind_of_name;
use crate::pattern::{self, Form, Pattern};

/// cgc's default of its setting `IGNORE_DIRS`.
const DEFAULT_IGNORED_DIRECTORIES: &[&str] = &[
    "node_modules",
    "venv",
    ".venv",
    "env",
    ".env",
    "dist",
    "build",
    "target",
    "out",
    ".git",
    ".idea",
    ".vscode",
    "__pycache__",
];

/// cgc's `DEFAULT_IGNORE_PATTERNS`, which are also what it writes into a `.cgcignore` of its own making.
const DEFAULT_PATTERNS: &[&str] = &[
    "node_modules/",
    "venv/",
    ".venv/",
    "env/",
    ".env/",
    "dist/",
    "build/",
    "target/",
    "out/",
    "obj/",
    ".git/",
    "__pycache__/",
    "*.png",
    "*.jpg",
    "*.jpeg",
    "*.gif",
    "*.svg",
    "*.mp4",
    "*.mp3",
    "*.zip",
    "*.tar",
    "*.gz",
];

/// An ignore file larger than this is taken for a mistake; cgc has no limit.
const IGNORE_FILE_LIMIT: u64 = 4 << 20;

/// The rules by which files of one workspace belong to its graph, as they are at one moment.
#[derive(Debug, Clone)]
pub struct IndexRules {
    /// Names of directories that are never entered, in lower case.
    directories: BTreeSet<String>,
    /// `None` where cgc applies no patterns at all.
    matcher: Option<Matcher>,
}

impl IndexRules {
    /// Reads the ignore files that apply to the workspace at the canonical directory `root`.
    pub fn load(root: &Path, exclusions: &Exclusions) -> Result<Self, FileSystemError> {
        Ok(Self {
            directories: ignored_directories(exclusions),
            matcher: load_patterns(root, exclusions)?.map(|patterns| Matcher::new(&patterns)),
        })
    }

    /// Returns what cgc makes of a regular file at `path`, which is relative to the root; `None` where it is left out.
    /// The disk is not asked whether there is such a file.
    pub fn kind(&self, path: &Path) -> Option<FileKind> {
        let kind = kind_of_name(path.file_name()?.as_bytes())?;
        self.keeps(path).then_some(kind)
    }

    /// Whether the rules keep a file at `path`, which is relative to the root, whatever its name makes of it.
    pub(crate) fn keeps(&self, path: &Path) -> bool {
        let bytes = path.as_os_str().as_bytes();
        let mut above = Verdict::default();
        let mut start = 0;
        while let Some(length) = bytes[start..].iter().position(|byte| *byte == b'/') {
            let end = start + length;
            match self.enter(&bytes[..end], &bytes[start..end], above) {
                Some(verdict) => above = verdict,
                None => return false,
            }
            start = end + 1;
        }
        self.keeps_file(bytes, &bytes[start..], above)
    }

    /// Decides about a directory inside one whose verdict is `above`; `None` where it is not entered.
    pub(crate) fn enter(&self, path: &[u8], name: &[u8], above: Verdict) -> Option<Verdict> {
        // cgc compares lower-case names; the usual ASCII name needs no copy of its own to be compared.
        let lower = String::from_utf8_lossy(name).to_lowercase();
        if self.directories.contains(&lower) {
            return None;
        }
        let Some(matcher) = &self.matcher else {
            return Some(above);
        };
        let verdict = above.max(matcher.by_name(path, name, true));
        let last = verdict.max(matcher.by_expression(path, true));
        matcher.keeps(last).then_some(verdict)
    }

    /// Decides about a file inside a directory whose verdict is `above`.
    pub(crate) fn keeps_file(&self, path: &[u8], name: &[u8], above: Verdict) -> bool {
        let Some(matcher) = &self.matcher else {
            return true;
        };
        let last = above.max(matcher.by_name(path, name, false)).max(matcher.by_expression(path, false));
        matcher.keeps(last)
    }
}

/// The last pattern that matched a path or a directory above it, counted from one; the last one decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct Verdict(usize);

/// All patterns of a workspace, arranged so that the usual ones cost a look-up and not a search each.
#[derive(Debug, Clone)]
struct Matcher {
    /// By number; number 0 stands for no pattern, so what nothing matches is kept.
    negated: Vec<bool>,
    names: HashMap<Vec<u8>, Numbers>,
    paths: HashMap<Vec<u8>, Numbers>,
    name_ends: Vec<(Vec<u8>, Numbers)>,
    expressions: RegexSet,
    expression_numbers: Vec<Verdict>,
}

/// The last pattern of its form, for directories and for files.
#[derive(Debug, Clone, Copy, Default)]
struct Numbers {
    directory: Verdict,
    file: Verdict,
}

impl Numbers {
    fn of(self, is_directory: bool) -> Verdict {
        if is_directory { self.directory } else { self.file }
    }

    fn add(&mut self, pattern: &Pattern, number: Verdict) {
        self.directory = number;
        if !pattern.directory_only {
            self.file = number;
        }
    }
}

impl Matcher {
    fn new(patterns: &[Pattern]) -> Self {
        let mut negated = vec![true];
        let mut names: HashMap<Vec<u8>, Numbers> = HashMap::new();
        let mut paths: HashMap<Vec<u8>, Numbers> = HashMap::new();
        let mut name_ends: Vec<(Vec<u8>, Numbers)> = Vec::new();
        let mut expressions = Vec::new();
        let mut expression_numbers = Vec::new();
        for pattern in patterns {
            let number = Verdict(negated.len());
            negated.push(pattern.negated);
            match &pattern.form {
                Form::Name(name) => names.entry(name.as_bytes().to_vec()).or_default().add(pattern, number),
                Form::Path(path) => paths.entry(path.as_bytes().to_vec()).or_default().add(pattern, number),
                Form::NameEnd(end) => {
                    let mut numbers = Numbers::default();
                    numbers.add(pattern, number);
                    name_ends.push((end.as_bytes().to_vec(), numbers));
                }
                // As in cgc, an expression that cannot be compiled is skipped with a warning.
                Form::Expression(expression) => match regex::Regex::new(expression) {
                    Ok(_) => {
                        expressions.push(expression.as_str());
                        expression_numbers.push(number);
                    }
                    Err(error) => {
                        tracing::warn!(%error, "an ignore pattern cannot be read and is skipped");
                    }
                },
            }
        }
        let expressions = RegexSet::new(expressions).unwrap_or_else(|error| {
            tracing::warn!(%error, "the ignore patterns are too many together and are skipped");
            RegexSet::empty()
        });
        Self { negated, names, paths, name_ends, expressions, expression_numbers }
    }

    fn keeps(&self, last: Verdict) -> bool {
        self.negated[last.0]
    }

    /// The last pattern of a simple form that matches this path itself. What it matches holds for all below.
    fn by_name(&self, path: &[u8], name: &[u8], is_directory: bool) -> Verdict {
        let by_name = self.names.get(name).copied().unwrap_or_default();
        let by_path = self.paths.get(path).copied().unwrap_or_default();
        self.name_ends
            .iter()
            .filter(|(end, _)| name.ends_with(end))
            .map(|(_, numbers)| numbers.of(is_directory))
            .fold(Verdict::default(), Verdict::max)
            .max(by_name.of(is_directory))
            .max(by_path.of(is_directory))
    }

    /// The last expression that matches this path, or a directory above it.
    fn by_expression(&self, path: &[u8], is_directory: bool) -> Verdict {
        if self.expressions.is_empty() {
            return Verdict::default();
        }
        let mut text = String::from_utf8_lossy(path).into_owned();
        if is_directory {
            text.push('/');
        }
        self.expressions.matches(&text).iter().map(|index| self.expression_numbers[index]).max().unwrap_or_default()
    }
}

fn ignored_directories(exclusions: &Exclusions) -> BTreeSet<String> {
    let lower = |name: &str| name.trim().to_lowercase();
    match &exclusions.directories {
        Some(names) => names.iter().map(|name| lower(name)).filter(|name| !name.is_empty()).collect(),
        None => DEFAULT_IGNORED_DIRECTORIES.iter().map(|name| lower(name)).collect(),
    }
}

/// All patterns in the order of their precedence, the last match deciding: built-in, `.gitignore`, `.cgcignore`, the
/// context's ignore file. `None` where cgc fails to read or create one of its own and then applies none of them.
fn load_patterns(root: &Path, exclusions: &Exclusions) -> Result<Option<Vec<Pattern>>, FileSystemError> {
    let top = git_top_level(root);
    let mut patterns = default_patterns();
    if let Some(path) = find_upwards(root, top.as_deref(), ".gitignore", Path::is_file) {
        match read_text(&path)? {
            Ok(text) => patterns.extend(pattern::parse_lines(&text)),
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "the ignore file cannot be read");
            }
        }
    }
    let own = find_upwards(root, top.as_deref(), ".cgcignore", Path::exists);
    match &own {
        Some(path) => match read_text(path)? {
            Ok(text) => patterns.extend(pattern::parse_lines(&text)),
            Err(_) => return Ok(None),
        },
        None if access(root, Access::WRITE_OK).is_ok() => patterns.extend(default_patterns()),
        None => return Ok(None),
    }
    if let Some(path) = &exclusions.ignore_file {
        let path = root.join(path);
        if path.exists() && own.as_ref() != Some(&path) {
            match read_text(&path)? {
                Ok(text) => patterns.extend(pattern::parse_lines(&text)),
                Err(_) => return Ok(None),
            }
        }
    }
    Ok(Some(patterns))
}

fn default_patterns() -> Vec<Pattern> {
    DEFAULT_PATTERNS.iter().filter_map(|line| pattern::parse(line)).collect()
}

/// The nearest directory at or above `root` that has a `.git` of any kind, as cgc looks for it.
fn git_top_level(root: &Path) -> Option<PathBuf> {
    root.ancestors().find(|directory| directory.join(".git").exists()).map(Path::to_owned)
}

/// The nearest `name` between `root` and `top`; outside of a repository only `root` itself is looked into.
fn find_upwards(root: &Path, top: Option<&Path>, name: &str, is_there: fn(&Path) -> bool) -> Option<PathBuf> {
    let last = top.unwrap_or(root);
    root.ancestors()
        .take_while(|directory| directory.starts_with(last))
        .map(|directory| directory.join(name))
        .find(|path| is_there(path))
}

/// Reads an ignore file. The inner error is one that cgc would meet as well and goes on after.
fn read_text(path: &Path) -> Result<Result<String, std::io::Error>, FileSystemError> {
    match bounded::read(path, IGNORE_FILE_LIMIT) {
        Ok(Content::Bytes(bytes)) => Ok(Ok(String::from_utf8_lossy(&bytes).into_owned())),
        Ok(Content::Absent) => Ok(Err(std::io::ErrorKind::NotFound.into())),
        Ok(Content::Unusable(reason)) => Err(FileSystemError::Unusable { path: path.to_owned(), reason }),
        Err(error) => Ok(Err(error)),
    }
}
