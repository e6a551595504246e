//! What the end of a cgc process means.
//!
//! It must never take exit 0 for success: cgc 0.6.13 exits 0 after failing, after skipping and after doing nothing.

mod summary;

use std::time::Duration;

use steward_ports::{Backend, Ended, Exit, GraphTarget, Verb, Verdict};

use crate::output::Printed;
use crate::{inventory, milestone};

use summary::Summary;

const SIGHUP: i32 = 1;
const SIGINT: i32 = 2;
const SIGABRT: i32 = 6;
const SIGBUS: i32 = 7;
const SIGKILL: i32 = 9;
const SIGSEGV: i32 = 11;
const SIGTERM: i32 = 15;

/// What Python's command-line library exits with after an interrupt.
const INTERRUPTED: i32 = 130;

/// cgc 0.6.13 sleeps 7.5 s in all between its attempts at a locked database.
const LOCK_PATIENCE: Duration = Duration::from_millis(7_500);

const LOCKED: &str = "Could not set lock on file";

/// What Kuzu 0.11 and Ladybug 0.19 say about a database that they cannot read.
const CORRUPT: [&str; 12] = [
    "not a valid Kuzu database file",
    "not a valid Lbug database file",
    "Reading past the end of the file",
    "Corrupted wal file",
    "Checksum verification failed",
    "Cannot read checkpoint",
    "unordered_map::at",
    "basic_string::",
    "std::bad_alloc",
    "UNREACHABLE_CODE",
    "Database ID for temporary file",
    "Storage exception",
];

/// What the clients of FalkorDB and Neo4j say when nobody answers.
const UNREACHABLE: [&str; 6] = [
    "Connection refused",
    "Name or service not known",
    "Temporary failure in name resolution",
    "No route to host",
    "Couldn't connect to",
    "Unable to connect to Neo4j",
];

/// Where cgc says that it took another backend than the one that it was asked for.
const FALLBACKS: [&str; 3] = ["Database backend fallback:", "Falling back to K", "Successfully switched to K"];

/// Returns what the end of `verb` means. `reached_ready` tells whether the ready line was seen; it may also have been
/// printed and kept without having been seen.
pub(crate) fn judge(verb: Verb, target: &GraphTarget, ended: &Ended, reached_ready: bool) -> Verdict {
    let printed = Printed::of(ended);
    if verb == Verb::Doctor {
        return judge_doctor(ended.exit, &printed);
    }
    if let Exit::Signal(signal @ (SIGSEGV | SIGABRT | SIGBUS)) = ended.exit {
        return Verdict::Corrupt { evidence: format!("cgc crashed on the database (signal {signal})") };
    }
    if let Some(evidence) = fallback(&printed, &target.location.backend) {
        return Verdict::BackendChanged { evidence };
    }
    let is_ready = reached_ready || printed.stdout.lines().any(milestone::is_ready);
    match ended.exit {
        Exit::Code(0) => judge_success(verb, target, &printed, is_ready),
        // Whatever ended it after the ready line, the work was done and committed before.
        Exit::Signal(SIGHUP | SIGINT | SIGTERM | SIGKILL) | Exit::Code(INTERRUPTED) => {
            if verb == Verb::Reconcile && is_ready { reconciled(&printed) } else { Verdict::Interrupted }
        }
        Exit::Signal(signal) => Verdict::Failed { reason: format!("cgc was ended by signal {signal}") },
        Exit::Code(code) => judge_failure(code, &printed, ended.elapsed),
    }
}

fn judge_success(verb: Verb, target: &GraphTarget, printed: &Printed, is_ready: bool) -> Verdict {
    // Only a line of its own: a file or a diagnostic may be called anything.
    let error = printed.lines().map(str::trim).find(|line| line.starts_with("An error occurred"));
    if let Some(error) = error {
        return judge_text(printed).unwrap_or_else(|| Verdict::Failed { reason: error.to_owned() });
    }
    match verb {
        Verb::Inventory if printed.is_cut => {
            Verdict::Failed { reason: "cgc's answer to a query is larger than what is kept of it".to_owned() }
        }
        Verb::Inventory => match inventory::parse(&printed.stdout, &target.root) {
            Ok(Some(inventory)) => Verdict::Holds(inventory),
            Ok(None) => Verdict::Unindexed,
            Err(reason) => Verdict::Failed { reason },
        },
        Verb::Index | Verb::Rebuild => judge_index(printed),
        Verb::Reconcile if is_ready => reconciled(printed),
        // cgc takes an interrupt for the wish to stop, whatever it was doing.
        Verb::Reconcile if printed.says("Watcher stopped") => Verdict::Interrupted,
        Verb::Reconcile | Verb::Doctor => silent(printed),
    }
}

