//! What the end of a cgc process means, on outputs captured from the real cgc 0.6.13 without the companion's pins: wrapped
//! at 80 columns and, but where the capture says so, without log lines.
//!
//! It must never assert more than the domain is told: texts change, their meaning does not.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use rstest::rstest;
use steward_cgc::Cgc;
use steward_ports::{
    Backend, Captured, ContextMode, Ended, Environment, Exclusions, Exit, GraphLocation, GraphTarget, GraphTool,
    Installation, Verb, Verdict,
};

/// One run of cgc in a capture.
#[derive(Debug)]
struct Run {
    command: String,
    ended: Ended,
}

#[rstest]
#[case::first_index("03e-index-real-parsers", Verb::Index, "Worked")]
#[case::silent_fallback_to_the_pinned_backend("03h-index-real-parsers", Verb::Index, "Worked")]
#[case::grammars_missing_and_named("03g-index-applogs", Verb::Index, "NoGrammars")]
#[case::grammars_missing_without_log_lines_is_for_the_proof("02-index-first-py1", Verb::Index, "Worked")]
#[case::again_without_log_lines("03b-reindex-noparsers", Verb::Index, "Worked")]
#[case::per_repository("22c", Verb::Index, "Worked")]
#[case::fresh("30-1-fresh", Verb::Index, "Worked")]
#[case::large("160-med-kuzu-fresh-quiet", Verb::Index, "Worked")]
#[case::ladybug("31-ladybugdb-fresh", Verb::Index, "Worked")]
#[case::server("100-remote-index", Verb::Index, "Worked")]
#[case::unchanged("30-2-unchanged", Verb::Index, "Skipped")]
#[case::changed("30-3-changed", Verb::Index, "Skipped")]
#[case::added("30-4-added", Verb::Index, "Worked")]
#[case::deleted("30-5-deleted", Verb::Index, "Skipped")]
#[case::renamed("30-6-renamed", Verb::Index, "Skipped")]
#[case::server_unchanged("100-remote-unchanged", Verb::Index, "Skipped")]
#[case::rebuilt("30-8-force", Verb::Rebuild, "Worked")]
#[case::rebuilt_in_ci("30-12-ci", Verb::Rebuild, "Worked")]
#[case::rebuilt_by_update("30-7-update", Verb::Rebuild, "Worked")]
#[case::rebuilt_large("160-med-kuzu-update-quiet", Verb::Rebuild, "Worked")]
#[case::update_of_nothing("30-9-update-unindexed", Verb::Rebuild, "Worked")]
#[case::quiet_update_proves_nothing("30-10-update-quiet", Verb::Rebuild, "Failed")]
#[case::a_file_that_cannot_be_written("151-unwritable-file-loops", Verb::Index, "Partial { failed: 1 }")]
#[case::killed("31-ladybugdb-update", Verb::Rebuild, "Interrupted")]
#[case::locked_by_an_index("40-ladybug-list-while-indexing", Verb::Inventory, "Busy")]
#[case::locked_with_log_lines("40-ladybug-list-while-indexing-logs", Verb::Inventory, "Busy")]
#[case::ruined_log("31-ladybugdb-list", Verb::Inventory, "Corrupt")]
#[case::ruined_by_a_kill("50-ladybug-killed-list", Verb::Inventory, "Corrupt")]
#[case::ruined_by_a_kill_too("50-ladybug-killed-stats", Verb::Inventory, "Corrupt")]
#[case::unknown_context("23c5", Verb::Index, "Failed")]
#[case::unknown_context_watched("23c6", Verb::Reconcile, "Failed")]
#[case::unknown_backend("23f7", Verb::Inventory, "Failed")]
#[case::wrong_query("21-query-bad", Verb::Inventory, "Failed")]
#[case::writing_query("21-query-write", Verb::Inventory, "Failed")]
fn a_capture_means(#[case] capture: &str, #[case] verb: Verb, #[case] expected: &str) {
    let runs = runs(capture);

    assert!(!runs.is_empty());
    for run in runs {
        let verdict = format!("{:?}", judge(verb, &run));
        assert!(verdict.starts_with(expected), "{}: {verdict}", run.command);
    }
}

#[rstest]
#[case("41-lock-watch-kuzudb", 8)]
#[case("42-lock-mcp-kuzudb", 2)]
fn trial_b28_every_command_under_a_held_lock_is_busy(#[case] capture: &str, #[case] count: usize) {
    let runs = failed_runs(capture);

    assert_eq!(runs.len(), count);
    for run in runs {
        assert_eq!(judge(verb_of(&run.command), &run), Verdict::Busy, "{}", run.command);
    }
}

#[rstest]
#[case("52-corrupt-kuzudb")]
#[case("52-corrupt-ladybugdb")]
fn every_damage_that_stops_a_command_is_corruption(#[case] capture: &str) {
    let runs = failed_runs(capture);

    assert!(runs.len() > 30, "{}", runs.len());
    for run in runs {
        let verdict = judge(verb_of(&run.command), &run);
        if run.ended.stdout.text().contains("Database path cannot be a") {
            assert!(matches!(verdict, Verdict::Failed { .. }), "{}: {verdict:?}", run.command);
        } else {
            assert!(matches!(verdict, Verdict::Corrupt { .. }), "{}: {verdict:?}", run.command);
        }
    }
}

