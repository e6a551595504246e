//! Where things lie: the workspace's root, its target directory and the cache of provisioned tools.
//!
//! Reads the environment and asks nobody else; it never creates anything.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

/// The checkout that this xtask was compiled from.
#[derive(Debug, Clone)]
pub(crate) struct Workspace {
    root: PathBuf,
    cache: PathBuf,
}

impl Workspace {
    /// Finds the workspace and the cache directory.
    ///
    /// Fails where neither `CGC_STEWARD_CACHE`, `XDG_CACHE_HOME` nor `HOME` says where a cache may be.
    pub(crate) fn locate() -> anyhow::Result<Self> {
        let root =
            Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask has no parent directory")?.to_path_buf();
        Ok(Self {
            root,
            cache: cache_directory(|name| env::var_os(name).filter(|value| !value.is_empty()))
                .context("set HOME, XDG_CACHE_HOME or CGC_STEWARD_CACHE")?,
        })
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The directory of provisioned tools. It outlives `cargo clean`, since filling it takes minutes and a network.
    pub(crate) fn cache(&self) -> &Path {
        &self.cache
    }

    /// Pinned versions and lock files of what is provisioned.
    pub(crate) fn pins(&self) -> PathBuf {
        self.root.join("xtask").join("pins")
    }

    /// Cargo's target directory.
    pub(crate) fn target(&self) -> PathBuf {
        env::var_os("CARGO_TARGET_DIR").map_or_else(|| self.root.join("target"), |directory| self.root.join(directory))
    }
}

fn cache_directory(variable: impl Fn(&str) -> Option<std::ffi::OsString>) -> Option<PathBuf> {
    if let Some(directory) = variable("CGC_STEWARD_CACHE") {
        return Some(directory.into());
    }
    let base = variable("XDG_CACHE_HOME").map_or_else(
        || variable("HOME").map(|home| Path::new(&home).join(".cache")),
        |directory| Some(directory.into()),
    )?;
    Some(base.join("cgc-steward-dev"))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(&[("CGC_STEWARD_CACHE", "/c"), ("XDG_CACHE_HOME", "/x"), ("HOME", "/h")], Some("/c"))]
    #[case(&[("XDG_CACHE_HOME", "/x"), ("HOME", "/h")], Some("/x/cgc-steward-dev"))]
    #[case(&[("HOME", "/h")], Some("/h/.cache/cgc-steward-dev"))]
    #[case(&[], None)]
    fn the_most_specific_variable_names_the_cache(#[case] variables: &[(&str, &str)], #[case] expected: Option<&str>) {
        let lookup = |name: &str| {
            let (_, value) = variables.iter().find(|(key, _)| *key == name)?;
            Some(value.into())
        };
        assert_eq!(cache_directory(lookup), expected.map(PathBuf::from));
    }
}
