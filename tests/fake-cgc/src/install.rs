//! Laying the stand-in out as a Python installation of cgc 0.6.13 looks from outside.
//!
//! It must never install anything outside the directory that it is given.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

use crate::calls::{Call, CallLog};
use crate::script::Script;

/// A stand-in in a directory of its own.
#[derive(Debug, Clone)]
pub struct Install {
    executable: PathBuf,
}

impl Install {
    /// Lays `binary` out below `directory`: `bin/cgc`, and the package's metadata where pip would put it.
    pub fn new(directory: &Path, binary: &Path) -> io::Result<Self> {
        let packages = directory.join("lib/python3.11/site-packages");
        for package in ["codegraphcontext-0.6.13.dist-info", "kuzu", "ladybug"] {
            fs::create_dir_all(packages.join(package))?;
        }
        fs::create_dir_all(directory.join("bin"))?;
        let executable = directory.join("bin/cgc");
        // A link, since a program that was just copied may still be open for writing in a process that is being started.
        symlink(binary, &executable)?;
        Ok(Self { executable })
    }

    /// Lays out the binary that the workspace's build left: in `STEWARD_TEST_BIN_DIR`, else two folders above the test
    /// that asks.
    pub fn in_directory(directory: &Path) -> io::Result<Self> {
        let built = match env::var_os("STEWARD_TEST_BIN_DIR") {
            Some(built) => PathBuf::from(built),
            None => {
                let test = env::current_exe()?;
                let built = test.parent().and_then(Path::parent).unwrap_or(Path::new("/"));
                built.to_path_buf()
            }
        };
        let binary = built.join("fake-cgc");
        if !binary.is_file() {
            let advice = format!("{} is not built; `cargo build -p steward-fake-cgc` does", binary.display());
            return Err(io::Error::new(io::ErrorKind::NotFound, advice));
        }
        Self::new(directory, &binary)
    }

    /// The program.
    pub fn executable(&self) -> &Path {
        &self.executable
    }

    /// The directory to put on a PATH.
    pub fn directory(&self) -> &Path {
        self.executable.parent().unwrap_or(Path::new("/"))
    }

    /// Tells the stand-in how to behave from the next call on.
    pub fn set_script(&self, script: &Script) -> io::Result<()> {
        script.write(&self.executable)
    }

    /// Returns all calls so far.
    pub fn calls(&self) -> io::Result<Vec<Call>> {
        CallLog::beside(&self.executable).read()
    }
}
