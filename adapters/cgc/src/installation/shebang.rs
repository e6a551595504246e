//! The Python interpreter that a script's first lines name.
//!
//! It must never guess: what is no Python is no answer.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use steward_ports::Environment;

use super::search_path;
use crate::files;

/// The kernel reads 256 bytes; installers whose interpreter path does not fit write a trampoline that may be longer.
const HEAD: u64 = 16 * 1024;

/// Returns the interpreter of `script`: the one that its first line names, the one that `env` would find, or the one
/// that the trampoline of pip, uv or distlib executes where the path is too long for a first line.
pub(super) fn interpreter(script: &Path, environment: &Environment) -> Option<PathBuf> {
    let head = files::read_start(script, HEAD).ok()?;
    let mut lines = head.split(|&byte| byte == b'\n');
    let words: Vec<&[u8]> =
        lines.next()?.strip_prefix(b"#!")?.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).collect();
    let program = to_path(words.first()?);
    match program.file_name()?.as_bytes() {
        b"env" => {
            let name = words[1..].iter().find(|word| !word.starts_with(b"-") && !word.contains(&b'='))?;
            search_path(&to_path(name), environment)
        }
        b"sh" => trampoline(lines.next()?, script),
        _ => Some(program),
    }
    .filter(|path| is_python(path))
}

/// Reads `'''exec' "/a/long path/python" "$0" "$@"`, which is both shell and the start of a Python string, and uv's
/// relocatable form that names the interpreter relative to the script.
fn trampoline(line: &[u8], script: &Path) -> Option<PathBuf> {
    let command = line.strip_prefix(b"'''exec'")?.trim_ascii_start();
    if let Some(relative) = command.strip_prefix(br#""$(dirname -- "$(realpath -- "$0")")"/"#) {
        let name = quoted(relative)?;
        return Some(script.parent()?.join(to_path(name)));
    }
    Some(to_path(quoted(command)?))
}

/// Returns the first word of a shell command, with or without quotes around it.
fn quoted(command: &[u8]) -> Option<&[u8]> {
    let end_of = |text: &[u8], end: &dyn Fn(u8) -> bool| text.iter().position(|&byte| end(byte));
    match command.first()? {
        quote @ (b'"' | b'\'') => {
            let inside = &command[1..];
            Some(&inside[..end_of(inside, &|byte| byte == *quote)?])
        }
        _ => {
            let length = end_of(command, &|byte| byte.is_ascii_whitespace());
            Some(&command[..length.unwrap_or(command.len())])
        }
    }
}

fn is_python(path: &Path) -> bool {
    path.file_name().is_some_and(|name| {
        let name = name.as_bytes();
        name.starts_with(b"python") || name.starts_with(b"pypy")
    })
}

fn to_path(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::plain("#!/opt/v/bin/python3.11\n", Some("/opt/v/bin/python3.11"))]
    #[case::flags("#! /opt/v/bin/python -I\n", Some("/opt/v/bin/python"))]
    #[case::pip_long("#!/bin/sh\n'''exec' \"/a b/bin/python\" \"$0\" \"$@\"\n' '''\n", Some("/a b/bin/python"))]
    #[case::pip_long_unquoted("#!/bin/sh\n'''exec' /a/bin/python \"$0\" \"$@\"\n' '''\n", Some("/a/bin/python"))]
    #[case::uv_long("#!/bin/sh\n'''exec' '/a b/bin/python' \"$0\" \"$@\"\n' '''\n", Some("/a b/bin/python"))]
    #[case::shell("#!/bin/sh\nexec cgc \"$@\"\n", None)]
    #[case::pyenv_shim("#!/usr/bin/env bash\n", None)]
    #[case::no_first_line("\u{7f}ELF\u{2}", None)]
    #[case::empty("", None)]
    #[case::bare_mark("#!\n", None)]
    fn the_first_lines_name_the_interpreter(#[case] text: &str, #[case] expected: Option<&str>) {
        let directory = tempfile::tempdir().unwrap();
        let script = directory.path().join("cgc");
        fs::write(&script, text).unwrap();

        let found = interpreter(&script, &Environment::default());

        assert_eq!(found.as_deref(), expected.map(Path::new));
    }

    #[test]
    fn a_relocatable_script_names_its_neighbour() {
        let directory = tempfile::tempdir().unwrap();
        let script = directory.path().join("cgc");
        fs::write(
            &script,
            "#!/bin/sh\n'''exec' \"$(dirname -- \"$(realpath -- \"$0\")\")\"/'python' \"$0\" \"$@\"\n' '''\n",
        )
        .unwrap();

        let found = interpreter(&script, &Environment::default());

        assert_eq!(found, Some(directory.path().join("python")));
    }

    #[rstest]
    #[case("#!/usr/bin/env python3\n")]
    #[case("#!/usr/bin/env -S LANG=C python3 -I\n")]
    fn env_looks_on_the_path_of_the_session(#[case] text: &str) {
        let directory = tempfile::tempdir().unwrap();
        let script = directory.path().join("cgc");
        fs::write(&script, text).unwrap();
        let python = directory.path().join("python3");
        fs::write(&python, "").unwrap();
        fs::set_permissions(&python, fs::Permissions::from_mode(0o755)).unwrap();
        let environment: Environment =
            [(OsString::from("PATH"), directory.path().as_os_str().to_owned())].into_iter().collect();

        assert_eq!(interpreter(&script, &environment), Some(python));
    }
}
