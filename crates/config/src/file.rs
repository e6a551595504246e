//! The reader of one file: TOML text to dotted names with raw values and lines.
//!
//! It must never judge a value; a file is either TOML as a whole or not used at all. The TOML reader is used directly,
//! not through the `config` crate, which drops the lines and refuses a whole file for one number that is too large.

use toml::de::{DeTable, DeValue};

use crate::check::Raw;
use crate::key::Key;
use crate::layers::line_of;

/// One assignment of a file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Assignment {
    /// The dotted name as it was written.
    pub(crate) name: String,
    /// The value.
    pub(crate) value: Raw,
    /// The line, counted from 1.
    pub(crate) line: usize,
}

/// Why a text is no TOML.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Malformed {
    /// What the reader says.
    pub(crate) message: String,
    /// The line, counted from 1, where it is known.
    pub(crate) line: Option<usize>,
}

/// Returns the assignments of `text`, a byte order mark skipped, in the order of their lines.
pub(crate) fn read(text: &str) -> Result<Vec<Assignment>, Malformed> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let table = DeTable::parse(text).map_err(|error| Malformed {
        message: error.message().to_owned(),
        line: error.span().map(|span| line_of(text.as_bytes(), span.start)),
    })?;
    let mut assignments = Vec::new();
    flatten(text, "", table.get_ref(), &mut assignments);
    assignments.sort_by_key(|assignment| assignment.line);
    Ok(assignments)
}

/// A table is descended into unless a key has its name: then it is a value, and a bad one.
fn flatten(text: &str, prefix: &str, table: &DeTable<'_>, assignments: &mut Vec<Assignment>) {
    for (key, value) in table {
        let name = match prefix {
            "" => key.get_ref().to_string(),
            _ => format!("{prefix}.{}", key.get_ref()),
        };
        match value.get_ref() {
            DeValue::Table(inner) if Key::named(&name).is_none() => {
                flatten(text, &name, inner, assignments);
            }
            value => assignments.push(Assignment {
                value: raw(value),
                line: line_of(text.as_bytes(), key.span().start),
                name,
            }),
        }
    }
}

fn raw(value: &DeValue<'_>) -> Raw {
    match value {
        DeValue::Boolean(flag) => Raw::Flag(*flag),
        DeValue::String(text) => Raw::Text(text.to_string()),
        DeValue::Integer(integer) => match u64::from_str_radix(integer.as_str(), integer.radix()) {
            Ok(number) => Raw::Number(number),
            Err(_) => Raw::Other(integer.as_str().to_owned()),
        },
        DeValue::Float(float) => Raw::Other(float.as_str().to_owned()),
        DeValue::Datetime(moment) => Raw::Other(moment.to_string()),
        DeValue::Array(_) => Raw::Other("[…]".to_owned()),
        DeValue::Table(_) => Raw::Other("{…}".to_owned()),
    }
}
