//! What every command that needs the graph begins with: the context, the database, and the lines about them.
//!
//! It must never leave a database open on a path that ends the command.

use std::io;
use std::path::Path;
use std::time::Duration;

use steward_fake_cgc::Script;

use crate::database::{Database, Refusal};
use crate::interrupt::Interrupt;
use crate::place::{self, Place};
use crate::terminal::{complain, say};

/// Opens the database for a call about `directory`. The error is the exit code, everything having been said.
pub(crate) fn open(
    directory: &Path,
    context: Option<&str>,
    script: &Script,
    interrupt: &Interrupt,
    is_quiet: bool,
) -> io::Result<Result<Database, u8>> {
    let tell = |text: &str| {
        if !is_quiet {
            say(text);
        }
    };
    for line in place::banner() {
        complain(&line);
    }
    tell("Resolving context...");
    let place = match place::resolve(directory, context)? {
        Ok(place) => place,
        Err(text) => {
            tell(&text);
            return Ok(Err(1));
        }
    };
    tell("Initializing services and database connection...");
    let Place::Embedded { path, backend } = place else {
        tell("Database Connection Error: Error 111 connecting to 127.0.0.1:6379. Connection refused.");
        tell(ADVICE);
        return Ok(Err(1));
    };
    let patience = Duration::from_millis(script.lock_wait_ms);
    match Database::open(&path, backend, patience, interrupt)? {
        Ok(database) => {
            tell("Services initialized.");
            Ok(Ok(database))
        }
        Err(Refusal::Locked(text)) => {
            tell(&format!("Database Connection Error: {text}"));
            tell(LOCKED);
            Ok(Err(1))
        }
        Err(Refusal::Broken(text)) => {
            tell(&format!("Database Connection Error: {text}"));
            tell(ADVICE);
            Ok(Err(1))
        }
        Err(Refusal::Interrupted) => Ok(Err(130)),
    }
}

const ADVICE: &str = "Please ensure your database is configured correctly or run 'cgc doctor'.";

const LOCKED: &str = "Another CGC process already has this embedded database open. If a CGC Gateway or watcher is \
                      running, use its MCP/HTTP interface or stop it before running database-backed CLI commands.";
