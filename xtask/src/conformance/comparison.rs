//! Specification, compiled tests and results held against each other, both ways.
//!
//! Pure. Every list of a comparison has to be empty for the project to conform.

use std::collections::BTreeMap;

use super::results::{Outcome, Results};
use super::specification::{ScenarioId, Specification, World};
use super::test_list::{Subject, Test, TestKey};

/// What is wrong, by kind. Each entry is one line that names the scenario or the test.
#[derive(Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Comparison {
    /// Built scenarios without any test.
    pub(super) untested: Vec<String>,
    /// Built scenarios without a test in a world that is required of them.
    pub(super) missing_worlds: Vec<String>,
    /// Tests of scenarios that do not exist.
    pub(super) unknown: Vec<String>,
    /// Tests whose name or place says neither scenario nor world.
    pub(super) stray: Vec<String>,
    /// Tests that the compiled code tells the runner to leave out.
    pub(super) ignored: Vec<String>,
    /// Tests of planned scenarios: the tag has to go.
    pub(super) planned_but_tested: Vec<String>,
    /// Tests that the runner did not run, although they are there.
    pub(super) not_run: Vec<String>,
    /// Tests that passed only when they were tried again.
    pub(super) flaky: Vec<String>,
    /// Tests that failed.
    pub(super) failed: Vec<String>,
}

/// What a scenario's tests in one world amount to; the worst of them counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Cell {
    /// There is a test, and no run was asked for.
    Listed,
    Ok,
    Skipped,
    Flaky,
    Fail,
}

/// Scenario by world; an absent cell has no test.
pub(super) type Matrix = BTreeMap<ScenarioId, BTreeMap<World, Cell>>;

impl Comparison {
    /// The lists by their names, in the order in which they are worth reading.
    pub(super) fn lists(&self) -> [(&'static str, &[String]); 9] {
        [
            ("untested", &self.untested),
            ("missing worlds", &self.missing_worlds),
            ("unknown", &self.unknown),
            ("stray", &self.stray),
            ("ignored", &self.ignored),
            ("planned but tested", &self.planned_but_tested),
            ("not run", &self.not_run),
            ("flaky", &self.flaky),
            ("failed", &self.failed),
        ]
    }

    pub(super) fn conforms(&self) -> bool {
        self.lists().iter().all(|(_, entries)| entries.is_empty())
    }
}

/// Compares everything. Without `results` only what is static is compared.
pub(super) fn compare(
    specification: &Specification,
    tests: &[Test],
    results: Option<&Results>,
) -> (Comparison, Matrix) {
    let mut comparison = Comparison::default();
    let mut matrix = Matrix::new();
    for test in tests {
        let name = format!("{} {}", test.key.binary, test.key.name);
        let cell = results.map_or(Cell::Listed, |results| cell(results, &test.key));
        match &test.subject {
            Subject::Scenario(id, world) => match specification.get(id) {
                None => comparison.unknown.push(name.clone()),
                Some(scenario) => {
                    if scenario.is_planned {
                        comparison.planned_but_tested.push(format!("{id} by {name}"));
                    }
                    let worst = matrix.entry(id.clone()).or_default().entry(*world).or_insert(cell);
                    *worst = cell.max(*worst);
                }
            },
            Subject::Other => {}
            Subject::Stray => comparison.stray.push(name.clone()),
        }
        if test.is_ignored {
            comparison.ignored.push(name.clone());
        }
        match cell {
            Cell::Listed | Cell::Ok => {}
            Cell::Skipped if test.is_ignored => {}
            Cell::Skipped => comparison.not_run.push(name),
            Cell::Flaky => comparison.flaky.push(name),
            Cell::Fail => comparison.failed.push(name),
        }
    }
    for (id, scenario) in specification {
        let tested = matrix.get(id);
        if tested.is_none() && !scenario.is_planned {
            comparison.untested.push(format!("{id} {}", scenario.name));
        } else if let Some(tested) = tested {
            let missing = scenario.required.iter().filter(|world| !tested.contains_key(world));
            comparison.missing_worlds.extend(missing.map(|world| format!("{id} in {world}")));
        }
    }
    (comparison, matrix)
}

fn cell(results: &Results, key: &TestKey) -> Cell {
    match results.get(key) {
        Some(Outcome::Passed) => Cell::Ok,
        Some(Outcome::Failed) => Cell::Fail,
        Some(Outcome::Flaky) => Cell::Flaky,
        Some(Outcome::Skipped) | None => Cell::Skipped,
    }
}

#[cfg(test)]
mod tests {
    use super::super::specification;
    use super::*;

