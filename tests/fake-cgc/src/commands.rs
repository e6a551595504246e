//! cgc's commands, each as the real one behaves on the files that it finds.
//!
//! It must never repair what the real one leaves broken.

mod index;
mod query;
mod watch;

use std::path::{Path, PathBuf};
use std::{env, fs, io};

use steward_fake_cgc::{Command, Script};

use crate::interrupt::Interrupt;
use crate::misbehaviour::Misbehaviour;
use crate::terminal::{complain, say};
use crate::{place, services};

/// What a command works with.
#[derive(Debug)]
pub(crate) struct Call<'a> {
    pub(crate) words: Vec<&'a str>,
    pub(crate) flags: Vec<&'a str>,
    pub(crate) context: Option<&'a str>,
    pub(crate) script: &'a Script,
    pub(crate) misbehaviour: &'a Misbehaviour,
    pub(crate) interrupt: &'a Interrupt,
}

/// Tells which command the arguments name.
pub(crate) fn classify(arguments: &[String]) -> Command {
    let is_forced = arguments.iter().any(|argument| argument == "--force" || argument == "-f");
    match arguments.first().map(String::as_str) {
        Some("query") => Command::Query,
        Some("index") if !is_forced => Command::Index,
        Some("index" | "update") => Command::Rebuild,
        Some("watch") => Command::Watch,
        Some("doctor") => Command::Doctor,
        _ => Command::Other,
    }
}

/// Runs a command and returns its exit code.
pub(crate) fn run(
    command: Command,
    arguments: &[String],
    script: &Script,
    misbehaviour: &Misbehaviour,
    interrupt: &Interrupt,
) -> io::Result<u8> {
    let (flags, words): (Vec<&str>, Vec<&str>) =
        arguments.iter().map(String::as_str).partition(|argument| argument.starts_with('-'));
    let call = Call {
        context: flags.iter().find_map(|flag| flag.strip_prefix("--context=")),
        words,
        flags,
        script,
        misbehaviour,
        interrupt,
    };
    match command {
        Command::Query => query::query(&call),
        Command::Index => index::index(&call),
        Command::Rebuild => index::rebuild(&call),
        Command::Watch => watch::watch(&call),
        Command::Doctor => doctor(),
        Command::Other => other(&call),
    }
}

impl Call<'_> {
    /// The path that the command is about, resolved as far as it exists.
    pub(crate) fn path(&self) -> io::Result<PathBuf> {
        let given = Path::new(self.words.get(1).copied().unwrap_or("."));
        match fs::canonicalize(given) {
            Ok(path) => Ok(path),
            Err(_) => Ok(env::current_dir()?.join(given)),
        }
    }

    /// Whether a flag was given.
    pub(crate) fn has(&self, flag: &str) -> bool {
        self.flags.contains(&flag)
    }
}

fn other(call: &Call<'_>) -> io::Result<u8> {
    match call.words.first() {
        Some(&"list") => query::list(call),
        Some(&"stats") => query::stats(call),
        _ if call.has("--version") => {
            place::resolve(Path::new("/"), None)?.ok();
            complain("CodeGraphContext 0.6.13");
            Ok(0)
        }
        unknown => {
            complain(&format!("No such command '{}'.", unknown.unwrap_or(&"")));
            Ok(2)
        }
    }
}

/// It never opens an embedded database, so it reports a healthy one whatever state that is in.
fn doctor() -> io::Result<u8> {
    place::resolve(Path::new("/"), None)?.ok();
    let settings = place::cgc_directory().join(".env");
    if !settings.exists() {
        place::write_new(&settings, "DEFAULT_DATABASE=falkordb\n")?;
        say(&format!("✅ Configuration saved to {}", settings.display()));
    }
    complain("🏥 Running CodeGraphContext Diagnostics...\n");
    complain("1. Checking Configuration...\n   ✓ All configuration values are valid\n");
    complain("2. Checking Database Connection...");
    for line in place::banner() {
        complain(&line);
    }
    complain("   ✓ KuzuDB is installed\n");
    complain(&"=".repeat(60));
    complain("✅ All diagnostics passed! System is healthy.");
    Ok(0)
}

/// Opens the database for a call about `directory`.
fn open(call: &Call<'_>, directory: &Path) -> io::Result<Result<crate::database::Database, u8>> {
    let is_quiet = call.has("--quiet");
    services::open(directory, call.context, call.script, call.interrupt, is_quiet)
}
