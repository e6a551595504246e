//! cgc's command lines, outputs, error texts and files, both ways.
//!
//! Responsible for everything that is a fact about cgc 0.6.13 and nothing else: where it is installed, where it keeps a
//! graph, what to run for a verb and what the end of that run means. It must never start a process, and it must never
//! write, except for the renames of `set_aside`.

mod command;
mod database;
mod environment;
mod files;
mod grammars;
mod installation;
mod inventory;
mod location;
mod milestone;
mod output;
mod settings;
mod verdict;

use std::io;
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use steward_ports::{
    CommandSpec, DatabaseIdentity, Ended, GraphFacts, GraphQuery, GraphTarget, GraphTool, GraphToolError, Milestone,
    OutputLine, Verb, Verdict,
};

pub use grammars::{Grammars, grammars};

/// The `GraphTool` port for cgc 0.6.13. It has no state: every answer is read from the disk as it is.
///
/// Its asynchronous methods read files on the runtime's blocking threads, so they have to be called within a tokio
/// runtime. Nothing that it does is left half done by a crash, see `set_aside`.
#[derive(Debug, Clone, Copy, Default)]
pub struct Cgc;

#[async_trait]
impl GraphTool for Cgc {
    async fn inspect(&self, query: &GraphQuery) -> Result<GraphFacts, GraphToolError> {
        let query = query.clone();
        let root = query.root.clone();
        blocking(root, move || inspect(&query)).await
    }

    async fn database(&self, path: &Path) -> Result<Option<DatabaseIdentity>, GraphToolError> {
        database::identify(path)
    }

    async fn set_aside(&self, database: &Path) -> Result<PathBuf, GraphToolError> {
        database::set_aside(database)
    }

    fn command(&self, verb: Verb, target: &GraphTarget) -> CommandSpec {
        command::build(verb, target)
    }

    fn milestone(&self, verb: Verb, line: &OutputLine) -> Option<Milestone> {
        milestone::read(verb, line)
    }

    fn verdict(&self, verb: Verb, target: &GraphTarget, ended: &Ended, reached_ready: bool) -> Verdict {
        verdict::judge(verb, target, ended, reached_ready)
    }
}

fn inspect(query: &GraphQuery) -> Result<GraphFacts, GraphToolError> {
    let home = files::home_directory(&query.environment)?;
    let found = installation::find(query, &home)?;
    let location = location::resolve(query, &home, found.packages.as_ref())?;
    let (database, contents) = match &location.database {
        Some(path) => (database::identify(path)?, database::look_into(path, &query.root)?),
        None => (None, database::Contents::NotAFile),
    };
    let grammars_missing = match grammars(&found.installation, &query.environment) {
        Grammars::Fetched { languages, .. } => languages.is_empty(),
        Grammars::Bundled { .. } | Grammars::Unknown => false,
    };
    Ok(GraphFacts {
        installation: found.installation,
        location,
        database,
        certainly_unindexed: contents.is_certainly_without_workspace(),
        unreadable_magic: contents == database::Contents::UnknownFormat,
        grammars_missing,
    })
}

/// Runs `work` where it may wait for the disk. `path` is what an error is about.
async fn blocking<T: Send + 'static>(
    path: PathBuf,
    work: impl FnOnce() -> Result<T, GraphToolError> + Send + 'static,
) -> Result<T, GraphToolError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(source) => Err(GraphToolError::Unreadable { path, source: io::Error::other(source) }),
    }
}
