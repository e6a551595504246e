//! What ends of cgc mean that no capture shows as a whole.

use std::time::Duration;

use rstest::rstest;
use steward_ports::{Captured, Inventory};

use super::*;
use crate::command::tests::target;

const BANNER: &str = "No configuration file found. Using defaults.\nUsing database: kuzudb (source: environment)\n";
const READY: &str = "Services initialized.\n🔍 Watching /r for changes...\n✓ Already indexed. Synchronizing current files...\n👀 \
                     Monitoring for file changes... (Press Ctrl+C to stop)\n";
const STOPPED: &str = "\n🛑 Stopping watcher...\n✓ Watcher stopped.\n";
const INDEXED: &str = "| Function nodes        | 0  |\n| Class nodes           | 0  |\nSuccessfully finished indexing: /r in 1.00 seconds\n";
const NO_PARSER: &str = "… - WARNING - … - Failed to initialize parser for rust: install it\n… - WARNING - … - No parser found for \
                         file extension .rs. Skipping /r/a.rs\n… - WARNING - … - No parser found for file extension .rs. Skipping /r/b.rs\n";

fn ended(exit: Exit, stdout: &str, stderr: &str) -> Ended {
    let captured = |text: &str| Captured { head: text.as_bytes().to_vec(), ..Captured::default() };
    Ended { exit, stdout: captured(stdout), stderr: captured(stderr), elapsed: Duration::from_secs(1) }
}

fn judged(verb: Verb, exit: Exit, stdout: &str, stderr: &str) -> Verdict {
    judge(verb, &target(Backend::Kuzu), &ended(exit, stdout, stderr), false)
}

#[rstest]
#[case::stopped_at_the_ready_line(Exit::Code(0), format!("{READY}{STOPPED}"), "Reconciled")]
#[case::stopped_twice(Exit::Code(130), format!("{READY}{STOPPED}"), "Reconciled")]
#[case::killed_after_the_ready_line(Exit::Signal(9), READY.to_owned(), "Reconciled")]
#[case::stopped_before(Exit::Code(0), format!("Services initialized.\n{STOPPED}"), "Interrupted")]
#[case::terminated_before(Exit::Signal(15), "Services initialized.\n".to_owned(), "Interrupted")]
#[case::silent(Exit::Code(0), String::new(), "Failed")]
#[case::inotify(
    Exit::Code(0),
    format!("An error occurred: [Errno 28] inotify watch limit reached\n{STOPPED}"),
    "Failed { reason: \"An error occurred: [Errno 28] inotify watch limit reached\" }"
)]
#[case::crashed_after_the_ready_line(Exit::Signal(11), READY.to_owned(), "Corrupt")]
fn a_reconcile_is_done_once_it_is_ready(#[case] exit: Exit, #[case] stdout: String, #[case] expected: &str) {
    let verdict = format!("{:?}", judged(Verb::Reconcile, exit, &stdout, BANNER));

    assert!(verdict.starts_with(expected), "{verdict}");
}

#[test]
fn a_ready_line_that_was_seen_counts_even_where_it_was_not_kept() {
    let ended = ended(Exit::Signal(2), "", "");

    let verdict = judge(Verb::Reconcile, &target(Backend::Kuzu), &ended, true);

    assert_eq!(verdict, Verdict::Reconciled);
}

#[test]
fn files_without_a_grammar_are_counted() {
    let some = INDEXED.replace("nodes        | 0", "nodes        | 7");
    let reconciled = format!("{READY}{STOPPED}");

    assert_eq!(judged(Verb::Index, Exit::Code(0), INDEXED, NO_PARSER), Verdict::NoGrammars);
    assert_eq!(judged(Verb::Index, Exit::Code(0), &some, NO_PARSER), Verdict::Partial { failed: 2 });
    assert_eq!(judged(Verb::Reconcile, Exit::Code(0), &reconciled, NO_PARSER), Verdict::Partial { failed: 2 });
}

#[test]
fn code_without_a_single_function_is_no_missing_grammar() {
    assert_eq!(judged(Verb::Index, Exit::Code(0), INDEXED, BANNER), Verdict::Worked);
}

#[rstest]
#[case(Verb::Index)]
#[case(Verb::Rebuild)]
#[case(Verb::Reconcile)]
#[case(Verb::Inventory)]
fn trial_b115_a_success_that_says_nothing_is_a_failure(#[case] verb: Verb) {
    assert!(matches!(judged(verb, Exit::Code(0), "", BANNER), Verdict::Failed { .. }));
}

#[test]
fn trial_b105_an_error_text_with_exit_0_is_a_failure() {
    let text = format!("An error occurred during indexing: relative_to\n{INDEXED}");

    assert_eq!(
        judged(Verb::Index, Exit::Code(0), &text, BANNER),
        Verdict::Failed { reason: "An error occurred during indexing: relative_to".into() }
    );
}

#[test]
fn trial_b43_a_storage_error_with_exit_0_is_corruption() {
    let text = "An error occurred: Storage exception: page out of bounds\n";

    assert!(matches!(judged(Verb::Inventory, Exit::Code(0), text, BANNER), Verdict::Corrupt { .. }));
}

