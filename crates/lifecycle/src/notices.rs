//! The words for the human: what happened, what it means, what to do.
//!
//! It must never hold anything that a repository can choose freely.

use std::path::Path;

use steward_ports::{Holder, Notice, NoticeKind};

use crate::assess::describe_holder;

pub(crate) fn unavailable(reason: &str) -> Notice {
    notice(
        NoticeKind::Unavailable,
        format!("cgc cannot be used ({reason}), so this workspace has no code graph to look after."),
        "Install it with `pip install codegraphcontext`, put it on the PATH, or set cgc.executable.",
    )
}

pub(crate) fn unindexed(root: &Path) -> Notice {
    notice(
        NoticeKind::Unindexed,
        format!("This workspace ({}) has no code graph yet.", root.display()),
        "Create it with `steward index` (cgc also writes a .cgcignore file into the workspace), or set \
         lifecycle.autoCreate = true to have missing graphs created.",
    )
}

pub(crate) fn indexing_started() -> Notice {
    notice(
        NoticeKind::IndexingStarted,
        "The code graph of this workspace is being created in the background.".to_owned(),
        "Follow it with `steward status`.",
    )
}

pub(crate) fn indexing_done(summary: &str) -> Notice {
    notice(
        NoticeKind::IndexingDone,
        format!("The code graph of this workspace is ready: {summary}."),
        "See `steward status`.",
    )
}

pub(crate) fn indexing_failed(summary: &str, advice: Option<&str>) -> Notice {
    let default = "Look at `steward status`, then try `steward index` or `steward rebuild`.";
    notice(
        NoticeKind::IndexingFailed,
        format!("The code graph could not be brought up to date: {summary}."),
        advice.unwrap_or(default),
    )
}

pub(crate) fn incomplete(reason: &str) -> Notice {
    notice(
        NoticeKind::Incomplete,
        format!("The code graph of this workspace is incomplete: {reason}."),
        "Finish it with `steward index`, or replace it with `steward rebuild`.",
    )
}

pub(crate) fn busy(holder: Option<&Holder>) -> Notice {
    let who = holder.map_or_else(|| "Another process".to_owned(), describe_holder);
    notice(
        NoticeKind::Busy,
        format!("{who} holds the graph database, so the code graph cannot be looked at or brought up to date now."),
        "It is tried again when the database is free. To have it now, end that process; an agent's own cgc server holds \
         the database for as long as its session lasts.",
    )
}

pub(crate) fn corrupt(evidence: &str) -> Notice {
    notice(
        NoticeKind::Corrupt,
        format!("The graph database cannot be used: {evidence}. Nothing was deleted."),
        "Replace the graph with `steward rebuild`.",
    )
}

pub(crate) fn possibly_stale(what: &str) -> Notice {
    notice(
        NoticeKind::PossiblyStale,
        format!("The code graph may be behind the working tree ({what})."),
        "Bring it up to date with `steward sync`.",
    )
}

pub(crate) fn sync_completed(summary: &str) -> Notice {
    Notice {
        kind: NoticeKind::SyncCompleted,
        text: format!("The code graph was brought up to date: {summary}."),
        advice: None,
    }
}

pub(crate) fn unsupported_backend(reason: &str) -> Notice {
    notice(
        NoticeKind::UnsupportedBackend,
        format!("The code graph is left alone: {reason}."),
        "Choose a backend with DEFAULT_DATABASE, for example DEFAULT_DATABASE=kuzudb.",
    )
}

fn notice(kind: NoticeKind, text: String, advice: &str) -> Notice {
    Notice { kind, text, advice: Some(advice.to_owned()) }
}