fn judge_index(printed: &Printed) -> Verdict {
    let has_worked =
        ["Successfully finished indexing:", "Successfully re-indexed:"].iter().any(|text| printed.says(text));
    if !has_worked {
        let has_skipped = printed.says("is already indexed with") && printed.says("Skipping");
        return if has_skipped { Verdict::Skipped } else { silent(printed) };
    }
    let summary = Summary::read(printed);
    let unparsed = files_without_grammar(printed);
    if unparsed > 0 && summary.functions == Some(0) && summary.classes == Some(0) {
        return Verdict::NoGrammars;
    }
    partial(unparsed.max(summary.failed)).unwrap_or(Verdict::Worked)
}

fn reconciled(printed: &Printed) -> Verdict {
    // It prints no counts, so that a total absence of grammars looks like some files that failed; the proof tells.
    partial(files_without_grammar(printed)).unwrap_or(Verdict::Reconciled)
}

fn partial(failed: u64) -> Option<Verdict> {
    (failed > 0).then_some(Verdict::Partial { failed })
}

/// Counts the files that were left out for want of a grammar. It is a lower bound where not all output was kept.
fn files_without_grammar(printed: &Printed) -> u64 {
    let skipped = printed.stderr.lines().filter(|line| line.contains("No parser found for file extension")).count();
    let named = printed.stderr.contains("Failed to initialize parser for");
    (skipped as u64).max(u64::from(named))
}

fn judge_failure(code: i32, printed: &Printed, elapsed: Duration) -> Verdict {
    if let Some(verdict) = judge_text(printed) {
        return verdict;
    }
    if printed.lines().any(|line| line.trim() == "Aborted.") {
        return Verdict::Interrupted;
    }
    let has_spoken = printed.lines().any(|line| !line.trim().is_empty() && !is_banner(line));
    if !has_spoken {
        // `update --quiet` keeps silent about a locked database; nothing else waits so long before it fails.
        return if code == 1 && elapsed >= LOCK_PATIENCE {
            Verdict::Busy
        } else {
            Verdict::Failed { reason: format!("cgc exited with code {code} and said nothing") }
        };
    }
    Verdict::Failed { reason: printed.complaint().unwrap_or_else(|| format!("cgc exited with code {code}")) }
}

/// Recognises the causes that cgc names, in whichever stream and however broken.
fn judge_text(printed: &Printed) -> Option<Verdict> {
    if printed.says(LOCKED) {
        return Some(Verdict::Busy);
    }
    let first_of = |texts: &[&str]| texts.iter().find_map(|text| printed.line_with(text));
    if let Some(evidence) = first_of(&CORRUPT) {
        return Some(Verdict::Corrupt { evidence });
    }
    first_of(&UNREACHABLE).map(|evidence| Verdict::ServerDown { evidence })
}

/// Returns the words with which cgc left the backend that it was given, unless it came back to that very one.
fn fallback(printed: &Printed, backend: &Backend) -> Option<String> {
    let evidence = FALLBACKS.iter().find_map(|text| printed.line_with(text))?;
    let (_, taken) = evidence.split_once("Now using ").unwrap_or(("", &evidence));
    let name = match backend {
        Backend::Kuzu => &["KùzuDB at", "KuzuDB at"][..],
        Backend::Ladybug => &["LadybugDB at"],
        Backend::Neo4j => &["Neo4j Server"],
        Backend::FalkorLite | Backend::FalkorRemote | Backend::Unknown => &[],
    };
    (!name.iter().any(|name| taken.starts_with(name))).then_some(evidence)
}

fn judge_doctor(exit: Exit, printed: &Printed) -> Verdict {
    match exit {
        Exit::Code(INTERRUPTED) | Exit::Signal(SIGHUP | SIGINT | SIGTERM | SIGKILL) => Verdict::Interrupted,
        // It exits 1 for a warning and 0 for a database that cannot be opened, so the code says nothing.
        Exit::Code(_) => Verdict::Report(format!("{}{}", printed.stderr, printed.stdout)),
        Exit::Signal(signal) => Verdict::Failed { reason: format!("cgc was ended by signal {signal}") },
    }
}

fn silent(printed: &Printed) -> Verdict {
    let said = printed
        .lines()
        .rfind(|line| !line.trim().is_empty() && !is_banner(line))
        .map(|line| format!("; its last words: {}", line.trim()));
    Verdict::Failed { reason: format!("cgc ended without saying what it did{}", said.unwrap_or_default()) }
}

/// Lines that every command begins with.
fn is_banner(line: &str) -> bool {
    [
        "No configuration file found",
        "Loaded configuration from",
        "DEFAULT_DATABASE defined in multiple sources",
        "Using database:",
        "Force re-indexing",
        "Updating repository index",
    ]
    .iter()
    .any(|banner| line.trim_start().starts_with(banner))
}

#[cfg(test)]
mod tests;
