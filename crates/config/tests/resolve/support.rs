//! Layers for tests, and their warnings as text.
//!
//! It must never assert.

use std::ffi::OsString;

use steward_config::{FileLayer, Layers, Resolved, Warning};
use steward_ports::Environment;

pub(crate) const USER: &str = "/home/ada/.config/cgc-steward/config.toml";
pub(crate) const PROJECT: &str = "/home/ada/project/.cgc-steward.toml";

pub(crate) fn user(text: &str) -> Layers {
    Layers { user: Some(FileLayer::text(USER, text)), ..Layers::default() }
}

pub(crate) fn project(text: &str, trusted: bool) -> Layers {
    Layers { project: Some(FileLayer::text(PROJECT, text)), project_trusted: trusted, ..Layers::default() }
}

pub(crate) fn environment(variables: &[(&str, &str)]) -> Environment {
    variables.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))).collect()
}

pub(crate) fn variables(variables: &[(&str, &str)]) -> Layers {
    Layers { environment: environment(variables), ..Layers::default() }
}

pub(crate) fn texts(resolved: &Resolved) -> Vec<String> {
    resolved.warnings.iter().map(Warning::to_string).collect()
}
