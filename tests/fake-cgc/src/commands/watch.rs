//! `watch`, as far as its ready line and its end. Changes that come after are not followed.
//!
//! It must never reconcile without `--sync-on-start`.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use super::index::{self, Written};
use super::{Call, open};
use crate::database::Database;
use crate::graph::Change;
use crate::report::Outcome;
use crate::terminal::say;
use crate::tree;

pub(super) fn watch(call: &Call<'_>) -> io::Result<u8> {
    let root = call.path()?;
    let mut database = match open(call, &std::env::current_dir()?)? {
        Ok(database) => database,
        Err(exit) => return Ok(exit),
    };
    if !root.is_dir() {
        let problem = if root.exists() { "must be a directory" } else { "does not exist" };
        say(&format!("Error: Path {problem}: {}", root.display()));
        database.close()?;
        return Ok(1);
    }
    say(&format!("🔍 Watching {} for changes...", root.display()));
    let is_indexed = database.graph.repositories.contains_key(root.to_string_lossy().as_ref());
    let written = if !is_indexed {
        say("⚠  Not indexed yet. Performing initial scan...");
        let files = tree::discover(&root)?;
        let written = index::write(call, &mut database, &root, &files)?;
        if matches!(written, Written::Whole(_)) {
            say("✓ Initial scan complete");
        }
        written
    } else if call.has("--sync-on-start") {
        say("✓ Already indexed. Synchronizing current files...");
        reconcile(call, &mut database, &root)?
    } else {
        say("✓ Already indexed. Watching for future changes only.");
        say("Use 'cgc index --force' or 'cgc watch --sync-on-start' to reconcile existing changes.");
        Written::Whole(Outcome::default())
    };
    match written {
        Written::Ended(exit) => {
            database.close()?;
            return Ok(exit);
        }
        Written::Whole(_) => {
            say("👀 Monitoring for file changes... (Press Ctrl+C to stop)");
            say("💡 Tip: Open a new terminal window to continue working\n");
            call.interrupt.wait();
            std::thread::sleep(call.misbehaviour.time_to_obey());
        }
        Written::Interrupted => {}
    }
    // Exit 0 whenever it was stopped, be it before the ready line.
    say("\n🛑 Stopping watcher...");
    database.close()?;
    say("✓ Watcher stopped.");
    Ok(0)
}

/// Removes what the tree no longer has and replaces everything else. A file without a grammar loses its symbols.
fn reconcile(call: &Call<'_>, database: &mut Database, root: &Path) -> io::Result<Written> {
    let files = tree::discover(root)?;
    let current: BTreeSet<String> = files.iter().filter_map(tree::SourceFile::key).collect();
    let stale: Vec<String> = database
        .graph
        .files_below(&root.to_string_lossy())
        .map(|(path, _)| path.clone())
        .filter(|path| !current.contains(path))
        .collect();
    database.change(Change::Begin)?;
    for path in stale {
        database.change(Change::Remove { path })?;
    }
    let mut outcome = Outcome::default();
    for (done, file) in files.iter().enumerate() {
        if let Some(written) = index::pause(call, done)? {
            return Ok(written);
        }
        match index::parse(call, file, &mut outcome)? {
            Some((path, node)) => database.change(Change::Replace { path, node })?,
            None => {
                if let Some(path) = file.key() {
                    database.change(Change::Remove { path })?;
                }
            }
        }
    }
    if let Some(written) = index::pause(call, files.len())? {
        return Ok(written);
    }
    database.change(Change::Commit)?;
    Ok(Written::Whole(outcome))
}
