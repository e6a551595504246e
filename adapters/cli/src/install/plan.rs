//! What installing and undoing would change, decided before anything is touched.
//!
//! It must never write.

use std::collections::BTreeSet;

use super::hooks::{HooksError, add, containers, entries, strip, wanted};
use super::json_text::parse;
use super::record::Record;

/// What a settings file without one is taken for.
const EMPTY_SETTINGS: &str = "{}\n";

/// What installing would do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Installation {
    /// The content that undoing brings back; `None` where undoing removes the file.
    pub(crate) original: Option<String>,
    /// The lists and objects that undoing keeps.
    pub(crate) kept: BTreeSet<String>,
    /// The new content.
    pub(crate) installed: String,
}

/// What undoing would do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Removal {
    /// The new content; `None` removes the file.
    pub(crate) restored: Option<String>,
}

/// Returns what installing `program` into `current` would do; `None` where all is as wanted.
pub(crate) fn installation(
    current: Option<&str>,
    record: Option<&Record>,
    program: &str,
) -> Result<Option<Installation>, HooksError> {
    let original = match (current, record) {
        (None, _) => None,
        (Some(current), _) if entries(current)? == wanted(program) => return Ok(None),
        (Some(current), Some(record)) if current == record.installed => record.original.clone(),
        (Some(current), record) => Some(strip(current, &kept(record))?),
    };
    let base = original.as_deref().unwrap_or(EMPTY_SETTINGS);
    Ok(Some(Installation {
        kept: match &original {
            Some(original) => containers(original)?,
            None => BTreeSet::new(),
        },
        installed: add(base, program)?,
        original,
    }))
}

/// Returns what undoing the installation in `current` would do; `None` where nothing of ours is there. A file that is as
/// it was left gets its original bytes back; of any other only our entries go.
pub(crate) fn removal(current: Option<&str>, record: Option<&Record>) -> Result<Option<Removal>, HooksError> {
    let Some(current) = current else {
        return Ok(None);
    };
    if let Some(record) = record.filter(|record| record.installed == current) {
        return Ok(Some(Removal { restored: record.original.clone() }));
    }
    let stripped = strip(current, &kept(record))?;
    if stripped == current {
        return Ok(None);
    }
    let made_by_us = record.is_some_and(|record| record.original.is_none());
    let is_empty = parse(&stripped)?.children().is_empty();
    Ok(Some(Removal { restored: (!(made_by_us && is_empty)).then_some(stripped) }))
}

fn kept(record: Option<&Record>) -> BTreeSet<String> {
    record.map(|record| record.kept.clone()).unwrap_or_default()
}
