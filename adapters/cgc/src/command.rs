//! cgc's command lines.
//!
//! It must never build one that deletes a graph for any verb but `Rebuild`, and never pass through a shell.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use steward_ports::{Backend, CommandSpec, ContextMode, GraphTarget, Verb};

use crate::{environment, inventory};

/// Work on the graph yields to what the user does.
const NICENESS: u8 = 10;

/// cgc's reports are a few kilobytes; a missing grammar adds three lines for each file.
const REPORT_LIMIT: usize = 256 * 1024;

/// A path takes about 100 bytes of an inventory, so this is enough for half a million files.
const INVENTORY_LIMIT: usize = 64 * 1024 * 1024;

/// Returns the command that does `verb` to `target`.
pub(crate) fn build(verb: Verb, target: &GraphTarget) -> CommandSpec {
    CommandSpec {
        program: target.installation.executable.clone(),
        arguments: arguments(verb, target),
        directory: directory(target),
        environment: environment::build(target),
        capture_limit: match verb {
            Verb::Inventory => INVENTORY_LIMIT,
            Verb::Index | Verb::Rebuild | Verb::Reconcile | Verb::Doctor => REPORT_LIMIT,
        },
        orphan_grace: orphan_grace(verb, &target.location.backend),
        niceness: NICENESS,
    }
}

fn arguments(verb: Verb, target: &GraphTarget) -> Vec<OsString> {
    let words: &[&str] = match verb {
        Verb::Inventory => &["query"],
        Verb::Index => &["index", "--no-progress"],
        // `update` is the same work, but its quiet form hides why it failed.
        Verb::Rebuild => &["index", "--force", "--no-progress"],
        Verb::Reconcile => &["watch", "--sync-on-start"],
        Verb::Doctor => &["doctor"],
    };
    let mut arguments: Vec<OsString> = words.iter().map(OsString::from).collect();
    if let (Some(context), true) = (&target.location.context, verb != Verb::Doctor) {
        // The banner misses the glued short form, and a name may begin with a dash.
        arguments.push(format!("--context={context}").into());
    }
    match verb {
        Verb::Inventory => {
            arguments.push(inventory::query(&target.root, &target.location.backend).into());
        }
        Verb::Index | Verb::Rebuild | Verb::Reconcile => arguments.push(target.root.clone().into()),
        Verb::Doctor => {}
    }
    arguments
}

/// In per-repository mode only the working directory leads cgc to the repository's database, and any other directory
/// would get a `.codegraphcontext` of its own. Otherwise it runs outside: what lies in the repository is then not taken
/// for settings, and the repository can be moved or removed meanwhile. Everything else is passed as absolute paths.
fn directory(target: &GraphTarget) -> PathBuf {
    match target.location.mode {
        ContextMode::PerRepository => target.root.clone(),
        ContextMode::Global | ContextMode::Named => PathBuf::from("/"),
    }
}

/// A Ladybug database is ruined by anything harder than an interrupt, which it takes up to 27 s to obey; opening one
/// may replay its log, so that even a reader writes. Kuzu obeys in about 2 s and survives a kill (cgc 0.6.13).
fn orphan_grace(verb: Verb, backend: &Backend) -> Duration {
    match (verb, backend) {
        (Verb::Doctor, _) => Duration::from_secs(1),
        (Verb::Inventory | Verb::Index | Verb::Rebuild | Verb::Reconcile, Backend::Ladybug | Backend::Unknown) => {
            Duration::from_mins(1)
        }
        (Verb::Inventory, Backend::Kuzu | Backend::FalkorLite | Backend::FalkorRemote | Backend::Neo4j) => {
            Duration::from_millis(800)
        }
        (
            Verb::Index | Verb::Rebuild | Verb::Reconcile,
            Backend::Kuzu | Backend::FalkorLite | Backend::FalkorRemote | Backend::Neo4j,
        ) => Duration::from_secs(4),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::path::Path;

    use rstest::rstest;
    use steward_ports::{Environment, Exclusions, GraphLocation, Installation};

    use super::*;

    pub(crate) fn target(backend: Backend) -> GraphTarget {
        let database =
            (!backend.is_server()).then(|| PathBuf::from("/h/.codegraphcontext/global/db").join(backend.name()));
        GraphTarget {
            root: PathBuf::from("/w/a project"),
            installation: Installation { executable: PathBuf::from("/opt/bin/cgc"), interpreter: None, version: None },
            location: GraphLocation {
                backend,
                backend_source: "file magic".into(),
                requested: None,
                database,
                context: None,
                mode: ContextMode::Global,
                exclusions: Exclusions::default(),
            },
            environment: Environment::default(),
        }
    }

    #[rstest]
    #[case(Verb::Index, None, "index --no-progress /w/a project")]
    #[case(Verb::Rebuild, None, "index --force --no-progress /w/a project")]
    #[case(Verb::Reconcile, None, "watch --sync-on-start /w/a project")]
    #[case(Verb::Doctor, None, "doctor")]
    #[case(Verb::Index, Some("wt-x"), "index --no-progress --context=wt-x /w/a project")]
    #[case(Verb::Reconcile, Some("-x"), "watch --sync-on-start --context=-x /w/a project")]
    #[case(Verb::Doctor, Some("wt-x"), "doctor")]
    fn each_verb_has_its_command_line(#[case] verb: Verb, #[case] context: Option<&str>, #[case] expected: &str) {
        let mut target = target(Backend::Kuzu);
        target.location.context = context.map(str::to_owned);

        let command = build(verb, &target);

        assert_eq!(command.program, Path::new("/opt/bin/cgc"));
        assert_eq!(command.arguments.join(" ".as_ref()), expected);
    }

    #[rstest]
    #[case(ContextMode::Global, "/")]
    #[case(ContextMode::Named, "/")]
    #[case(ContextMode::PerRepository, "/w/a project")]
    fn cgc_runs_outside_the_repository_wherever_it_can(#[case] mode: ContextMode, #[case] expected: &str) {
        let mut target = target(Backend::Kuzu);
        target.location.mode = mode;

        assert_eq!(build(Verb::Reconcile, &target).directory, Path::new(expected));
    }

    #[rstest]
    #[case(Backend::Ladybug, Verb::Index, 60_000)]
    #[case(Backend::Ladybug, Verb::Inventory, 60_000)]
    #[case(Backend::Unknown, Verb::Reconcile, 60_000)]
    #[case(Backend::Kuzu, Verb::Index, 4_000)]
    #[case(Backend::FalkorRemote, Verb::Rebuild, 4_000)]
    #[case(Backend::Kuzu, Verb::Inventory, 800)]
    #[case(Backend::Ladybug, Verb::Doctor, 1_000)]
    fn an_orphaned_writer_gets_the_time_its_backend_needs(
        #[case] backend: Backend,
        #[case] verb: Verb,
        #[case] milliseconds: u64,
    ) {
        assert_eq!(build(verb, &target(backend)).orphan_grace, Duration::from_millis(milliseconds));
    }
}
