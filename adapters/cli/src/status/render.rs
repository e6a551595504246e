//! The status report for a person: what is known, what it means, and what can be done.
//!
//! It must never add to what the report says, and never print a name as it came.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use jiff::Timestamp;
use steward_wire::{Activity, FreshnessStatus, IndexState, StatusReport};

use crate::plain::{plain, shown};
use crate::words::{counted, duration, state_meaning, state_name, way_out};

/// The width of the column of labels.
const LABEL_WIDTH: usize = 13;

/// Returns the report as lines; `now` turns times into ages.
pub(crate) fn render(report: &StatusReport, now: Timestamp) -> String {
    let mut page = Page::default();
    page.line("Workspace", &shown(&report.workspace));
    let style = style(report.state);
    page.line("State", &format!("{style}{}{style:#}: {}", state_name(report.state), state_meaning(report.state)));
    if let Some(activity) = &report.activity {
        page.line("Running", &running(activity, now));
    }
    page.line("Freshness", &freshness(report, now));
    page.line("Database", &database(report));
    page.line("Context", &report.context.as_deref().map_or_else(|| "none".to_owned(), plain));
    page.line("Last proof", &receipt(report, now));
    if let Some(action) = &report.last_action {
        let verdict = if action.succeeded { "succeeded" } else { "failed" };
        page.line(
            "Last action",
            &format!("{} {verdict} {}: {}", plain(&action.name), age(&action.at, now), plain(&action.outcome)),
        );
    }
    if let Some(error) = &report.last_error {
        page.line("Last error", &format!("{}, {}", plain(&error.message), age(&error.at, now)));
    }
    for session in &report.sessions {
        page.line("Session", &format!("{}, process {}", session.harness.title(), session.pid));
    }
    page.line("Daemon", &report.daemon.map_or_else(|| "none is running".to_owned(), |pid| format!("process {pid}")));
    for item in &report.evidence {
        page.line("Evidence", &format!("{}: {}", plain(&item.source), plain(&item.finding)));
    }
    for warning in &report.warnings {
        page.line("Ignored", &plain(warning));
    }
    if let Some(way_out) = way_out(report) {
        page.line("What to do", &way_out);
    }
    page.0
}

#[derive(Default)]
struct Page(String);

impl Page {
    fn line(&mut self, label: &str, text: &str) {
        if !self.0.is_empty() {
            self.0.push('\n');
        }
        // Writing to a string cannot fail.
        let _infallible = write!(self.0, "{label:<LABEL_WIDTH$}{text}");
    }
}

fn style(state: IndexState) -> Style {
    match state {
        IndexState::Clean => AnsiColor::Green.on_default().bold(),
        IndexState::Corrupt | IndexState::Unavailable => AnsiColor::Red.on_default().bold(),
        IndexState::Unknown | IndexState::Unindexed | IndexState::Incomplete | IndexState::Busy | IndexState::Drift => {
            AnsiColor::Yellow.on_default().bold()
        }
    }
}

fn running(activity: &Activity, now: Timestamp) -> String {
    let mut text = format!("{}, {}, {}", plain(&activity.name), plain(&activity.phase), lasting(&activity.since, now));
    if let Some(counted) = counted(activity.done, activity.total) {
        let _infallible = write!(text, ", {counted}");
    }
    if let Some(silent) = activity.silent_ms.filter(|silent| *silent >= 10_000) {
        let _infallible = write!(text, ", cgc silent for {}", duration(silent));
    }
    text
}

fn freshness(report: &StatusReport, now: Timestamp) -> String {
    let freshness = &report.freshness;
    let mut text = match freshness.status {
        FreshnessStatus::Fresh => "fresh",
        FreshnessStatus::PossiblyStale => "possibly stale",
        FreshnessStatus::Syncing => "syncing",
        FreshnessStatus::SkippedBusy => "behind, since the database is held",
        FreshnessStatus::Unknown => "unknown",
    }
    .to_owned();
    if let Some(scope) = freshness.scope.as_deref().filter(|scope| *scope != "exact") {
        let _infallible = write!(text, " ({} only)", plain(scope));
    }
    if let Some(since) = &freshness.since {
        let _infallible = write!(text, " {}", lasting(since, now));
    }
    let _infallible = write!(text, ": {}", plain(&freshness.reason));
    text
}

fn database(report: &StatusReport) -> String {
    let backend = &report.backend;
    let mut text = plain(&backend.name);
    if let Some(database) = &backend.database {
        let _infallible = write!(text, " in {}", shown(database));
    }
    let _infallible = write!(text, " ({})", plain(&backend.source));
    if let Some(requested) = &backend.requested {
        let _infallible = write!(text, "; {} was asked for", plain(requested));
    }
    text
}

fn receipt(report: &StatusReport, now: Timestamp) -> String {
    let Some(receipt) = &report.receipt else {
        return "none".to_owned();
    };
    let commit = receipt.commit.as_deref().map(|commit| plain(commit).chars().take(12).collect::<String>());
    format!(
        "{}: {} files{}, by {}, cgc {}",
        age(&receipt.at, now),
        receipt.files,
        commit.map(|commit| format!(" at commit {commit}")).unwrap_or_default(),
        plain(&receipt.engine),
        plain(&receipt.cgc_version)
    )
}

