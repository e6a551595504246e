//! `steward install claude-code` and its undoing, as a person runs them, in a home of their own.
//!
//! It must never touch the real home.

#![expect(clippy::unwrap_used, reason = "a helper that fails is a test that fails")]

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use rstest::rstest;
use tempfile::TempDir;

const SETTINGS: &str = "{\n  \"permissions\": {\"allow\": [\"Bash(ls:*)\"]},\n  \"model\": \"opus\"\n}\n";

struct Home {
    directory: TempDir,
    tools: PathBuf,
}

impl Home {
    /// A home, and the programs in a directory whose name a shell would take apart.
    fn new() -> Self {
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let tools = directory.path().join("my tools/it's $HOME; & \"x\"\n`id`");
        fs::create_dir_all(&tools).unwrap();
        fs::create_dir(directory.path().join("home")).unwrap();
        // Links, since a copy could still be open for writing in a child of another test when it is to be started.
        for name in ["steward", "steward-claude-code"] {
            fs::hard_link(env!("CARGO_BIN_EXE_steward"), tools.join(name)).unwrap();
        }
        Self { directory, tools }
    }

    fn with_settings(content: &str) -> Self {
        let home = Self::new();
        fs::create_dir(home.path(".claude")).unwrap();
        fs::write(home.settings(), content).unwrap();
        home
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join("home").join(name)
    }

    fn settings(&self) -> PathBuf {
        self.path(".claude/settings.json")
    }

    fn content(&self) -> String {
        fs::read_to_string(self.settings()).unwrap()
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(self.tools.join("steward"));
        command.args(arguments).env_clear().env("HOME", self.path("")).stdin(Stdio::null());
        command
    }

    fn is_empty(&self) -> bool {
        fs::read_dir(self.path("")).unwrap().next().is_none()
    }
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

const INSTALL: &[&str] = &["install", "claude-code", "--yes"];
const UNINSTALL: &[&str] = &["uninstall", "claude-code"];

#[test]
fn installing_twice_changes_nothing_and_undoing_restores_every_byte() {
    let home = Home::with_settings(SETTINGS);

    let first = home.run(INSTALL);
    let installed = home.content();
    let second = home.run(INSTALL);
    let after_second = home.content();
    let undone = home.run(UNINSTALL);

    assert!(first.status.success(), "{}", stderr(&first));
    assert!(stdout(&first).contains("+            \"type\": \"command\""), "{}", stdout(&first));
    assert!(second.status.success());
    assert!(stdout(&second).contains("nothing was changed"), "{}", stdout(&second));
    assert_ne!(installed, SETTINGS);
    assert_eq!(after_second, installed);
    assert!(undone.status.success(), "{}", stderr(&undone));
    assert_eq!(home.content(), SETTINGS);
}

#[test]
fn without_a_file_one_is_made_and_undoing_leaves_nothing() {
    let home = Home::new();

    let installed = home.run(INSTALL);
    let mode = home.settings().metadata().unwrap().permissions().mode() & 0o777;
    let undone = home.run(UNINSTALL);

    assert!(installed.status.success(), "{}", stderr(&installed));
    assert_eq!(mode, 0o600);
    assert!(undone.status.success(), "{}", stderr(&undone));
    assert!(!home.path(".claude").exists());
}

#[test]
fn trial_b99_the_entry_starts_the_program_whatever_its_path_holds() {
    let home = Home::with_settings(SETTINGS);

    home.run(INSTALL);

    let settings: serde_json::Value = serde_json::from_str(&home.content()).unwrap();
    let entry = &settings["hooks"]["SessionStart"][0]["hooks"][0];
    let program = entry["command"].as_str().unwrap();
    let arguments = entry["args"].as_array().unwrap();
    // Claude Code starts an entry with `args` directly, without a shell.
    let started =
        Command::new(program).args(arguments.iter().map(|argument| argument.as_str().unwrap())).output().unwrap();
    assert_eq!(Path::new(program), home.tools.canonicalize().unwrap().join("steward-claude-code"));
    // The program here is `steward` by another name, which knows no `hook` and says so.
    assert_eq!(started.status.code(), Some(2));
    assert!(stderr(&started).contains("'hook'"), "{}", stderr(&started));
}

#[rstest]
#[case::byte_order_mark(b"\xef\xbb\xbf{}")]
#[case::comment(b"{ /* mine */ }")]
#[case::trailing_comma(b"{\"a\": [1,],}")]
#[case::truncated(b"{\"permissions\": {\"deny\": [\"Read(")]
#[case::empty(b"")]
#[case::other_bytes(b"{\"a\": \"\xff\"}")]
#[case::unexpected(b"{\"hooks\": \"none\"}")]
fn trial_b93_a_file_that_cannot_be_edited_safely_is_left_alone(#[case] content: &[u8]) {
    let home = Home::with_settings("");
    fs::write(home.settings(), content).unwrap();

    for arguments in [INSTALL, UNINSTALL] {
        let output = home.run(arguments);

        assert_eq!(output.status.code(), Some(1));
        assert!(stderr(&output).contains("settings.json"), "{}", stderr(&output));
        assert!(stderr(&output).contains("not touched"), "{}", stderr(&output));
        assert_eq!(fs::read(home.settings()).unwrap(), content);
    }
    assert!(!home.path(".local").exists());
}

#[test]
fn without_a_terminal_and_without_yes_it_is_a_no() {
    let home = Home::with_settings(SETTINGS);

    let output = home.run(&["install", "claude-code"]);

    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("--yes"), "{}", stderr(&output));
    assert_eq!(home.content(), SETTINGS);
    assert!(!home.path(".local").exists());
}

