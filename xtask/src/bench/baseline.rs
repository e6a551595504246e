//! The program that hooks are compared with: it does nothing, and is built as hooks are.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::command::{program, run};

/// Builds it in `directory` and returns its path. The flags are those of the release profile, and static linking.
pub(super) fn build(directory: &Path) -> anyhow::Result<PathBuf> {
    let source = directory.join("empty.rs");
    let binary = directory.join("empty");
    fs::write(&source, "fn main() {}\n").with_context(|| format!("cannot write {}", source.display()))?;
    let mut compile = program("rustc");
    compile.args(["--edition=2024", "-Copt-level=3", "-Cpanic=abort", "-Cstrip=symbols", "-Ccodegen-units=1"]);
    compile.arg("-Ctarget-feature=+crt-static").arg("-o").arg(&binary).arg(&source);
    run(&mut compile)?;
    Ok(binary)
}
