//! The compiled tests: which scenario and which world each of them belongs to, by its name and by where it lives.
//!
//! Reads what `cargo nextest list` says; runs no test.

use anyhow::Context as _;
use nextest_metadata::{RustTestBinaryKind, TestListSummary};

use super::specification::{ScenarioId, World};

/// The package whose tests run on fakes and a manual clock.
pub(super) const CONFORMANCE_PACKAGE: &str = "steward-conformance";

/// The package whose tests lie in modules named after the other worlds, such as `real::lifecycle`.
pub(super) const END_TO_END_PACKAGE: &str = "steward-e2e";

/// Tests that prove something else than a scenario: a trial of the trial list, that fake and real cgc agree, that a
/// killed process leaves nothing behind, or that what makes no sense does no harm.
const OTHER_PREFIXES: [&str; 4] = ["bad_input_", "contract_", "kill_", "trial_"];

/// Names one test as the runner's list and its report do.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct TestKey {
    /// Package and test binary, such as `steward-e2e::process`.
    pub(super) binary: String,
    /// Path of modules and function, and of the case for a table test.
    pub(super) name: String,
}

/// One compiled test of the two packages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Test {
    pub(super) key: TestKey,
    pub(super) subject: Subject,
    pub(super) is_ignored: bool,
}

/// What a test is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Subject {
    Scenario(ScenarioId, World),
    Other,
    /// Neither: the test's name or its place is wrong.
    Stray,
}

/// Reads the runner's list and keeps the tests of the two packages.
///
/// Unit tests inside the packages' libraries test the tests' own tools and are left out.
pub(super) fn parse(list: &str) -> anyhow::Result<Vec<Test>> {
    let list = TestListSummary::parse_json(list).context("cannot parse the list of tests")?;
    let mut tests = Vec::new();
    for suite in list.rust_suites.values() {
        let package = suite.package_name.as_str();
        let is_ours = [CONFORMANCE_PACKAGE, END_TO_END_PACKAGE].contains(&package);
        if !is_ours || suite.binary.kind != RustTestBinaryKind::TEST {
            continue;
        }
        for (name, case) in &suite.test_cases {
            let key = TestKey { binary: suite.binary.binary_id.as_str().to_owned(), name: name.as_str().to_owned() };
            let subject = subject(package, &key.name);
            tests.push(Test { key, subject, is_ignored: case.ignored });
        }
    }
    Ok(tests)
}

fn subject(package: &str, name: &str) -> Subject {
    let function = function_of(name);
    if let Some(id) = ScenarioId::of_test_function(function) {
        return world(package, name).map_or(Subject::Stray, |world| Subject::Scenario(id, world));
    }
    if OTHER_PREFIXES.iter().any(|prefix| function.starts_with(prefix)) { Subject::Other } else { Subject::Stray }
}

/// The last segment of a path that is not a row of a table test. `rstest` calls rows `case_1…`, and `argument_1_…` where
/// an argument takes each value of a list.
fn function_of(name: &str) -> &str {
    name.rsplit("::").find(|segment| names_a_subject(segment) || !is_row(segment)).unwrap_or(name)
}

fn names_a_subject(segment: &str) -> bool {
    ScenarioId::of_test_function(segment).is_some() || OTHER_PREFIXES.iter().any(|prefix| segment.starts_with(prefix))
}

fn is_row(segment: &str) -> bool {
    segment.split('_').skip(1).any(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
}

fn world(package: &str, name: &str) -> Option<World> {
    if package == CONFORMANCE_PACKAGE {
        return Some(World::Machine);
    }
    let (module, _) = name.split_once("::")?;
    World::ALL.into_iter().find(|world| world.name() == module && *world != World::Machine)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn scenario(id: &str, world: World) -> Subject {
        Subject::Scenario(ScenarioId::try_from(id.to_owned()).unwrap(), world)
    }

    #[rstest]
    #[case(CONFORMANCE_PACKAGE, "lc_06_drift", scenario("LC-06", World::Machine))]
    #[case(CONFORMANCE_PACKAGE, "gate::lc_06_drift::case_2_renamed", scenario("LC-06", World::Machine))]
    #[case(
        CONFORMANCE_PACKAGE,
        "gate::lc_06_drift::ending_1_Ending__Killed::obeys_2_Stop__Kill",
        scenario("LC-06", World::Machine)
    )]
    #[case(END_TO_END_PACKAGE, "process::lifecycle::lc_06_drift", scenario("LC-06", World::Process))]
    #[case(END_TO_END_PACKAGE, "real::lc_06_drift", scenario("LC-06", World::Real))]
    #[case(END_TO_END_PACKAGE, "claude_code::lc_01_ready", scenario("LC-01", World::ClaudeCode))]
    #[case::other(END_TO_END_PACKAGE, "process::trial_b12_orphans", Subject::Other)]
    #[case::no_world(END_TO_END_PACKAGE, "lc_06_drift", Subject::Stray)]
    #[case::machine_is_no_end_to_end_world(END_TO_END_PACKAGE, "machine::lc_06_drift", Subject::Stray)]
    #[case::no_id(CONFORMANCE_PACKAGE, "works", Subject::Stray)]
    #[case::id_in_a_module_only(CONFORMANCE_PACKAGE, "lc_06_drift::works", Subject::Stray)]
    fn name_and_place_decide_what_a_test_is_about(
        #[case] package: &str,
        #[case] name: &str,
        #[case] expected: Subject,
    ) {
        assert_eq!(subject(package, name), expected);
    }

    #[test]
    fn only_test_binaries_of_the_two_packages_count() {
        let suite = |package: &str, id: &str, kind: &str| {
            let case = json!({"kind": "test", "ignored": true, "filter-match": {"status": "matches"}});
            json!({
                "package-name": package, "binary-id": id, "binary-name": "b", "kind": kind, "package-id": "p",
                "binary-path": "/b", "build-platform": "target", "cwd": "/c", "status": "listed",
                "testcases": {"process::lc_06_drift": case},
            })
        };
        let list = json!({
            "rust-build-meta": {
                "target-directory": "/t", "base-output-directories": [], "non-test-binaries": {}, "linked-paths": [],
            },
            "test-count": 3,
            "rust-suites": {
                "steward-e2e::e2e": suite("steward-e2e", "steward-e2e::e2e", "test"),
                "steward-e2e": suite("steward-e2e", "steward-e2e", "lib"),
                "steward-cgc::output": suite("steward-cgc", "steward-cgc::output", "test"),
            },
        });

        let tests = parse(&list.to_string()).unwrap();

        let key = TestKey { binary: "steward-e2e::e2e".to_owned(), name: "process::lc_06_drift".to_owned() };
        let expected = Test { key, subject: scenario("LC-06", World::Process), is_ignored: true };
        assert_eq!(tests, [expected]);
    }
}
