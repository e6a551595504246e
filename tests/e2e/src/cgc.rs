//! The cgc of a world: the stand-in or the real one, and a record of each time it was started.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use steward_fake_cgc::Install;
use steward_harness_stubs::Scratch;

use crate::world::required_variable;

/// Python runs this at the start of every interpreter that finds it, so it sees the real cgc without changing it.
const OBSERVER: &str = "\
import json, os, sys
with open(os.path.join(os.path.dirname(__file__), 'calls'), 'a') as calls:
    calls.write(json.dumps(sys.orig_argv) + '\\n')
";

/// Which cgc a world has.
#[derive(Debug)]
pub enum Cgc {
    /// None: nothing on the PATH is called cgc.
    Missing,
    /// The stand-in, which does what the real one does unless its script says otherwise.
    Fake(Install),
    /// The real one.
    Real(RealCgc),
}

/// The real cgc of `STEWARD_TEST_CGC`, with the grammars of `STEWARD_TEST_GRAMMARS`.
#[derive(Debug)]
pub struct RealCgc {
    /// Holds the program and nothing else.
    directory: PathBuf,
    /// Holds the observer and its record.
    observer: PathBuf,
}

impl Cgc {
    pub(crate) fn fake(scratch: &Scratch) -> Self {
        let directory = scratch.directory("fake-cgc").unwrap();
        Self::Fake(Install::in_directory(&directory).unwrap())
    }

    pub(crate) fn real(scratch: &Scratch) -> Self {
        let directory = scratch.directory("real-cgc").unwrap();
        symlink(required_variable("STEWARD_TEST_CGC"), directory.join("cgc")).unwrap();
        let observer = scratch.directory("observer").unwrap();
        scratch.file("observer/sitecustomize.py", OBSERVER).unwrap();
        Self::Real(RealCgc { directory, observer })
    }

    /// Runs one Cypher query through `cgc query` and returns its rows.
    #[track_caller]
    pub(crate) fn query(
        &self,
        directory: &Path,
        environment: &BTreeMap<OsString, OsString>,
        question: &str,
    ) -> Vec<Value> {
        let output = Command::new(self.executable().unwrap())
            .args(["query", question])
            .current_dir(directory)
            .env_clear()
            .envs(environment)
            // The graphs of these tests are in cgc's default backend, which it would otherwise choose anew.
            .env("DEFAULT_DATABASE", "kuzudb")
            .env("COLUMNS", "10000")
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let stdout = String::from_utf8(output.stdout).unwrap();
        // Lines of talk come before the rows.
        let rows = stdout.find("\n[").map(|start| serde_json::from_str(&stdout[start..]));
        match rows {
            Some(Ok(rows)) => rows,
            Some(Err(_)) | None => panic!("{question}: {stdout}\n{}", String::from_utf8_lossy(&output.stderr)),
        }
    }

    /// The directory to put on the PATH.
    pub(crate) fn directory(&self) -> Option<&Path> {
        match self {
            Self::Missing => None,
            Self::Fake(install) => Some(install.directory()),
            Self::Real(real) => Some(&real.directory),
        }
    }

    /// The program; none where there is none.
    pub fn executable(&self) -> Option<PathBuf> {
        self.directory().map(|directory| directory.join("cgc"))
    }

    /// The variables that this cgc needs beside the PATH.
    pub(crate) fn environment(&self) -> Vec<(&'static str, OsString)> {
        match self {
            Self::Missing | Self::Fake(_) => Vec::new(),
            Self::Real(real) => vec![
                ("TREE_SITTER_LANGUAGE_PACK_LIBS_DIR", required_variable("STEWARD_TEST_GRAMMARS")),
                ("PYTHONPATH", real.observer.clone().into()),
            ],
        }
    }

    /// The arguments of all calls so far, oldest first; for the real one those of every interpreter that was started.
    pub fn calls(&self) -> Vec<Vec<String>> {
        match self {
            Self::Missing => Vec::new(),
            Self::Fake(install) => install.calls().unwrap().into_iter().map(|call| call.arguments).collect(),
            Self::Real(real) => {
                let record = fs::read_to_string(real.observer.join("calls")).unwrap_or_default();
                record.lines().map(|line| words(&serde_json::from_str(line).unwrap())).collect()
            }
        }
    }
}

fn words(line: &Value) -> Vec<String> {
    line.as_array().unwrap().iter().map(|word| word.as_str().unwrap().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use crate::world::World;

    #[rstest]
    #[case::fake(World::with_fake_cgc())]
    #[case::real(World::with_real_cgc())]
    fn each_start_of_cgc_is_recorded(#[case] mut world: World) {
        let repository = world.repository("repo");
        let mut harness = world.harness(repository.root());
        assert_eq!(world.cgc().calls().len(), 0);

        let run = harness.run(&world.cgc().executable().unwrap(), &["--version"], b"");

        let printed = String::from_utf8([run.stdout, run.stderr].concat()).unwrap();
        assert_eq!(run.code, Some(0), "{printed}");
        assert!(printed.contains("0.6.13"), "{printed}");
        let calls = world.cgc().calls();
        assert_eq!(calls.len(), 1, "{calls:?}");
        assert_eq!(calls[0].last().unwrap(), "--version");
    }
}
