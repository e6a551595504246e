//! cgc, its grammars, and the graph of the workspace.
//!
//! It must never start cgc.

use steward_cgc::{Grammars, grammars};
use steward_ports::{Backend, GraphFacts, GraphQuery, GraphTarget, Installation, LockState};
use steward_wire::IndexState;

use super::Subject;
use super::finding::Finding;
use crate::failure::Failure;
use crate::plain::{plain, shown};
use crate::words::{INSTALL_CGC, state_meaning, state_name, way_out};

/// The version of cgc that the companion knows.
const KNOWN_VERSION: &str = "0.6.13";

/// Returns the findings, and what cgc's own doctor is to be asked about where there is a cgc.
pub(super) async fn look(subject: &Subject<'_>) -> (Vec<Finding>, Option<GraphTarget>) {
    let root = subject.resolution.workspace.root.as_path();
    let query = GraphQuery {
        root: root.to_owned(),
        executable: subject.resolution.settings.settings.cgc.executable.clone(),
        environment: subject.environment.clone(),
    };
    let facts = match subject.ports.graph.inspect(&query).await {
        Ok(facts) => facts,
        Err(error) => {
            return (vec![Finding::fail("cgc", Failure::caused_by(&error).message(), INSTALL_CGC)], None);
        }
    };
    let mut findings = vec![
        cgc(&facts.installation),
        languages(&grammars(&facts.installation, &subject.environment)),
        database(&facts),
    ];
    findings.extend(lock(subject, &facts).await);
    findings.push(state(subject));
    let target = GraphTarget {
        root: query.root,
        installation: facts.installation,
        location: facts.location,
        environment: query.environment,
    };
    (findings, Some(target))
}

fn cgc(installation: &Installation) -> Finding {
    const CHECK: &str = "cgc";
    let place = shown(&installation.executable);
    match installation.version.as_deref() {
        Some(KNOWN_VERSION) => Finding::ok(CHECK, format!("version {KNOWN_VERSION}, {place}")),
        Some(version) => Finding::warn(
            CHECK,
            format!("version {version}, {place}"),
            format!("The companion knows version {KNOWN_VERSION}; with another one it may misread what cgc says."),
        ),
        None => Finding::warn(
            CHECK,
            format!("{place}, of unknown version"),
            "Its package was not found beside it; install cgc into an environment of its own.",
        ),
    }
}

fn languages(grammars: &Grammars) -> Finding {
    const CHECK: &str = "grammars";
    match grammars {
        Grammars::Bundled { version } => {
            Finding::ok(CHECK, format!("inside tree-sitter-language-pack {}", plain(version)))
        }
        Grammars::Fetched { directory, languages } if languages.is_empty() => Finding::warn(
            CHECK,
            format!("none in {}", shown(directory)),
            "cgc fetches each from github.com at its first use; where that fails it indexes no symbol and says nothing.",
        ),
        Grammars::Fetched { directory, languages } => {
            Finding::ok(CHECK, format!("{} in {}", languages.join(", "), shown(directory)))
        }
        Grammars::Unknown => Finding::warn(
            CHECK,
            "tree-sitter-language-pack was not found beside cgc",
            "Without it cgc parses nothing; `pip install tree-sitter-language-pack` in cgc's environment.",
        ),
    }
}

fn database(facts: &GraphFacts) -> Finding {
    const CHECK: &str = "database";
    let location = &facts.location;
    let place = location.database.as_deref().map_or_else(|| "on a server".to_owned(), shown);
    let found = format!("{} {place} ({})", location.backend.name(), location.backend_source);
    if facts.unreadable_magic {
        return Finding::fail(
            CHECK,
            found,
            "It is no database of cgc's. `steward rebuild` puts a new one in its place.",
        );
    }
    if location.backend == Backend::FalkorLite {
        return Finding::warn(
            CHECK,
            found,
            "cgc leaves a server behind with this backend, so the companion does not drive it. Set \
             DEFAULT_DATABASE=kuzudb.",
        );
    }
    match &location.requested {
        Some(requested) => Finding::warn(
            CHECK,
            format!("{found}, although {} was asked for", requested.name()),
            "The database in use decides. Ask for the same one, or index anew with the other.",
        ),
        None => Finding::ok(CHECK, found),
    }
}

async fn lock(subject: &Subject<'_>, facts: &GraphFacts) -> Option<Finding> {
    const CHECK: &str = "database lock";
    let database = facts.location.database.as_deref()?;
    Some(match subject.ports.locks.holder(database).await {
        Ok(LockState::Absent) => Finding::ok(CHECK, "there is no database yet"),
        Ok(LockState::Free) => Finding::ok(CHECK, "nobody holds it"),
        Ok(LockState::Held(holder)) => {
            let pid = holder.pid.map_or_else(|| "in another pid namespace".to_owned(), |pid| format!("process {pid}"));
            let place = holder.directory.as_deref().map(|directory| format!(", in {}", shown(directory)));
            Finding::warn(
                CHECK,
                format!("{} holds it, {pid}{}", holder.name, place.unwrap_or_default()),
                "While it does, nothing else can read or update the graph. End it, or wait for it.",
            )
        }
        Err(error) => Finding::warn(CHECK, Failure::caused_by(&error).message(), "Make the database readable for you."),
    })
}

fn state(subject: &Subject<'_>) -> Finding {
    const CHECK: &str = "graph";
    let report = match &subject.report {
        Ok(report) => report,
        Err(failure) => return Finding::warn(CHECK, failure.message(), "`steward status` may tell more."),
    };
    let found = format!("{}: {}", state_name(report.state), state_meaning(report.state));
    let Some(advice) = way_out(report) else {
        return Finding::ok(CHECK, found);
    };
    match report.state {
        IndexState::Unknown | IndexState::Clean => Finding::ok(CHECK, found),
        IndexState::Unindexed | IndexState::Busy | IndexState::Drift => Finding::warn(CHECK, found, advice),
        IndexState::Unavailable | IndexState::Incomplete | IndexState::Corrupt => Finding::fail(CHECK, found, advice),
    }
}
