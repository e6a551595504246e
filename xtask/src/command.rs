//! Running other programs: every failure names the program and its arguments.
//!
//! No shell is involved, and standard input is always empty, so that nothing here can wait for a human.

use std::ffi::OsStr;
use std::io::Write as _;
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail};

/// A program with no input.
pub(crate) fn program(name: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(name);
    command.stdin(Stdio::null());
    command
}

/// Cargo as the one that runs this xtask.
pub(crate) fn cargo() -> Command {
    program(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Runs to the end with the output passed through; fails unless the exit code is 0.
pub(crate) fn run(command: &mut Command) -> anyhow::Result<()> {
    let status = command.status().with_context(|| format!("cannot start {}", shown(command)))?;
    if !status.success() {
        bail!("{} failed ({status})", shown(command));
    }
    Ok(())
}

/// Runs to the end and returns standard output; on failure the error carries the end of standard error.
pub(crate) fn capture(command: &mut Command) -> anyhow::Result<String> {
    let output = command.output().with_context(|| format!("cannot start {}", shown(command)))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if !output.status.success() {
        let said = [text(&output.stdout), text(&output.stderr)].concat();
        bail!("{} failed ({}):\n{}", shown(command), output.status, last_lines(&said, 30));
    }
    Ok(text(&output.stdout))
}

/// Prints text whole; a reader that went away is an error and no panic.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    std::io::stdout().write_all(text.as_bytes()).context("cannot print")
}

/// The command line as a human would type it; the environment is left out, since it may hold secrets.
fn shown(command: &Command) -> String {
    let mut line = format!("`{}", command.get_program().to_string_lossy());
    for argument in command.get_args() {
        line.push(' ');
        line.push_str(&argument.to_string_lossy());
    }
    line.push('`');
    line
}

fn last_lines(text: &str, count: usize) -> String {
    let lines: Vec<&str> = text.trim_end().lines().collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_capture_names_the_command_and_what_it_said() {
        let error = capture(program("sh").args(["-c", "echo reason >&2; exit 3"])).unwrap_err();

        let message = format!("{error:#}");
        assert!(message.contains("`sh -c"), "{message}");
        assert!(message.contains("exit status: 3"), "{message}");
        assert!(message.ends_with("reason"), "{message}");
    }

    #[test]
    fn a_missing_program_is_named() {
        let error = run(&mut program("no-such-program-here")).unwrap_err();

        assert!(format!("{error:#}").contains("cannot start `no-such-program-here`"), "{error:#}");
    }
}