/// Returns how long ago `moment` was, as in "3 minutes ago".
fn age(moment: &str, now: Timestamp) -> String {
    match elapsed(moment, now) {
        Ok(0..1_000) => "just now".to_owned(),
        Ok(elapsed) => format!("{} ago", duration(elapsed)),
        Err(moment) => moment,
    }
}

/// Returns how long something has lasted that began at `moment`, as in "for 3 minutes".
fn lasting(moment: &str, now: Timestamp) -> String {
    match elapsed(moment, now) {
        Ok(0..1_000) => "since just now".to_owned(),
        Ok(elapsed) => format!("for {}", duration(elapsed)),
        Err(moment) => format!("since {moment}"),
    }
}

/// Returns the milliseconds from `moment` (RFC 3339) to `now`, 0 where it is still to come; a moment that cannot be
/// read is given back fit to be shown.
fn elapsed(moment: &str, now: Timestamp) -> Result<u64, String> {
    let then: Timestamp = moment.parse().map_err(|_| plain(moment))?;
    Ok(u64::try_from(now.as_millisecond().saturating_sub(then.as_millisecond())).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use steward_wire::{
        BackendReport, EvidenceItem, FailureReport, FreshnessReport, HarnessName, LastAction, ReceiptReport,
        SessionReport,
    };

    use super::*;

    fn now() -> Timestamp {
        "2026-12-01T12:00:00Z".parse().unwrap()
    }

    fn drift() -> StatusReport {
        StatusReport {
            workspace: "/home/ada/project".into(),
            state: IndexState::Drift,
            activity: None,
            evidence: vec![EvidenceItem { source: "working tree".into(), finding: "2 files changed".into() }],
            freshness: FreshnessReport {
                status: FreshnessStatus::PossiblyStale,
                since: Some("2026-12-01T11:58:00Z".into()),
                reason: "2 files changed".into(),
                scope: None,
            },
            backend: BackendReport {
                name: "kuzudb".into(),
                source: "file magic".into(),
                database: Some("/home/ada/.codegraphcontext/global/db/kuzudb".into()),
                requested: None,
            },
            context: None,
            receipt: Some(ReceiptReport {
                at: "2026-11-30T12:00:00Z".into(),
                commit: Some("0123456789abcdef".into()),
                files: 140,
                cgc_version: "0.6.13".into(),
                scope: "exact".into(),
                engine: "reconcile".into(),
                full_index_at: None,
            }),
            last_action: Some(LastAction {
                name: "sync".into(),
                outcome: "3 files were brought up to date".into(),
                succeeded: true,
                at: "2026-12-01T09:00:00Z".into(),
            }),
            last_error: None,
            sessions: vec![SessionReport { harness: HarnessName::ClaudeCode, pid: 7, id: None }],
            warnings: vec![],
            daemon: Some(9),
        }
    }

    fn visible(report: &StatusReport) -> String {
        anstream::adapter::strip_str(&render(report, now())).to_string()
    }

    #[test]
    fn everything_that_is_known_is_shown_with_the_way_out() {
        assert_eq!(
            visible(&drift()),
            "\
Workspace    /home/ada/project
State        drift: the graph is behind the working tree, or not known to match it
Freshness    possibly stale for 2 minutes: 2 files changed
Database     kuzudb in /home/ada/.codegraphcontext/global/db/kuzudb (file magic)
Context      none
Last proof   1 day ago: 140 files at commit 0123456789ab, by reconcile, cgc 0.6.13
Last action  sync succeeded 3 hours ago: 3 files were brought up to date
Session      Claude Code, process 7
Daemon       process 9
Evidence     working tree: 2 files changed
What to do   It is brought up to date when a session starts; `steward sync` does it now."
        );
    }

    #[test]
    fn running_work_hides_the_way_out_and_shows_how_far_it_is() {
        let report = StatusReport {
            state: IndexState::Unindexed,
            activity: Some(Activity {
                name: "indexing".into(),
                phase: "reading files".into(),
                since: "2026-12-01T11:59:30Z".into(),
                done: Some(12),
                total: Some(140),
                silent_ms: Some(12_000),
            }),
            ..drift()
        };

        let text = visible(&report);

        assert!(
            text.contains(
                "Running      indexing, reading files, for 30 seconds, 12 of 140 files, cgc silent for 12 seconds\n"
            ),
            "{text}"
        );
        assert!(!text.contains("What to do"), "{text}");
    }

    #[test]
    fn names_cannot_forge_lines_or_colours() {
        let report = StatusReport {
            workspace: "/w/x\nState        clean".into(),
            context: Some("\u{1b}[32mclean".into()),
            warnings: vec!["a\rb".into()],
            last_error: Some(FailureReport { message: "a\u{7}b".into(), at: "never\n".into() }),
            ..drift()
        };

        let text = visible(&report);

        assert_eq!(text.lines().filter(|line| line.starts_with("State ")).count(), 1);
        assert!(text.contains("Context      \\u{1b}[32mclean\n"), "{text}");
        assert!(text.contains("a\\u{7}b, never\\n\n"), "{text}");
        assert!(text.contains("a\\rb\n"), "{text}");
    }
}
