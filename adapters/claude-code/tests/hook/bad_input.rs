//! Payloads that are none, and calls that make no sense.

use rstest::rstest;

use crate::session_start;
use crate::support::{World, assert_logged, assert_silent, feed};

#[rstest]
#[case::empty(b"", "cut short")]
#[case::garbage(b"\x00\x01 not json {{{", "not JSON")]
#[case::not_utf_8(b"{\"hook_event_name\":\"Stop\",\"cwd\":\"/w\xff\xfe\"}", "not JSON")]
#[case::another_document(b"[1, 2, 3]", "not the expected fields")]
#[case::two_documents(b"{\"hook_event_name\":\"Stop\",\"cwd\":\"/w\"}{}", "not JSON")]
#[case::no_directory(b"{\"hook_event_name\":\"Stop\"}", "no absolute directory")]
fn what_is_no_event_is_logged_and_not_shown(#[case] payload: &[u8], #[case] problem: &str) {
    let world = World::new();

    assert_logged(&world, payload, problem);
}

#[test]
fn a_payload_that_is_cut_short_is_no_event() {
    let world = World::new();
    let payload = session_start();

    assert_logged(&world, &payload[..payload.len() - 2], "cut short");
}

#[test]
fn ten_megabytes_of_garbage_are_read_to_their_end() {
    let world = World::new();

    assert_logged(&world, &vec![b'['; 10 << 20], "cannot be read");
}

#[test]
fn trial_b139_odd_arguments_change_nothing() {
    let world = World::new();
    let mut command = world.command(world.program());

    let output = feed(command.args(["hook", "--daemon=/bin/false", "/etc/passwd", "--state", "/"]), b"{}");

    assert_silent(&output);
}

#[rstest]
#[case::none(&[])]
#[case::misspelled(&["hok"])]
#[case::unknown(&["--exec", "/bin/sh"])]
fn a_call_that_makes_no_sense_is_no_refusal(#[case] arguments: &[&str]) {
    let world = World::new();

    let output = feed(world.command(world.program()).args(arguments), b"");

    // Claude Code takes 2 for a refusal of what it was about to do.
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stdout.is_empty());
    assert!(String::from_utf8(output.stderr).unwrap().starts_with("usage: steward-claude-code hook"));
}
