//! The real cgc 0.6.13 in a virtual environment, proved to index before it counts as installed.
//!
//! The proof runs with a throw-away home, since any cgc command writes into `~/.codegraphcontext`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

use super::{Installation, grammars, python, read_pins};
use crate::command::{capture, program};
use crate::workspace::Workspace;

const DIRECTORY: &str = "cgc-0.6.13";

/// One source file for each grammar, with one function each.
const PROBE_SOURCES: [(&str, &str); 4] = [
    ("a.py", "def a():\n    return 1\n"),
    ("b.rs", "fn b() -> u8 {\n    1\n}\n"),
    ("c.ts", "function c(): number {\n  return 1;\n}\n"),
    ("d.tsx", "function d() {\n  return <p>d</p>;\n}\n"),
];

/// The program that tests start.
pub(crate) fn executable(workspace: &Workspace) -> PathBuf {
    workspace.cache().join(DIRECTORY).join("bin/cgc")
}

pub(crate) fn installation(workspace: &Workspace) -> anyhow::Result<Installation> {
    Ok(Installation::new(workspace, DIRECTORY, read_pins(&requirements(workspace))?))
}

/// Installs cgc and indexes a small repository with it. The grammars have to be there.
pub(crate) fn provision(workspace: &Workspace) -> anyhow::Result<()> {
    installation(workspace)?.complete(|directory| {
        python::create_environment(directory)?;
        let requirements = requirements(workspace);
        python::pip_install(directory, ["--no-deps".as_ref(), "--requirement".as_ref(), requirements.as_os_str()])?;
        prove_indexing(&executable(workspace), &grammars::directory(workspace))
    })
}

fn requirements(workspace: &Workspace) -> PathBuf {
    workspace.pins().join("cgc-requirements.txt")
}

/// Exit 0 proves nothing: without grammars cgc prints success and stores no function. So the graph is asked.
fn prove_indexing(cgc: &Path, grammars: &Path) -> anyhow::Result<()> {
    let scratch = tempfile::tempdir()?;
    let home = scratch.path().join("home");
    let repository = scratch.path().join("repository");
    for directory in [&home, &repository] {
        fs::create_dir(directory).with_context(|| format!("cannot create {}", directory.display()))?;
    }
    for (name, source) in PROBE_SOURCES {
        fs::write(repository.join(name), source)?;
    }
    let run = |arguments: &[&str]| {
        capture(
            program(cgc)
                .args(arguments)
                .current_dir(&repository)
                .env_clear()
                .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
                .env("HOME", &home)
                .env("LANG", "C.UTF-8")
                .env("TERM", "dumb")
                .env("NO_COLOR", "1")
                // cgc wraps its output, JSON included, at 80 columns otherwise.
                .env("COLUMNS", "10000")
                .env("DEFAULT_DATABASE", "kuzudb")
                .env("CGC_IGNORE_PROJECT_ENV", "1")
                .env("TREE_SITTER_LANGUAGE_PACK_LIBS_DIR", grammars),
        )
    };
    run(&["index", "--no-progress", "."])?;
    let answer = run(&["query", "MATCH (f:Function) RETURN f.name AS name ORDER BY name"])?;
    let missing: Vec<_> =
        ["a", "b", "c", "d"].into_iter().filter(|name| !answer.contains(&format!("\"{name}\""))).collect();
    if !missing.is_empty() {
        bail!("the installed cgc indexed no function {}; it answered: {answer}", missing.join(", "));
    }
    Ok(())
}
