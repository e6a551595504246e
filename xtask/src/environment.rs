//! The variables by which tests learn where the provisioned tools and our own binaries are.
//!
//! Tests read these names and nothing else of this crate; the same values serve `cargo xtask test` and a developer's shell.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::Path;

use crate::provision::{Component, cgc, claude_code, grammars};
use crate::test_run::binary_directory;
use crate::workspace::Workspace;

/// Name and value of every variable that the tests read.
///
/// `binaries` is the directory that holds the workspace's own programs, `target/debug` for the dev profile.
pub(crate) fn variables(workspace: &Workspace, binaries: &Path) -> [(&'static str, OsString); 4] {
    [
        ("STEWARD_TEST_CGC", cgc::executable(workspace).into()),
        ("STEWARD_TEST_GRAMMARS", grammars::directory(workspace).into()),
        ("STEWARD_TEST_CLAUDE", claude_code::executable(workspace).into()),
        ("STEWARD_TEST_BIN_DIR", binaries.into()),
    ]
}

/// The variables as shell export lines, for `eval "$(cargo xtask env)"`.
///
/// Fails where something is not provisioned yet, rather than print a path that does not exist.
pub(crate) fn exports(workspace: &Workspace) -> anyhow::Result<String> {
    for component in [Component::Cgc, Component::ClaudeCode] {
        component.require(workspace)?;
    }
    let mut text = String::new();
    for (name, value) in variables(workspace, &binary_directory(workspace)) {
        let quoted = value.to_string_lossy().replace('\'', r"'\''");
        writeln!(text, "export {name}='{quoted}'")?;
    }
    Ok(text)
}
