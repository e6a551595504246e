//! The resolver: layers in, settings with origins and warnings out.
//!
//! It must never let one bad value cost another key its value.

use std::collections::BTreeMap;

use config::{Config, ConfigError, Map, Source, Value};
use steward_ports::Environment;

use crate::check::{Checked, Raw, check, expected};
use crate::file;
use crate::key::{KEYS, Key};
use crate::layers::{FileContent, FileLayer, Layers};
use crate::settings::Settings;
use crate::warning::{Origin, Warning};

/// The outcome of resolving.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Resolved {
    /// The settings.
    pub settings: Settings,
    /// Each key's value as a person would write it, and where it comes from.
    pub values: BTreeMap<&'static str, (String, Origin)>,
    /// What was ignored, layer by layer.
    pub warnings: Vec<Warning>,
    /// The keys of the project's file that wait for the user's trust.
    pub untrusted_keys: Vec<&'static str>,
}

/// Resolves `layers`: of each key the highest layer with a good value counts.
pub fn resolve(layers: &Layers) -> Resolved {
    let mut resolved = Resolved {
        values: KEYS.iter().map(|key| (key.name, (key.default.to_owned(), Origin::Default))).collect(),
        ..Resolved::default()
    };
    let user = layers.user.as_ref().map(|file| read_file(file, user_origin, true, &mut resolved));
    let project =
        layers.project.as_ref().map(|file| read_file(file, project_origin, layers.project_trusted, &mut resolved));
    let environment = read_environment(&layers.environment, &mut resolved.warnings);
    let layers: Vec<Layer> = user.into_iter().chain(project).chain([environment]).collect();
    match merge(&layers) {
        Ok(settings) => {
            resolved.settings = settings;
            for (key, (value, origin)) in layers.into_iter().flat_map(|layer| layer.0) {
                resolved.values.insert(key, (value.to_string(), origin));
            }
        }
        Err(error) => resolved.warnings.push(Warning::Unmergeable { problem: error.to_string() }),
    }
    resolved
}

/// The good values of one layer.
#[derive(Debug, Clone, Default)]
struct Layer(BTreeMap<&'static str, (Checked, Origin)>);

impl Source for Layer {
    fn clone_into_box(&self) -> Box<dyn Source + Send + Sync> {
        Box::new(self.clone())
    }

    fn collect(&self) -> Result<Map<String, Value>, ConfigError> {
        let value = |(checked, origin): &(Checked, Origin)| {
            let origin = Some(origin.to_string());
            match checked {
                Checked::Flag(flag) => Value::new(origin.as_ref(), *flag),
                Checked::Number(number) => Value::new(origin.as_ref(), *number),
                Checked::Text(text) => Value::new(origin.as_ref(), text.as_str()),
            }
        };
        Ok(self.0.iter().map(|(key, entry)| ((*key).to_owned(), value(entry))).collect())
    }
}

fn merge(layers: &[Layer]) -> Result<Settings, ConfigError> {
    layers
        .iter()
        .fold(Config::builder().add_source(Config::try_from(&Settings::default())?), |builder, layer| {
            builder.add_source(layer.clone())
        })
        .build()?
        .try_deserialize()
}

fn read_file(
    file: &FileLayer,
    origin: fn(&FileLayer, Option<usize>) -> Origin,
    trusted: bool,
    resolved: &mut Resolved,
) -> Layer {
    let unusable = |problem: &str, line: Option<usize>| Warning::UnusableFile {
        origin: origin(file, line),
        problem: problem.to_owned(),
    };
    let text = match &file.content {
        FileContent::Text(text) => text,
        FileContent::Unusable { reason, line } => {
            resolved.warnings.push(unusable(reason, *line));
            return Layer::default();
        }
    };
    let assignments = match file::read(text) {
        Ok(assignments) => assignments,
        Err(malformed) => {
            resolved.warnings.push(unusable(&malformed.message, malformed.line));
            return Layer::default();
        }
    };
    let mut layer = Layer::default();
    let mut untrusted = Vec::new();
    for assignment in assignments {
        let place = origin(file, Some(assignment.line));
        let Some(key) = Key::named(&assignment.name) else {
            resolved.warnings.push(Warning::UnknownKey {
                similar: similar(&assignment.name, KEYS.iter().map(|key| key.name)),
                name: assignment.name,
                origin: place,
            });
            continue;
        };
        if key.needs_trust && !trusted {
            untrusted.push(key.name);
        } else {
            layer.take(key, &assignment.value, place, &mut resolved.warnings);
        }
    }
    if !untrusted.is_empty() {
        resolved.warnings.push(Warning::Untrusted { keys: untrusted.clone(), origin: origin(file, None) });
        resolved.untrusted_keys = untrusted;
    }
    layer
}

fn read_environment(environment: &Environment, warnings: &mut Vec<Warning>) -> Layer {
    let mut layer = Layer::default();
    for (name, value) in environment.iter().filter(|(_, value)| !value.is_empty()) {
        // Our names are ASCII, so a name that is not text is none of them.
        let Some(name) = name.to_str() else { continue };
        let origin = Origin::Environment { variable: name.to_owned() };
        match KEYS.iter().find(|key| key.variable == name) {
            Some(key) => {
                let raw = match value.to_str() {
                    Some(text) => Raw::Text(text.to_owned()),
                    None => Raw::Other(value.to_string_lossy().into_owned()),
                };
                layer.take(key, &raw, origin, warnings);
            }
            // Most variables are none of our business; only a near miss is.
            None => {
                let near = similar(name, KEYS.iter().map(|key| key.variable));
                warnings.extend(near.map(|similar| Warning::UnknownKey {
                    name: name.to_owned(),
                    origin,
                    similar: Some(similar),
                }));
            }
        }
    }
    layer
}

impl Layer {
    fn take(&mut self, key: &Key, raw: &Raw, origin: Origin, warnings: &mut Vec<Warning>) {
        match check(key.kind, raw) {
            Some(checked) => {
                self.0.insert(key.name, (checked, origin));
            }
            None => warnings.push(Warning::BadValue {
                key: key.name,
                value: raw.to_string(),
                origin,
                expected: expected(key.kind),
            }),
        }
    }
}

/// Returns the nearest of `known`, where it is near enough to be a slip of the hand.
fn similar(name: &str, known: impl Iterator<Item = &'static str>) -> Option<&'static str> {
    const SLIPS: usize = 2;
    known
        .map(|candidate| (strsim::damerau_levenshtein(name, candidate), candidate))
        .min()
        .filter(|(distance, _)| *distance <= SLIPS)
        .map(|(_, candidate)| candidate)
}

fn user_origin(file: &FileLayer, line: Option<usize>) -> Origin {
    Origin::User { path: file.path.clone(), line }
}

fn project_origin(file: &FileLayer, line: Option<usize>) -> Origin {
    Origin::Project { path: file.path.clone(), line }
}
