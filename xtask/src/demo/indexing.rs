//! The human's yes, and what can be seen while the graph is made.

use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use serde_json::Value;

use crate::stage::Stage;

/// How often the progress is asked for.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// Runs `steward index --yes --wait`, prints what `steward status` shows meanwhile, and returns what the command said.
pub(super) fn run(stage: &Stage, repository: &Path, bound: Duration) -> anyhow::Result<String> {
    let begun = Instant::now();
    let mut child = stage
        .command(stage.program("steward"), repository)
        .args(["index", "--yes", "--wait"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .context("cannot start steward index")?;
    let mut shown = None;
    let mut steps = 0;
    // A few lines of output at the end fit into its pipes, so it ends without being read.
    while child.try_wait().context("cannot wait for steward index")?.is_none() {
        if begun.elapsed() > bound {
            child.kill().context("cannot end steward index")?;
            child.wait().context("cannot wait for steward index")?;
            bail!("the index was not done within {bound:?}");
        }
        let progress = progress(&stage.status(repository)?);
        if progress.is_some() && progress != shown {
            println!("{:>6.1} s  {}", begun.elapsed().as_secs_f64(), progress.as_deref().unwrap_or_default());
            shown = progress;
            steps += 1;
        }
        thread::sleep(LOOK_EVERY);
    }
    let output = child.wait_with_output().context("cannot read what steward index said")?;
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said).trim().to_owned();
    ensure!(output.status.success(), "steward index failed ({}): {said}", output.status);
    ensure!(steps > 0, "steward status showed no progress");
    Ok(said)
}

fn progress(status: &Value) -> Option<String> {
    let activity = status["activity"].as_object()?;
    let mut line = format!("{}: {}", activity["name"].as_str()?, activity["phase"].as_str()?);
    if let (Some(done), Some(total)) = (activity["done"].as_u64(), activity["total"].as_u64()) {
        line = format!("{line}, {done} of {total}");
    }
    Some(line)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn progress_is_shown_as_far_as_it_is_known() {
        let counted = json!({ "activity": { "name": "indexing", "phase": "parsing", "done": 3, "total": 9 } });
        let uncounted = json!({ "activity": { "name": "indexing", "phase": "starting", "done": null, "total": null } });

        assert_eq!(progress(&counted).as_deref(), Some("indexing: parsing, 3 of 9"));
        assert_eq!(progress(&uncounted).as_deref(), Some("indexing: starting"));
        assert_eq!(progress(&json!({ "activity": null })), None);
    }
}
