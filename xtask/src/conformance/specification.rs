//! The specification: scenarios from `docs/spec/*.feature` and the worlds that each of them has to be tested in.
//!
//! Pure: text in, scenarios or an error out. A specification with a defect is refused as a whole, since every later
//! comparison would be wrong.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use anyhow::{Context as _, bail};
use gherkin::{Feature, GherkinEnv, StepType};
use serde::{Deserialize, Serialize};

/// Marks a scenario that is specified and not built yet.
const PLANNED: &str = "planned";

/// A scenario's stable id, such as `LC-06`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct ScenarioId(String);

impl ScenarioId {
    /// Reads the prefix of a test function's name: `lc_06_drift_is_synced` belongs to `LC-06`.
    pub(super) fn of_test_function(name: &str) -> Option<Self> {
        let mut words = name.splitn(3, '_');
        let id = format!("{}-{}", words.next()?, words.next()?);
        words.next().filter(|rest| !rest.is_empty())?;
        if id.chars().any(char::is_uppercase) {
            return None;
        }
        Self::try_from(id.to_uppercase()).ok()
    }
}

impl TryFrom<String> for ScenarioId {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match text.as_bytes() {
            [b'A'..=b'Z', b'A'..=b'Z', b'-', b'0'..=b'9', b'0'..=b'9'] => Ok(Self(text)),
            _ => Err(format!("`{text}` is no scenario id, which has the form XX-00")),
        }
    }
}

impl fmt::Display for ScenarioId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// Where a test runs: what of the world around the tested code is real.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum World {
    /// Strict fakes and a manual clock.
    Machine,
    /// Our real binaries with a scripted cgc.
    Process,
    /// The real cgc.
    Real,
    /// A real Claude Code session.
    ClaudeCode,
}

impl World {
    pub(super) const ALL: [Self; 4] = [Self::Machine, Self::Process, Self::Real, Self::ClaudeCode];

    /// The name of the module that holds this world's end-to-end tests.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Machine => "machine",
            Self::Process => "process",
            Self::Real => "real",
            Self::ClaudeCode => "claude_code",
        }
    }
}

