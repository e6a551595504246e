//! The cgc of a stage, and a record of each time that it was started.
//!
//! It changes nothing about how cgc is found or run.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use steward_fake_cgc::Install;
use steward_harness_stubs::Scratch;

use crate::provision;
use crate::workspace::Workspace;

/// Python runs a file of this name at the start of every interpreter that finds it, so it sees cgc without changing it.
const OBSERVER: &str = "\
import os, sys
with open(os.path.join(os.path.dirname(__file__), 'starts'), 'a') as starts:
    starts.write(repr(sys.orig_argv) + '\\n')
";

/// Which cgc a stage has.
#[derive(Debug)]
pub(crate) enum Cgc {
    /// The provisioned one.
    Real(RealCgc),
    /// The stand-in of the tests, for measurements of what is not cgc.
    Fake(Install),
}

/// The provisioned cgc with its grammars.
#[derive(Debug)]
pub(crate) struct RealCgc {
    /// Holds the program and nothing else.
    directory: PathBuf,
    grammars: PathBuf,
    /// Holds the observer and its record.
    observer: PathBuf,
}

impl Cgc {
    /// The provisioned cgc.
    pub(crate) fn real(workspace: &Workspace, scratch: &Scratch) -> anyhow::Result<Self> {
        let directory = scratch.directory("cgc")?;
        let executable = provision::cgc::executable(workspace);
        symlink(&executable, directory.join("cgc"))
            .with_context(|| format!("cannot link {} into {}", executable.display(), directory.display()))?;
        scratch.file("observer/sitecustomize.py", OBSERVER)?;
        let observer = scratch.path().join("observer");
        Ok(Self::Real(RealCgc { directory, grammars: provision::grammars::directory(workspace), observer }))
    }

    /// The stand-in whose program is `binary`.
    pub(crate) fn fake(binary: &Path, scratch: &Scratch) -> anyhow::Result<Self> {
        let directory = scratch.directory("cgc")?;
        Install::new(&directory, binary)
            .map(Self::Fake)
            .with_context(|| format!("cannot lay out {} below {}", binary.display(), directory.display()))
    }

    /// The directory to put on the PATH.
    pub(super) fn directory(&self) -> &Path {
        match self {
            Self::Real(real) => &real.directory,
            Self::Fake(install) => install.directory(),
        }
    }

    /// The variables that it needs beside the PATH.
    pub(super) fn environment(&self) -> impl Iterator<Item = (&'static str, OsString)> {
        let variables = match self {
            Self::Real(real) => vec![
                ("TREE_SITTER_LANGUAGE_PACK_LIBS_DIR", real.grammars.clone().into()),
                ("PYTHONPATH", real.observer.clone().into()),
            ],
            Self::Fake(_) => Vec::new(),
        };
        variables.into_iter()
    }

    /// How often it was started so far; for the real one each Python interpreter counts.
    pub(crate) fn starts(&self) -> anyhow::Result<usize> {
        match self {
            Self::Real(real) => {
                let record = real.observer.join("starts");
                match fs::read_to_string(&record) {
                    Ok(text) => Ok(text.lines().count()),
                    Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
                    Err(error) => Err(error).with_context(|| format!("cannot read {}", record.display())),
                }
            }
            Self::Fake(install) => Ok(install.calls().context("the stand-in's record cannot be read")?.len()),
        }
    }
}
