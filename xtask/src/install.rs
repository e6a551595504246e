//! `cargo xtask install`: builds the programs for use and puts them on the PATH.
//!
//! The programs that a harness starts for each event are linked statically where that is possible, which saves the dynamic
//! linker's 0.65 ms at every tool call. Configures no harness: `steward install` does that.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::arch::{self, Program};
use crate::command::{capture, cargo, program, run as run_command};
use crate::workspace::Workspace;

/// Builds all programs and copies them to `prefix/bin`, `~/.local/bin` by default.
///
/// Each is replaced by a rename, so that a running one is never written to and an interrupted install leaves whole files.
pub(crate) fn run(workspace: &Workspace, prefix: Option<PathBuf>) -> anyhow::Result<()> {
    let prefix = match prefix {
        Some(prefix) => prefix,
        None => Path::new(&std::env::var_os("HOME").context("set HOME or give --prefix")?).join(".local"),
    };
    for installed in install_into(workspace, &prefix.join("bin"))? {
        println!("{}", installed.display());
    }
    Ok(())
}

/// Installs all programs for this project's own use, below the target directory, and returns the directory they lie in.
pub(crate) fn private(workspace: &Workspace) -> anyhow::Result<PathBuf> {
    let directory = workspace.target().join("xtask").join("bin");
    install_into(workspace, &directory)?;
    Ok(directory)
}

fn install_into(workspace: &Workspace, directory: &Path) -> anyhow::Result<Vec<PathBuf>> {
    fs::create_dir_all(directory).with_context(|| format!("cannot create {}", directory.display()))?;

    let host = host_triple()?;
    let can_be_static = host.ends_with("-linux-gnu") || host.ends_with("-linux-musl");
    let (for_hooks, others): (Vec<Program>, Vec<Program>) =
        arch::programs(workspace)?.into_iter().partition(|program| program.is_for_hooks && can_be_static);
    let built_statically = build(workspace, &for_hooks, Some(&host))?;
    let built = build(workspace, &others, None)?;
    built_statically.iter().chain(&built).map(|binary| put(binary, directory)).collect()
}

/// Builds programs and returns their paths. With a target they are linked statically: without one the flag would reach
/// procedural macros too, which cannot be static.
fn build(workspace: &Workspace, programs: &[Program], static_for: Option<&str>) -> anyhow::Result<Vec<PathBuf>> {
    if programs.is_empty() {
        return Ok(Vec::new());
    }
    let packages: BTreeSet<&str> = programs.iter().map(|program| program.package.as_str()).collect();
    let mut command = cargo();
    command.args(["build", "--release", "--bins"]).current_dir(workspace.root());
    command.args(packages.iter().map(|package| format!("--package={package}")));
    let mut output = workspace.target();
    if let Some(target) = static_for {
        let flags = std::env::var("RUSTFLAGS").unwrap_or_default();
        command.args(["--target", target]).env("RUSTFLAGS", format!("{flags} -C target-feature=+crt-static"));
        output.push(target);
    }
    run_command(&mut command)?;
    output.push("release");
    Ok(programs.iter().map(|program| output.join(&program.binary)).collect())
}

fn put(binary: &Path, directory: &Path) -> anyhow::Result<PathBuf> {
    let name = binary.file_name().context("a program has no name")?;
    let installed = directory.join(name);
    let mut temporary = std::ffi::OsString::from(".");
    temporary.push(name);
    temporary.push(".new");
    let temporary = directory.join(temporary);
    fs::copy(binary, &temporary)
        .and_then(|_bytes| fs::rename(&temporary, &installed))
        .with_context(|| format!("cannot copy {} to {}", binary.display(), installed.display()))?;
    Ok(installed)
}

fn host_triple() -> anyhow::Result<String> {
    let answer = capture(program("rustc").arg("-vV"))?;
    let line = answer.lines().find_map(|line| line.strip_prefix("host: "));
    line.map(str::to_owned).context("rustc does not say what its host is")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_replaces_the_one_that_was_there() {
        let scratch = tempfile::tempdir().unwrap();
        let built = scratch.path().join("steward");
        let directory = scratch.path().join("bin");
        fs::create_dir(&directory).unwrap();
        fs::write(&built, "new").unwrap();
        fs::write(directory.join("steward"), "old").unwrap();

        let installed = put(&built, &directory).unwrap();

        assert_eq!(fs::read_to_string(&installed).unwrap(), "new");
        assert_eq!(fs::read_dir(&directory).unwrap().count(), 1);
    }
}