#[test]
fn a_dry_run_shows_the_change_and_makes_none() {
    let home = Home::new();

    let output = home.run(&["install", "claude-code", "--dry-run", "--yes"]);

    assert!(output.status.success());
    assert!(stdout(&output).contains("+++ "), "{}", stdout(&output));
    assert!(home.is_empty());
}

#[test]
fn mode_and_link_are_kept() {
    let home = Home::new();
    let dotfiles = home.path("dotfiles");
    fs::create_dir(&dotfiles).unwrap();
    fs::create_dir(home.path(".claude")).unwrap();
    let target = dotfiles.join("claude.json");
    fs::write(&target, SETTINGS).unwrap();
    fs::set_permissions(&target, fs::Permissions::from_mode(0o640)).unwrap();
    symlink("../dotfiles/claude.json", home.settings()).unwrap();

    let installed = home.run(INSTALL);
    let content = fs::read_to_string(&target).unwrap();
    let mode = target.metadata().unwrap().permissions().mode() & 0o777;
    let undone = home.run(UNINSTALL);

    assert!(installed.status.success(), "{}", stderr(&installed));
    assert!(content.contains("steward-claude-code"));
    assert_eq!(mode, 0o640);
    assert!(undone.status.success(), "{}", stderr(&undone));
    assert_eq!(fs::read_to_string(&target).unwrap(), SETTINGS);
    assert_eq!(fs::read_link(home.settings()).unwrap(), Path::new("../dotfiles/claude.json"));
}

#[test]
fn a_link_that_leads_nowhere_is_refused() {
    let home = Home::new();
    fs::create_dir(home.path(".claude")).unwrap();
    symlink("nowhere.json", home.settings()).unwrap();

    let output = home.run(INSTALL);

    assert_eq!(output.status.code(), Some(1));
    assert!(!home.path(".claude/nowhere.json").exists());
}

#[test]
fn a_pipe_in_place_of_the_file_is_refused_without_waiting() {
    let home = Home::new();
    fs::create_dir(home.path(".claude")).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, home.settings(), rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR).unwrap();

    let output = home.run(INSTALL);

    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("no regular file"), "{}", stderr(&output));
}

#[test]
fn claude_config_dir_names_another_file_with_a_record_of_its_own() {
    let home = Home::with_settings(SETTINGS);
    let other = home.path("other");

    let here = home.run(INSTALL);
    let there = home.command(INSTALL).env("CLAUDE_CONFIG_DIR", &other).output().unwrap();
    let undone = home.run(UNINSTALL);

    assert!(here.status.success() && there.status.success() && undone.status.success());
    assert_eq!(home.content(), SETTINGS);
    assert!(fs::read_to_string(other.join("settings.json")).unwrap().contains("steward-claude-code"));
}

#[test]
fn without_the_program_beside_it_nothing_is_installed() {
    let home = Home::with_settings(SETTINGS);
    fs::remove_file(home.tools.join("steward-claude-code")).unwrap();

    let output = home.run(INSTALL);

    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("steward-claude-code"), "{}", stderr(&output));
    assert_eq!(home.content(), SETTINGS);
}

#[test]
fn the_record_is_the_users_own_and_a_damaged_one_costs_no_byte_of_others() {
    let home = Home::with_settings(SETTINGS);
    home.run(INSTALL);
    let directory = home.path(".local/state/cgc-steward/install");
    let record = fs::read_dir(&directory).unwrap().next().unwrap().unwrap().path();
    let mode = record.metadata().unwrap().permissions().mode() & 0o777;
    fs::write(&record, "{").unwrap();

    let undone = home.run(UNINSTALL);

    assert_eq!(mode, 0o600);
    assert_eq!(directory.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    assert!(undone.status.success(), "{}", stderr(&undone));
    assert!(stderr(&undone).contains("damaged"), "{}", stderr(&undone));
    assert_eq!(home.content(), SETTINGS);
    assert_eq!(fs::read_dir(&directory).unwrap().count(), 0);
}

#[test]
fn without_a_home_it_says_what_to_set() {
    let home = Home::new();

    let output = home.command(INSTALL).env_remove("HOME").output().unwrap();

    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("Set HOME or CLAUDE_CONFIG_DIR"), "{}", stderr(&output));
}
