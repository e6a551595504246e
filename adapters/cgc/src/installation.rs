//! Finding the installed cgc without starting it: the script, its interpreter, and the package beside them.
//!
//! It must never run what it finds, and never take a program from a relative entry of a search path: that would be a
//! program of the directory that happens to be current.

mod packages;
mod shebang;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use steward_ports::{Environment, GraphQuery, GraphToolError, Installation};

pub(crate) use packages::Packages;

/// The installed cgc, and the packages beside it where they were found.
#[derive(Debug)]
pub(crate) struct Found {
    /// What the domain needs to know.
    pub(crate) installation: Installation,
    /// The directory of packages that cgc's interpreter imports from.
    pub(crate) packages: Option<Packages>,
}

/// Looks for the cgc of a session: `query.executable` on the session's PATH where it is a bare name, else as a path, a
/// leading `~` standing for `home` and a relative one counted from the workspace.
pub(crate) fn find(query: &GraphQuery, home: &Path) -> Result<Found, GraphToolError> {
    let executable = locate(&query.executable, &query.root, home, &query.environment)
        .ok_or_else(|| GraphToolError::Missing { executable: query.executable.clone() })?;
    // pipx and uv put a link on the PATH; only the script behind it has its interpreter and packages beside it.
    let script = fs::canonicalize(&executable).unwrap_or_else(|_| executable.clone());
    let interpreter = shebang::interpreter(&script, &query.environment);
    let packages =
        Packages::find(interpreter.as_deref(), &script, home).or_else(|| Packages::find(None, &executable, home));
    Ok(Found {
        installation: Installation {
            executable,
            interpreter,
            version: packages.as_ref().and_then(Packages::cgc_version),
        },
        packages,
    })
}

fn locate(executable: &Path, root: &Path, home: &Path, environment: &Environment) -> Option<PathBuf> {
    if let Ok(below_home) = executable.strip_prefix("~") {
        return Some(home.join(below_home)).filter(|path| is_executable(path));
    }
    if executable.components().count() > 1 || executable.is_absolute() {
        return Some(root.join(executable)).filter(|path| is_executable(path));
    }
    search_path(executable, environment)
}

/// Returns the first executable file called `name` in the absolute entries of the session's PATH.
fn search_path(name: &Path, environment: &Environment) -> Option<PathBuf> {
    std::env::split_paths(environment.get("PATH")?)
        .filter(|directory| directory.is_absolute())
        .map(|directory| directory.join(name))
        .find(|candidate| is_executable(candidate))
}

fn is_executable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use rstest::rstest;

    use super::*;

    fn program(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn query(root: &Path, executable: &str, path: &str) -> GraphQuery {
        GraphQuery {
            root: root.to_path_buf(),
            executable: PathBuf::from(executable),
            environment: [(OsString::from("PATH"), OsString::from(path))].into_iter().collect(),
        }
    }

    /// A virtual environment as `python -m venv` and pip lay it out.
    fn virtual_environment(at: &Path, first_lines: &str) {
        program(&at.join("bin/cgc"), first_lines);
        program(&at.join("bin/python"), "");
        let packages = at.join("lib/python3.11/site-packages");
        fs::create_dir_all(packages.join("codegraphcontext-0.6.13.dist-info")).unwrap();
        fs::create_dir_all(packages.join("kuzu")).unwrap();
    }

    #[test]
    fn the_first_executable_on_the_path_is_taken_with_interpreter_and_version() {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path();
        fs::create_dir(place.join("empty")).unwrap();
        fs::create_dir(place.join("plain")).unwrap();
        fs::write(place.join("plain/cgc"), "not executable").unwrap();
        let python = place.join("venv/bin/python");
        virtual_environment(&place.join("venv"), &format!("#!{}\nimport re\n", python.display()));
        let path = format!("{0}/empty:{0}/plain:{0}/venv/bin", place.display());

        let found = find(&query(place, "cgc", &path), place).unwrap();

        assert_eq!(
            found.installation,
            Installation {
                executable: place.join("venv/bin/cgc"),
                interpreter: Some(python),
                version: Some("0.6.13".into()),
            }
        );
    }

    #[test]
    fn a_link_on_the_path_leads_to_the_environment_behind_it() {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path();
        let tool = place.join("share/pipx/venvs/codegraphcontext");
        virtual_environment(&tool, &format!("#!{}/bin/python\n", tool.display()));
        fs::create_dir(place.join("bin")).unwrap();
        std::os::unix::fs::symlink(tool.join("bin/cgc"), place.join("bin/cgc")).unwrap();

        let found = find(&query(place, "cgc", &place.join("bin").display().to_string()), place).unwrap();

        assert_eq!(found.installation.executable, place.join("bin/cgc"));
        assert_eq!(found.installation.interpreter, Some(tool.join("bin/python")));
        assert_eq!(found.installation.version.as_deref(), Some("0.6.13"));
    }

    #[test]
    fn a_program_without_a_first_line_still_has_its_packages_beside_it() {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path();
        virtual_environment(place, "\u{7f}ELF");

        let found = find(&query(place, "./bin/cgc", ""), place).unwrap();

        assert_eq!(found.installation.interpreter, None);
        assert_eq!(found.installation.version.as_deref(), Some("0.6.13"));
    }

    #[rstest]
    #[case::home("~/bin/cgc")]
    #[case::relative("bin/cgc")]
    fn a_path_is_taken_as_such(#[case] executable: &str) {
        let directory = tempfile::tempdir().unwrap();
        program(&directory.path().join("bin/cgc"), "#!/bin/sh\n");

        let found = find(&query(directory.path(), executable, ""), directory.path()).unwrap();

        assert_eq!(found.installation.executable, directory.path().join("bin/cgc"));
    }

    #[rstest]
    #[case::nowhere("cgc", "/nonexistent")]
    #[case::relative_entry("cgc", "bin:.:")]
    #[case::absent_path("bin/absent", "/usr/bin")]
    #[case::directory("bin", "")]
    fn what_is_not_there_is_missing(#[case] executable: &str, #[case] path: &str) {
        let directory = tempfile::tempdir().unwrap();
        program(&directory.path().join("bin/cgc"), "#!/bin/sh\n");

        let result = find(&query(directory.path(), executable, path), directory.path());

        assert!(matches!(result, Err(GraphToolError::Missing { executable: named }) if named == Path::new(executable)));
    }
}