    fn specification() -> Specification {
        let feature = "
Feature: F
  @LC-01
  Scenario: One
    Given a
    When b
    Then c
  @LC-02 @planned
  Scenario: Two
    Given a
    When b
    Then c
";
        let worlds = "[required]\nLC-01 = ['machine', 'real']";
        specification::parse(&[("f.feature".to_owned(), feature.to_owned())], worlds).unwrap()
    }

    fn id(text: &str) -> ScenarioId {
        ScenarioId::try_from(text.to_owned()).unwrap()
    }

    fn test(name: &str, subject: Subject) -> Test {
        let key = TestKey { binary: "b".to_owned(), name: name.to_owned() };
        Test { key, subject, is_ignored: false }
    }

    fn scenario_test(name: &str, scenario: &str, world: World) -> Test {
        test(name, Subject::Scenario(id(scenario), world))
    }

    fn complete() -> Vec<Test> {
        vec![
            scenario_test("lc_01_a", "LC-01", World::Machine),
            scenario_test("lc_01_b", "LC-01", World::Real),
            test("trial_b01_x", Subject::Other),
        ]
    }

    fn results(outcomes: &[(&str, Outcome)]) -> Results {
        let key = |name: &str| TestKey { binary: "b".to_owned(), name: name.to_owned() };
        outcomes.iter().map(|(name, outcome)| (key(name), *outcome)).collect()
    }

    #[test]
    fn a_complete_project_conforms() {
        let passed = Outcome::Passed;
        let results = results(&[("lc_01_a", passed), ("lc_01_b", passed), ("trial_b01_x", passed)]);

        let (comparison, matrix) = compare(&specification(), &complete(), Some(&results));

        assert_eq!(comparison, Comparison::default());
        assert!(comparison.conforms());
        let row = [(World::Machine, Cell::Ok), (World::Real, Cell::Ok)].into();
        assert_eq!(matrix, [(id("LC-01"), row)].into());
    }

    #[test]
    fn a_built_scenario_without_a_test_is_untested() {
        let (comparison, _) = compare(&specification(), &[], None);

        let expected = Comparison { untested: vec!["LC-01 One".to_owned()], ..Comparison::default() };
        assert_eq!(comparison, expected);
        assert!(!comparison.conforms());
    }

    #[test]
    fn a_required_world_without_a_test_is_missing() {
        let tests = [scenario_test("lc_01_a", "LC-01", World::Machine)];

        let (comparison, _) = compare(&specification(), &tests, None);

        let expected = Comparison { missing_worlds: vec!["LC-01 in real".to_owned()], ..Comparison::default() };
        assert_eq!(comparison, expected);
    }

    #[test]
    fn tests_that_say_too_little_or_too_much_are_named() {
        let mut tests = complete();
        tests.push(scenario_test("lc_09_a", "LC-09", World::Machine));
        tests.push(scenario_test("lc_02_a", "LC-02", World::Machine));
        tests.push(test("works", Subject::Stray));
        tests[2].is_ignored = true;

        let (comparison, _) = compare(&specification(), &tests, None);

        let expected = Comparison {
            unknown: vec!["b lc_09_a".to_owned()],
            planned_but_tested: vec!["LC-02 by b lc_02_a".to_owned()],
            stray: vec!["b works".to_owned()],
            ignored: vec!["b trial_b01_x".to_owned()],
            ..Comparison::default()
        };
        assert_eq!(comparison, expected);
    }

    #[test]
    fn the_worst_result_of_a_world_counts_and_a_missing_one_is_no_success() {
        let mut tests = complete();
        tests.push(scenario_test("lc_01_c", "LC-01", World::Machine));
        let results =
            results(&[("lc_01_a", Outcome::Passed), ("lc_01_c", Outcome::Failed), ("lc_01_b", Outcome::Flaky)]);

        let (comparison, matrix) = compare(&specification(), &tests, Some(&results));

        let expected = Comparison {
            failed: vec!["b lc_01_c".to_owned()],
            flaky: vec!["b lc_01_b".to_owned()],
            not_run: vec!["b trial_b01_x".to_owned()],
            ..Comparison::default()
        };
        assert_eq!(comparison, expected);
        let row = [(World::Machine, Cell::Fail), (World::Real, Cell::Flaky)].into();
        assert_eq!(matrix[&id("LC-01")], row);
    }
}
