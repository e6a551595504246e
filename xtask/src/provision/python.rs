//! Finding a Python that can run cgc, and making virtual environments with it.
//!
//! Only the standard `venv` and `pip` modules are used; the system's own packages are never touched.

use std::path::{Path, PathBuf};

use anyhow::bail;

use crate::command::{capture, program, run};

/// The versions for which all pinned packages of cgc have wheels.
const SUPPORTED_MINORS: std::ops::RangeInclusive<u32> = 11..=13;

/// Prefers what the developer calls python3, then any other that fits.
const CANDIDATES: [&str; 4] = ["python3", "python3.11", "python3.12", "python3.13"];

/// A supported interpreter that can make virtual environments.
pub(crate) fn find() -> anyhow::Result<PathBuf> {
    for candidate in CANDIDATES {
        // Without ensurepip `venv` makes an environment that has no pip; Debian ships it apart, in python3-venv.
        let probe = "import ensurepip, sys, venv; print(sys.version_info.minor, sys.executable)";
        let Ok(answer) = capture(program(candidate).args(["-c", probe])) else {
            continue;
        };
        if let Some((minor, executable)) = answer.trim().split_once(' ')
            && minor.parse().is_ok_and(|minor: u32| SUPPORTED_MINORS.contains(&minor))
        {
            return Ok(executable.into());
        }
    }
    bail!(
        "no Python 3.{} to 3.{} with the venv module was found; install it, for example with \
         `apt-get install python3 python3-venv`",
        SUPPORTED_MINORS.start(),
        SUPPORTED_MINORS.end()
    )
}

/// Makes a virtual environment in `directory`.
pub(crate) fn create_environment(directory: &Path) -> anyhow::Result<()> {
    run(program(find()?).args(["-m", "venv"]).arg(directory))
}

/// Installs into a virtual environment; `arguments` are pip's.
pub(crate) fn pip_install<const N: usize>(environment: &Path, arguments: [&std::ffi::OsStr; N]) -> anyhow::Result<()> {
    capture(
        program(environment.join("bin/python"))
            .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"])
            .args(arguments),
    )
    .map(drop)
}
