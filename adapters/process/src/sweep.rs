//! Ending what earlier daemons left behind.
//!
//! It must never kill what it cannot prove to be of a group in the ledger, and never break into the grace in which a
//! living guard ends its own group.

use std::io;
use std::time::Duration;

use steward_guard::process_table;

use crate::identity;
use crate::ledger::{Entry, Record};
use crate::process_watch;
use crate::remains::{Ending, Remains};

/// How long a guard may take over its grace before it counts as stuck.
const GUARD_PATIENCE: Duration = Duration::from_secs(3);

/// What is to be done about one entry.
#[derive(Debug)]
pub(crate) enum Finding {
    /// The entry says nothing, or belongs to another boot: nothing of it can be left.
    Void,
    /// The guard lives. It has seen the end of its daemon and gets the time it needs.
    Guarded(Record),
    /// The guard is gone.
    Unguarded(Record),
}

/// Looks at one entry and signals nothing.
pub(crate) fn look(record: Option<Record>) -> io::Result<Finding> {
    let Some(record) = record else {
        return Ok(Finding::Void);
    };
    if record.guard.boot_id != identity::boot_id()? {
        return Ok(Finding::Void);
    }
    if identity::is_alive(&record.guard)? { Ok(Finding::Guarded(record)) } else { Ok(Finding::Unguarded(record)) }
}

/// Ends what is left of a group without a guard. Returns how many processes were killed.
pub(crate) async fn end_unguarded(entry: Entry, record: &Record) -> io::Result<usize> {
    // Its number may be another group's by now, so only the mark proves anything.
    let remains = Remains { marker: &record.marker, group: None };
    let ending = remains.end().await?;
    close_entry(entry, record, ending)?;
    Ok(ending.killed)
}

/// Waits until a living guard has ended its group, and ends both where it is stuck.
pub(crate) async fn see_guarded_end(entry: Entry, record: Record) -> io::Result<()> {
    let patience = record.orphan_grace + GUARD_PATIENCE;
    let is_stuck = match tokio::time::timeout(patience, process_watch::wait_ended(&record.guard)).await {
        Ok(ended) => {
            ended?;
            false
        }
        Err(_) => true,
    };
    let remains = Remains {
        marker: &record.marker,
        // A guard that lives keeps the group's number.
        group: is_stuck.then(|| process_table::to_pid(record.guard.pid)).flatten(),
    };
    if is_stuck {
        tracing::warn!(group = %record.marker, "the guard of an earlier daemon is stuck and is killed");
    }
    let ending = remains.end().await?;
    close_entry(entry, &record, ending)
}

/// Removes an entry of which nothing is left, and keeps one of which something may be.
fn close_entry(entry: Entry, record: &Record, ending: Ending) -> io::Result<()> {
    if ending.is_complete && !has_unverified_members(record)? {
        return entry.remove();
    }
    tracing::warn!(
        group = %record.marker,
        program = %record.program,
        entry = %entry.path().display(),
        "processes may be left of an earlier daemon's group, and cannot be proved to be its",
    );
    Ok(())
}

/// Whether there are processes in a group of that number which do not carry its mark: they wrote over their environment,
/// or they are strangers.
fn has_unverified_members(record: &Record) -> io::Result<bool> {
    // A number is given to a new process only when no group has it any more.
    if process_table::read(record.guard.pid)?.is_some_and(|process| process.start_time != record.guard.start_time) {
        return Ok(false);
    }
    let processes = process_table::all()?;
    Ok(processes.iter().any(|process| process.is_alive && process.group == record.guard.pid))
}
