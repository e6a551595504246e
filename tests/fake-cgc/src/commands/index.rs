//! `index`, `index --force` and `update`.
//!
//! It must never see that a file changed: cgc 0.6.13 compares numbers of files.

use std::io;
use std::path::Path;
use std::time::Instant;

use jiff::Timestamp;

use super::{Call, open};
use crate::database::Database;
use crate::graph::{Change, FileNode, Repository};
use crate::report::Outcome;
use crate::terminal::{complain, say};
use crate::tree::{self, SourceFile};

/// How writing a tree into the graph ended.
#[derive(Debug)]
pub(super) enum Written {
    /// Everything is in the graph.
    Whole(Outcome),
    /// An interrupt came.
    Interrupted,
    /// A script ended the command with this code.
    Ended(u8),
}

pub(super) fn index(call: &Call<'_>) -> io::Result<u8> {
    let started = Instant::now();
    let root = call.path()?;
    let mut database = match open(call, &root)? {
        Ok(database) => database,
        Err(exit) => return Ok(exit),
    };
    if !root.exists() {
        say(&format!("Error: Path does not exist: {}", root.display()));
        database.close()?;
        return Ok(1);
    }
    let files = tree::discover(&root)?;
    let given = call.words.get(1).copied().unwrap_or(".");
    let key = root.to_string_lossy();
    if database.graph.repositories.contains_key(key.as_ref()) {
        let known = database.graph.files_below(&key).count();
        if known == 0 {
            say(&format!("Repository '{given}' exists but has no files (likely interrupted). Re-indexing..."));
        } else if known >= files.len() {
            say(&format!("Repository '{given}' is already indexed with {known} files. Skipping."));
            say("💡 Tip: Use 'cgc index --force' to re-index");
            database.close()?;
            return Ok(0);
        } else {
            say(&format!("Repository '{given}' has only {known} of {} files indexed. Continuing.", files.len()));
        }
    }
    say(&format!("Starting indexing for: {}", root.display()));
    let written = write(call, &mut database, &root, &files)?;
    finish(
        database,
        written,
        &files,
        &|seconds| format!("Successfully finished indexing: {} in {seconds} seconds", root.display()),
        started,
    )
}

pub(super) fn rebuild(call: &Call<'_>) -> io::Result<u8> {
    let started = Instant::now();
    let root = call.path()?;
    if call.has("--force") {
        complain("Force re-indexing (--force flag detected)");
    } else if !call.has("--quiet") {
        say("Updating repository index...");
    }
    let mut database = match open(call, &root)? {
        Ok(database) => database,
        Err(exit) => return Ok(exit),
    };
    if !root.exists() {
        say(&format!("Error: Path does not exist: {}", root.display()));
        database.close()?;
        return Ok(1);
    }
    let key = root.to_string_lossy().into_owned();
    database.change(Change::Begin)?;
    if database.graph.repositories.contains_key(&key) {
        say(&format!("Deleting existing index for: {key}"));
        database.change(Change::Delete { path: key.clone() })?;
        say("✓ Deleted old index");
    }
    say(&format!("Re-indexing: {key}"));
    let files = tree::discover(&root)?;
    let written = write(call, &mut database, &root, &files)?;
    let given = call.words.get(1).copied().unwrap_or(".");
    finish(
        database,
        written,
        &files,
        &|seconds| format!("Successfully re-indexed: {given} in {seconds} seconds"),
        started,
    )
}

/// Writes the repository and its files, symbols merged into those that are known.
pub(super) fn write(
    call: &Call<'_>,
    database: &mut Database,
    root: &Path,
    files: &[SourceFile],
) -> io::Result<Written> {
    database.change(Change::Begin)?;
    database.change(Change::Repository {
        path: root.to_string_lossy().into_owned(),
        repository: Repository {
            indexed_at: Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S%.6f+00:00").to_string(),
            commit: head(root),
        },
    })?;
    let mut outcome = Outcome::default();
    for (done, file) in files.iter().enumerate() {
        if let Some(written) = pause(call, done)? {
            return Ok(written);
        }
        let Some((path, node)) = parse(call, file, &mut outcome)? else {
            continue;
        };
        outcome.count(&node);
        database.change(Change::Merge { path, node })?;
    }
    if let Some(written) = pause(call, files.len())? {
        return Ok(written);
    }
    database.change(Change::Commit)?;
    Ok(Written::Whole(outcome))
}

/// Returns a file's key and symbols; `None` for one that cgc cannot parse or store.
pub(super) fn parse(
    call: &Call<'_>,
    file: &SourceFile,
    outcome: &mut Outcome,
) -> io::Result<Option<(String, FileNode)>> {
    if let (Some(language), true) = (file.language, call.misbehaviour.has_no_grammars()) {
        let log = "2026-11-30 21:55:45,866 - WARNING - codegraphcontext.utils.debug_log -";
        complain(&format!(
            "{log} Failed to initialize parser for {language}: tree-sitter and tree-sitter-language-pack are required \
             for code parsing. Install them with: pip install codegraphcontext[parsing]"
        ));
        let extension = file.path.extension().unwrap_or_default().to_string_lossy();
        complain(&format!("{log} No parser found for file extension .{extension}. Skipping {}", file.path.display()));
        return Ok(None);
    }
    let Some(key) = file.key() else {
        outcome.failed += 1;
        return Ok(None);
    };
    Ok(Some((key, file.parse()?)))
}

/// Lets time pass before the file after `done` others, and a script have its way.
pub(super) fn pause(call: &Call<'_>, done: usize) -> io::Result<Option<Written>> {
    if let Some(exit) = call.misbehaviour.after(done, call.interrupt)? {
        return Ok(Some(Written::Ended(exit)));
    }
    if call.interrupt.sleep(call.misbehaviour.time_for_a_file()) {
        std::thread::sleep(call.misbehaviour.time_to_obey());
        return Ok(Some(Written::Interrupted));
    }
    Ok(None)
}

fn finish(
    database: Database,
    written: Written,
    files: &[SourceFile],
    success: &dyn Fn(&str) -> String,
    started: Instant,
) -> io::Result<u8> {
    // An interrupted index checkpoints what it has: the next command shows a normal repository.
    database.close()?;
    match written {
        Written::Whole(outcome) => {
            say(&outcome.table(files));
            say(&success(&format!("{:.2}", started.elapsed().as_secs_f64())));
            Ok(0)
        }
        Written::Interrupted => Ok(130),
        Written::Ended(exit) => Ok(exit),
    }
}

/// Returns the commit of HEAD where a loose reference or HEAD itself names it.
fn head(root: &Path) -> Option<String> {
    let git = root.join(".git");
    let head = std::fs::read_to_string(git.join("HEAD")).ok()?;
    match head.trim().strip_prefix("ref: ") {
        Some(reference) => Some(std::fs::read_to_string(git.join(reference)).ok()?.trim().to_owned()),
        None => Some(head.trim().to_owned()),
    }
}
