//! Installing locked npm packages.
//!
//! Packages' own install scripts never run: what they would do is done here, visibly.

use std::fs;
use std::path::Path;

use anyhow::Context as _;

use crate::command::{capture, program};

/// Installs exactly what `pins/package-lock.json` names, checked against its hashes, into `directory/node_modules`.
pub(crate) fn install_locked(pins: &Path, directory: &Path) -> anyhow::Result<()> {
    capture(program("npm").arg("--version")).context(
        "npm is needed; install Node.js 18 or newer with npm, for example with `apt-get install nodejs npm`",
    )?;
    for file in ["package.json", "package-lock.json"] {
        let from = pins.join(file);
        fs::copy(&from, directory.join(file))
            .with_context(|| format!("cannot copy {} to {}", from.display(), directory.display()))?;
    }
    let arguments = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier"];
    capture(program("npm").args(arguments).current_dir(directory)).map(drop)
}
