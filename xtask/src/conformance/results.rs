//! What happened to each test, read from the runner's `JUnit` report.
//!
//! A test that passed only when it was tried again counts as flaky, never as passed.

use std::collections::BTreeMap;

use anyhow::Context as _;
use quick_junit::{FlakyOrRerun, Report, TestCaseStatus};

use super::test_list::TestKey;

/// How one test ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    Passed,
    Failed,
    Flaky,
    Skipped,
}

pub(super) type Results = BTreeMap<TestKey, Outcome>;

pub(super) fn parse(report: &str) -> anyhow::Result<Results> {
    let report = Report::deserialize_from_str(report).context("cannot parse the JUnit report")?;
    let mut results = Results::new();
    for suite in &report.test_suites {
        for case in &suite.test_cases {
            let key = TestKey { binary: suite.name.as_str().to_owned(), name: case.name.as_str().to_owned() };
            results.insert(key, outcome(&case.status));
        }
    }
    Ok(results)
}

fn outcome(status: &TestCaseStatus) -> Outcome {
    match status {
        TestCaseStatus::Success { flaky_runs } if flaky_runs.is_empty() => Outcome::Passed,
        TestCaseStatus::Success { .. } => Outcome::Flaky,
        // The runner is told to fail what passes only on a retry; its report still tells the two apart.
        TestCaseStatus::NonSuccess { reruns, .. } if reruns.kind == FlakyOrRerun::Flaky && !reruns.runs.is_empty() => {
            Outcome::Flaky
        }
        TestCaseStatus::NonSuccess { .. } => Outcome::Failed,
        TestCaseStatus::Skipped { .. } => Outcome::Skipped,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_way_to_end_is_told_apart() {
        let report = r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="nextest-run" tests="4" failures="1" errors="0">
  <testsuite name="steward-e2e::process" tests="4" disabled="0" errors="0" failures="1">
    <testcase name="passed" classname="steward-e2e::process" time="0.1"/>
    <testcase name="failed" classname="steward-e2e::process" time="0.1">
      <failure message="thread panicked" type="test failure">text</failure>
    </testcase>
    <testcase name="flaky" classname="steward-e2e::process" time="0.1">
      <flakyFailure message="thread panicked" type="test failure">text</flakyFailure>
    </testcase>
    <testcase name="skipped" classname="steward-e2e::process" time="0.1"><skipped/></testcase>
  </testsuite>
</testsuites>"#;

        let results = parse(report).unwrap();

        let outcome =
            |name: &str| results[&TestKey { binary: "steward-e2e::process".to_owned(), name: name.to_owned() }];
        assert_eq!(outcome("passed"), Outcome::Passed);
        assert_eq!(outcome("failed"), Outcome::Failed);
        assert_eq!(outcome("flaky"), Outcome::Flaky);
        assert_eq!(outcome("skipped"), Outcome::Skipped);
    }

    #[test]
    fn a_truncated_report_is_an_error() {
        assert!(parse("<testsuites name='x' tests='1'><testsuite").is_err());
    }
}