impl fmt::Display for World {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Scenario {
    pub(super) name: String,
    /// The feature that it belongs to.
    pub(super) feature: String,
    /// Specified and not built yet.
    pub(super) is_planned: bool,
    /// The worlds it has to be tested in. Empty for planned ones.
    pub(super) required: BTreeSet<World>,
}

/// Every scenario by its id.
pub(super) type Specification = BTreeMap<ScenarioId, Scenario>;

/// Reads feature files, given as path and text, and the table of required worlds.
pub(super) fn parse(features: &[(String, String)], worlds: &str) -> anyhow::Result<Specification> {
    let mut specification = Specification::new();
    for (path, text) in features {
        let feature = Feature::parse(text, GherkinEnv::default()).with_context(|| format!("cannot parse {path}"))?;
        for (scenario, planned_above) in scenarios(&feature) {
            let place = || format!("{path}:{}: scenario \"{}\"", scenario.position.line, scenario.name);
            let (id, is_planned) = read_tags(&scenario.tags).with_context(place)?;
            check_steps(scenario).with_context(place)?;
            let entry = Scenario {
                name: scenario.name.clone(),
                feature: feature.name.clone(),
                is_planned: is_planned || planned_above,
                required: BTreeSet::new(),
            };
            if let Some(earlier) = specification.insert(id.clone(), entry) {
                bail!("{}: {id} is already the id of \"{}\"", place(), earlier.name);
            }
        }
    }
    require_worlds(&mut specification, worlds)?;
    Ok(specification)
}

/// All scenarios of a feature, each with whether its feature or rule is planned as a whole.
fn scenarios(feature: &Feature) -> impl Iterator<Item = (&gherkin::Scenario, bool)> {
    let is_planned = |tags: &[String]| tags.iter().any(|tag| tag == PLANNED);
    let feature_planned = is_planned(&feature.tags);
    let direct = feature.scenarios.iter().map(move |scenario| (scenario, feature_planned));
    let in_rules = feature.rules.iter().flat_map(move |rule| {
        let rule_planned = feature_planned || is_planned(&rule.tags);
        rule.scenarios.iter().map(move |scenario| (scenario, rule_planned))
    });
    direct.chain(in_rules)
}

fn read_tags(tags: &[String]) -> anyhow::Result<(ScenarioId, bool)> {
    let (planned, others): (Vec<_>, Vec<_>) = tags.iter().partition(|tag| *tag == PLANNED);
    let [tag] = others.as_slice() else {
        bail!("exactly one id tag is needed, and there are {}", others.len());
    };
    let id = ScenarioId::try_from((*tag).clone()).map_err(anyhow::Error::msg)?;
    Ok((id, !planned.is_empty()))
}

fn check_steps(scenario: &gherkin::Scenario) -> anyhow::Result<()> {
    for kind in [StepType::Given, StepType::When, StepType::Then] {
        if !scenario.steps.iter().any(|step| step.ty == kind) {
            bail!("there is no {kind:?} step");
        }
    }
    Ok(())
}

fn require_worlds(specification: &mut Specification, worlds: &str) -> anyhow::Result<()> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Table {
        required: BTreeMap<ScenarioId, BTreeSet<World>>,
    }
    let table: Table = toml::from_str(worlds).context("cannot parse the table of required worlds")?;
    for (id, required) in table.required {
        let scenario =
            specification.get_mut(&id).with_context(|| format!("worlds are required of {id}, which does not exist"))?;
        if scenario.is_planned {
            bail!("worlds are required of {id}, which is planned");
        }
        scenario.required = required;
    }
    for (id, scenario) in specification {
        if !scenario.is_planned && scenario.required.is_empty() {
            bail!("{id} is neither planned nor has required worlds");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const FEATURE: &str = "\
# A comment above.
@lifecycle
Feature: Index lifecycle

  Rule: One

    @LC-01
    Scenario: Built
      Given a
      When b
      Then c
      And d

    @LC-02 @planned
    Scenario Outline: Not built
      Given <a>
      When b
      Then c
      Examples:
        | a |
        | 1 |
";
    const WORLDS: &str = "[required]\nLC-01 = ['machine', 'claude_code']\n";

    fn parse_one(feature: &str, worlds: &str) -> anyhow::Result<Specification> {
        parse(&[("lifecycle.feature".to_owned(), feature.to_owned())], worlds)
    }

    fn id(text: &str) -> ScenarioId {
        ScenarioId::try_from(text.to_owned()).unwrap()
    }

    #[test]
    fn ids_plans_and_worlds_are_read() {
        let specification = parse_one(FEATURE, WORLDS).unwrap();

        let built = &specification[&id("LC-01")];
        assert_eq!((built.name.as_str(), built.feature.as_str()), ("Built", "Index lifecycle"));
        assert!(!built.is_planned);
        assert_eq!(built.required, [World::Machine, World::ClaudeCode].into());
        assert!(specification[&id("LC-02")].is_planned);
        assert_eq!(specification.len(), 2);
    }

    #[test]
    fn a_planned_feature_plans_its_scenarios() {
        let feature = FEATURE.replace("@lifecycle", "@lifecycle @planned");

        let specification = parse_one(&feature, "[required]").unwrap();

        assert!(specification.values().all(|scenario| scenario.is_planned));
    }

    #[rstest]
    #[case::duplicate_id("@LC-02 @planned", "@LC-01 @planned", "already the id of \"Built\"")]
    #[case::no_id("@LC-01", "", "exactly one id tag")]
    #[case::two_ids("@LC-01", "@LC-01 @LC-03", "exactly one id tag")]
    #[case::malformed_id("@LC-01", "@LC-1", "no scenario id")]
    #[case::misspelt_plan("@planned", "@plannned", "exactly one id tag")]
    #[case::nothing_asserted("Then c\n      And d", "", "no Then step")]
    #[case::not_gherkin("Scenario: Built", "Scenaro: Built", "cannot parse")]
    fn a_defect_in_a_feature_is_refused(#[case] from: &str, #[case] to: &str, #[case] expected: &str) {
        let error = parse_one(&FEATURE.replacen(from, to, 1), WORLDS).unwrap_err();

        assert!(format!("{error:#}").contains(expected), "{error:#}");
        assert!(format!("{error:#}").contains("lifecycle.feature"), "{error:#}");
    }

    #[rstest]
    #[case::unknown_scenario("[required]\nLC-01 = ['machine']\nLC-09 = ['real']", "LC-09, which does not exist")]
    #[case::planned_scenario("[required]\nLC-01 = ['machine']\nLC-02 = ['real']", "LC-02, which is planned")]
    #[case::no_worlds("[required]", "LC-01 is neither planned")]
    #[case::unknown_world("[required]\nLC-01 = ['moon']", "cannot parse")]
    fn a_defect_in_the_worlds_is_refused(#[case] worlds: &str, #[case] expected: &str) {
        let error = parse_one(FEATURE, worlds).unwrap_err();

        assert!(format!("{error:#}").contains(expected), "{error:#}");
    }

    #[rstest]
    #[case("lc_06_drift_is_synced", Some("LC-06"))]
    #[case("lc_06", None)]
    #[case("lc_06_", None)]
    #[case("LC_06_shouting", None)]
    #[case("lc_6_short", None)]
    #[case("trial_b12_orphans", None)]
    #[case("plain", None)]
    fn the_prefix_of_a_test_function_is_its_scenario(#[case] name: &str, #[case] expected: Option<&str>) {
        assert_eq!(ScenarioId::of_test_function(name), expected.map(id));
    }
}