#[test]
fn trial_b100_a_path_that_the_database_cannot_encode_is_neither_unindexed_nor_corrupt() {
    let text =
        "Database Connection Error: No mapping for the Unicode character exists in the target multi-byte code page.\n";

    let Verdict::Failed { reason } = judged(Verb::Inventory, Exit::Code(1), text, BANNER) else {
        panic!("not a failure");
    };
    assert!(reason.contains("No mapping for the Unicode character"));
}

#[rstest]
#[case::nothing_said(Exit::Code(1), "", BANNER, "Failed { reason: \"cgc exited with code 1 and said nothing\" }")]
#[case::traceback(Exit::Code(1), "", "OSError: [Errno 30] Read-only file system: '/h'\n", "Failed")]
#[case::other_code(Exit::Code(2), "", BANNER, "Failed")]
#[case::aborted(Exit::Code(1), "Resolving context...\n", "Aborted.\n", "Interrupted")]
#[case::interrupted(Exit::Code(130), "Starting indexing for: /r\n", BANNER, "Interrupted")]
#[case::out_of_memory_killer(Exit::Signal(9), "Starting indexing for: /r\n", BANNER, "Interrupted")]
#[case::crash(Exit::Signal(11), "", "", "Corrupt")]
#[case::assertion(Exit::Signal(6), "", "", "Corrupt")]
#[case::other_signal(Exit::Signal(8), "", "", "Failed { reason: \"cgc was ended by signal 8\" }")]
#[case::garbage(Exit::Code(0), "\u{0}\u{fffd}\u{1b}[31m{{{", "", "Failed")]
fn an_index_that_did_not_come_to_its_end(
    #[case] exit: Exit,
    #[case] stdout: &str,
    #[case] stderr: &str,
    #[case] expected: &str,
) {
    let verdict = format!("{:?}", judged(Verb::Index, exit, stdout, stderr));

    assert!(verdict.starts_with(expected), "{verdict}");
}

#[rstest]
#[case("Error 111 connecting to 127.0.0.1:6399. Connection refused.")]
#[case("Error -2 connecting to nowhere:6379. Name or service not known.")]
fn a_server_that_does_not_answer_is_named(#[case] text: &str) {
    let stdout = format!("Database Connection Error: {text}\n");
    let ended = ended(Exit::Code(1), &stdout, "");

    let verdict = judge(Verb::Inventory, &target(Backend::FalkorRemote), &ended, false);

    assert_eq!(verdict, Verdict::ServerDown { evidence: stdout.trim().to_owned() });
}

#[rstest]
#[case::to_the_pinned(Backend::Kuzu, "Now using KùzuDB at /h/kuzudb.", false)]
#[case::to_another(Backend::Ladybug, "Now using KùzuDB at /h/kuzudb.", true)]
#[case::from_a_server(Backend::FalkorRemote, "Now using KùzuDB at /h/kuzudb.", true)]
#[case::kuzu_is_gone(Backend::Kuzu, "Now using LadybugDB at /h/kuzudb.", true)]
fn trial_b06_a_fallback_counts_unless_it_comes_back_to_the_pinned_backend(
    #[case] backend: Backend,
    #[case] taken: &str,
    #[case] is_change: bool,
) {
    let log = format!("… - WARNING - … - Database backend fallback: not supported here. {taken}\n");
    let ended = ended(Exit::Code(0), "Services initialized.\n[]\n", &log);

    let verdict = judge(Verb::Inventory, &target(backend), &ended, false);

    assert_eq!(matches!(verdict, Verdict::BackendChanged { .. }), is_change, "{verdict:?}");
    assert_eq!(verdict == Verdict::Unindexed, !is_change, "{verdict:?}");
}

#[test]
fn an_inventory_that_was_not_kept_whole_is_no_smaller_inventory() {
    let mut ended = ended(Exit::Code(0), "Services initialized.\n[\n", "");
    ended.stdout.tail = b"]\n".to_vec();
    ended.stdout.dropped = 1;

    let verdict = judge(Verb::Inventory, &target(Backend::Kuzu), &ended, false);

    assert!(matches!(verdict, Verdict::Failed { .. }), "{verdict:?}");
    assert_ne!(verdict, Verdict::Holds(Inventory::default()));
}

#[test]
fn a_file_may_be_called_anything() {
    let text = format!("Missing: An error occurred.py, Could not set lock on file.py\n{INDEXED}");

    assert_eq!(judged(Verb::Index, Exit::Code(0), &text, BANNER), Verdict::Worked);
}

#[rstest]
#[case(Exit::Code(0))]
#[case(Exit::Code(1))]
fn the_doctors_words_are_a_report_whatever_its_code(#[case] exit: Exit) {
    let verdict = judged(Verb::Doctor, exit, "saved\n", "Could not set lock on file\n");

    assert_eq!(verdict, Verdict::Report("Could not set lock on file\nsaved\n".into()));
}