#[rstest]
#[case("61-watch-signals-kuzudb", "Path")]
#[case("80-worktrees", "Path does not exist")]
fn a_path_that_is_gone_is_named(#[case] capture: &str, #[case] expected: &str) {
    let runs = failed_runs(capture);

    assert_eq!(runs.len(), 2);
    for run in runs {
        let Verdict::Failed { reason } = judge(verb_of(&run.command), &run) else {
            panic!("{} did not fail", run.command);
        };
        assert!(reason.contains(expected), "{reason}");
    }
}

#[test]
fn trial_p07_a_lock_is_recognised_across_a_line_break() {
    let run = Run {
        command: "cgc list".to_owned(),
        ended: ended(1, "Database Connection Error: IO exception: Could not set lock\non file : \n/h/kuzudb\n", ""),
    };

    assert_eq!(judge(Verb::Inventory, &run), Verdict::Busy);
}

fn judge(verb: Verb, run: &Run) -> Verdict {
    let target = GraphTarget {
        root: PathBuf::from("/home/dev/ws/py1"),
        installation: Installation {
            executable: PathBuf::from("/opt/bin/cgc"),
            interpreter: None,
            version: Some("0.6.13".to_owned()),
        },
        location: GraphLocation {
            backend: Backend::Kuzu,
            backend_source: "file magic".to_owned(),
            requested: None,
            database: Some(PathBuf::from("/home/dev/.codegraphcontext/global/db/kuzudb")),
            context: None,
            mode: ContextMode::Global,
            exclusions: Exclusions::default(),
        },
        environment: Environment::default(),
    };
    Cgc.verdict(verb, &target, &run.ended, false)
}

fn verb_of(command: &str) -> Verb {
    let words: Vec<&str> = command.split_whitespace().collect();
    match (words.get(1), words.contains(&"--force")) {
        (Some(&"index"), false) => Verb::Index,
        (Some(&"index" | &"update"), _) => Verb::Rebuild,
        (Some(&"watch"), _) => Verb::Reconcile,
        _ => Verb::Inventory,
    }
}

/// The failed runs of commands that the companion runs, or that read a graph as its own do.
fn failed_runs(capture: &str) -> Vec<Run> {
    const COMMANDS: [&str; 6] = ["index", "update", "watch", "query", "list", "stats"];
    runs(capture)
        .into_iter()
        .filter(|run| run.ended.exit != Exit::Code(0))
        .filter(|run| COMMANDS.contains(&run.command.split_whitespace().nth(1).unwrap_or_default()))
        .collect()
}

/// Reads a capture in either of its two layouts: one run with a header of `### key=value` lines, or many runs that each
/// begin with `### COMMAND -> exit=N`.
fn runs(capture: &str) -> Vec<Run> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/captures").join(format!("{capture}.txt"));
    let text = fs::read_to_string(&path).unwrap();
    if text.starts_with("### CASE") {
        text.split("### CASE").skip(1).map(single).collect()
    } else {
        text.split("\n### ")
            .map(|section| section.trim_start_matches("### "))
            .filter(|section| section.starts_with("cgc "))
            .filter_map(one_of_many)
            .collect()
    }
}

fn single(text: &str) -> Run {
    let header = |key: &str| {
        text.lines().find_map(|line| line.strip_prefix("### ")?.strip_prefix(key)?.strip_prefix('=')).unwrap()
    };
    let command = header("cmd").replace("<venv>/bin/", "");
    let exit = header("exit").split_whitespace().next().unwrap().parse().unwrap();
    let (_, output) = text.split_once("----- stdout -----\n").unwrap();
    let (stdout, rest) = output.split_once("\n----- stderr -----\n").unwrap();
    let (stderr, _) = rest.split_once("\n----- end -----").unwrap();
    Run { command, ended: Ended { elapsed: wall(text), ..ended(exit, stdout, stderr) } }
}

/// Returns `None` for a section that keeps nothing of what was printed.
fn one_of_many(section: &str) -> Option<Run> {
    let (command, rest) = section.split_once("-> exit=")?;
    let (exit, output) = rest.split_once(' ')?;
    let (_, output) = output.split_once('\n').unwrap_or((output, ""));
    let output = output.split("\n=====").next()?;
    let (stdout, stderr) = match output.split_once("--err--\n") {
        Some((stdout, stderr)) => (stdout, stderr),
        None => (output, ""),
    };
    Some(Run {
        command: command.trim().to_owned(),
        ended: Ended {
            elapsed: wall(rest),
            ..ended(exit.parse().ok()?, stdout.trim_start_matches("--out--\n"), stderr)
        },
    })
}

/// Reads `wall=8.56s`.
fn wall(text: &str) -> Duration {
    let seconds = text.split_once("wall=").and_then(|(_, rest)| rest.split_once('s')?.0.parse().ok());
    Duration::from_secs_f64(seconds.unwrap_or_default())
}

fn ended(exit: i32, stdout: &str, stderr: &str) -> Ended {
    let captured = |text: &str| Captured { head: text.as_bytes().to_vec(), tail: Vec::new(), dropped: 0 };
    Ended {
        exit: if exit < 0 { Exit::Signal(-exit) } else { Exit::Code(exit) },
        stdout: captured(stdout),
        stderr: captured(stderr),
        elapsed: Duration::from_secs(1),
    }
}
