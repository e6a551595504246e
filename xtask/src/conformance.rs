//! `cargo xtask conformance`: the specification against the compiled tests and their results.
//!
//! Fails on anything that would make "all scenarios are tested and pass" untrue. Decisions are in [`comparison`]; this
//! module reads files and runs the test runner.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, bail};

use crate::command::{capture, print, run as run_command};
use crate::provision::{self, Component};
use crate::test_run::{Profile, Scope, TestRun};
use crate::workspace::Workspace;

mod comparison;
mod report;
mod results;
mod specification;
mod test_list;

/// The packages whose tests are compared with the specification.
pub(crate) const PACKAGES: [&str; 2] = [test_list::CONFORMANCE_PACKAGE, test_list::END_TO_END_PACKAGE];

/// Where the results come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ResultsFrom {
    /// Only what is static is compared.
    Nowhere,
    /// The tests are run now.
    OwnRun,
    /// A run of all the workspace's tests under this profile has just ended.
    EarlierRun(Profile),
}

/// Compares, prints, and fails unless everything conforms.
pub(crate) fn run(workspace: &Workspace, results_from: ResultsFrom, as_json: bool) -> anyhow::Result<()> {
    let specification = read_specification(workspace)?;
    match results_from {
        ResultsFrom::Nowhere => provision::provision(workspace, &[Component::Nextest])?,
        ResultsFrom::OwnRun => provision::provision(workspace, &Component::ALL)?,
        ResultsFrom::EarlierRun(_) => {}
    }
    let (scope, profile) = match results_from {
        ResultsFrom::Nowhere | ResultsFrom::OwnRun => (Scope::Packages(&PACKAGES), Profile::Conformance),
        ResultsFrom::EarlierRun(profile) => (Scope::Workspace, profile),
    };
    let test_run = TestRun::new(workspace, scope, profile)?;
    let tests = match test_run.list_command()? {
        Some(mut command) => test_list::parse(&capture(&mut command)?)?,
        None => Vec::new(),
    };
    let results = match results_from {
        ResultsFrom::Nowhere => None,
        ResultsFrom::OwnRun => Some(run_tests(workspace, &test_run)?),
        ResultsFrom::EarlierRun(_) => Some(read_results(&test_run.report())?),
    };
    let (comparison, matrix) = comparison::compare(&specification, &tests, results.as_ref());
    let shown = if as_json {
        format!("{:#}\n", report::json(&specification, &comparison, &matrix))
    } else {
        report::table(&specification, &comparison, &matrix)
    };
    print(&shown)?;
    if !comparison.conforms() {
        bail!("the tests do not conform to the specification");
    }
    Ok(())
}

fn read_specification(workspace: &Workspace) -> anyhow::Result<specification::Specification> {
    let directory = workspace.root().join("docs/spec");
    let read = |path: &Path| fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()));
    let mut features = Vec::new();
    let entries = fs::read_dir(&directory).with_context(|| format!("cannot list {}", directory.display()))?;
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "feature") {
            features.push((path.display().to_string(), read(&path)?));
        }
    }
    features.sort();
    specification::parse(&features, &read(&directory.join("worlds.toml"))?)
}

/// Runs the tests. Their failures are read from the report; an error here means that there is none.
fn run_tests(workspace: &Workspace, test_run: &TestRun<'_>) -> anyhow::Result<results::Results> {
    let Some(mut command) = test_run.run_command()? else {
        return Ok(results::Results::new());
    };
    crate::test_run::build_programs(workspace)?;
    test_run.discard_report()?;
    let ended = run_command(&mut command);
    match read_results(&test_run.report()) {
        Ok(results) => Ok(results),
        Err(missing) => Err(ended.err().unwrap_or(missing)),
    }
}

fn read_results(report: &Path) -> anyhow::Result<results::Results> {
    let text = fs::read_to_string(report).with_context(|| format!("cannot read {}", report.display()))?;
    results::parse(&text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_specification_has_no_defect() {
        let specification = read_specification(&Workspace::locate().unwrap()).unwrap();

        assert!(specification.len() > 100, "{}", specification.len());
    }
}
