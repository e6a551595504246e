//! The tree-sitter grammars that cgc parses with, compiled from npm packages.
//!
//! cgc 0.6.13 downloads each grammar from a code hosting site at first use and, where it cannot, indexes no symbol and still
//! says success. Tests hand it these instead, through `TREE_SITTER_LANGUAGE_PACK_LIBS_DIR`, so that no test needs a network.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use super::{Installation, npm, read_pins};
use crate::command::{capture, program};
use crate::workspace::Workspace;

/// The language pack of the pinned cgc decides which grammar versions fit.
const DIRECTORY: &str = "grammars-for-cgc-0.6.13";

/// Language name and the folder under `node_modules` that holds its `src/parser.c`.
const GRAMMARS: [(&str, &str); 4] = [
    ("python", "tree-sitter-python"),
    ("rust", "tree-sitter-rust"),
    ("typescript", "tree-sitter-typescript/typescript"),
    ("tsx", "tree-sitter-typescript/tsx"),
];

/// The directory that holds `libtree_sitter_<language>.so`.
pub(crate) fn directory(workspace: &Workspace) -> PathBuf {
    workspace.cache().join(DIRECTORY).join("lib")
}

pub(crate) fn installation(workspace: &Workspace) -> anyhow::Result<Installation> {
    let pins = read_pins(&workspace.pins().join("grammars/package-lock.json"))?;
    Ok(Installation::new(workspace, DIRECTORY, pins))
}

pub(crate) fn provision(workspace: &Workspace) -> anyhow::Result<()> {
    installation(workspace)?.complete(|directory| {
        capture(program("cc").arg("--version"))
            .context("a C compiler is needed; install one, for example with `apt-get install gcc libc6-dev`")?;
        npm::install_locked(&workspace.pins().join("grammars"), directory)?;
        let libraries = directory.join("lib");
        fs::create_dir(&libraries).with_context(|| format!("cannot create {}", libraries.display()))?;
        let packages = directory.join("node_modules");
        for (language, source) in GRAMMARS {
            let library = libraries.join(format!("libtree_sitter_{language}.so"));
            compile(&packages.join(source).join("src"), &library)?;
        }
        fs::remove_dir_all(&packages).with_context(|| format!("cannot remove {}", packages.display()))
    })
}

fn compile(sources: &Path, library: &Path) -> anyhow::Result<()> {
    let mut compiler = program("cc");
    compiler.args(["-shared", "-fPIC", "-O1", "-I"]).arg(sources).arg("-o").arg(library);
    compiler.arg(sources.join("parser.c"));
    let scanner = sources.join("scanner.c");
    if scanner.exists() {
        compiler.arg(scanner);
    }
    capture(&mut compiler).map(drop)
}
