//! The commit that a checkout's HEAD names, read from files.
//!
//! It must never run git, follow a reference out of the repository, or read a reference file of unreasonable size. A
//! repository with the `reftable` format has no such files; its commit is not known.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use crate::git::{Checkout, read_line};

/// git follows at most this many symbolic references.
const MAXIMUM_DEPTH: usize = 5;

/// References that each worktree has for itself, apart from HEAD.
const OWN_REFERENCES: &[&str] = &["refs/bisect/", "refs/rewritten/", "refs/worktree/"];

/// Returns the commit that HEAD names, in lower-case hexadecimal digits; `None` where there is none yet or the files do
/// not say it.
pub(crate) fn commit(checkout: &Checkout) -> Option<String> {
    let mut value = text(&checkout.own.join("HEAD"))?;
    for _ in 0..MAXIMUM_DEPTH {
        let Some(name) = value.strip_prefix("ref:") else {
            return object_id(&value);
        };
        let name = name.trim();
        if !is_reference(name) {
            return None;
        }
        let directory =
            if OWN_REFERENCES.iter().any(|own| name.starts_with(own)) { &checkout.own } else { &checkout.common };
        value = match text(&directory.join(name)) {
            Some(value) => value,
            None => packed(&checkout.common, name)?,
        };
    }
    None
}

fn text(path: &Path) -> Option<String> {
    let line = read_line(path).ok()??;
    String::from_utf8(line).ok()
}

fn packed(common: &Path, name: &str) -> Option<String> {
    let path = common.join("packed-refs");
    // Only a regular file: a pipe in its place would hold the reader up.
    if !path.metadata().ok()?.is_file() {
        return None;
    }
    BufReader::new(File::open(path).ok()?).split(b'\n').map_while(Result::ok).find_map(|line| {
        let line = std::str::from_utf8(&line).ok()?;
        let (id, found) = line.split_once(' ')?;
        (found == name).then(|| id.to_owned())
    })
}

/// Whether `name` is one that stays inside the repository.
fn is_reference(name: &str) -> bool {
    name.starts_with("refs/") && name.split('/').all(|component| !matches!(component, "" | "." | ".."))
}

/// SHA-1 ids have 40 digits, SHA-256 ids 64.
fn object_id(text: &str) -> Option<String> {
    let is_id = matches!(text.len(), 40 | 64) && text.bytes().all(|digit| digit.is_ascii_hexdigit());
    is_id.then(|| text.to_ascii_lowercase())
}
