//! What a value means to a key, the same for every layer.
//!
//! It must never guess: what is not in the key's list means nothing.

use std::fmt;

use crate::key::Kind;

/// A value as a layer gives it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Raw {
    /// A native boolean of a file.
    Flag(bool),
    /// A native whole number of a file that is not negative.
    Number(u64),
    /// A text of a file, or a variable.
    Text(String),
    /// Anything else, as it was written; no key takes it.
    Other(String),
}

impl fmt::Display for Raw {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(flag) => flag.fmt(formatter),
            Self::Number(number) => number.fmt(formatter),
            Self::Text(text) => write!(formatter, "\"{text}\""),
            Self::Other(text) => formatter.write_str(text),
        }
    }
}

/// A value that a key takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Checked {
    /// Of a flag.
    Flag(bool),
    /// Of a number.
    Number(u64),
    /// Of a mode or choice: the word as [`Kind`] spells it; of a program: the text.
    Text(String),
}

impl fmt::Display for Checked {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(flag) => flag.fmt(formatter),
            Self::Number(number) => number.fmt(formatter),
            Self::Text(text) => formatter.write_str(text),
        }
    }
}

/// Returns what `raw` means to a key of this kind, `None` where it means nothing.
pub(crate) fn check(kind: Kind, raw: &Raw) -> Option<Checked> {
    match kind {
        Kind::Program => match raw {
            Raw::Text(text) if !text.trim().is_empty() && !text.contains('\0') => Some(Checked::Text(text.clone())),
            Raw::Text(_) | Raw::Flag(_) | Raw::Number(_) | Raw::Other(_) => None,
        },
        Kind::Flag => flag(raw).map(Checked::Flag),
        Kind::Mode => match flag(raw) {
            Some(true) => Some(Checked::Text("on".to_owned())),
            Some(false) => Some(Checked::Text("off".to_owned())),
            None => word(raw, &["auto"]),
        },
        Kind::Choice(words) => word(raw, words),
        Kind::Number { minimum, maximum } => {
            number(raw).filter(|number| (minimum..=maximum).contains(number)).map(Checked::Number)
        }
    }
}

/// Returns what a key of this kind takes, for a person.
pub(crate) fn expected(kind: Kind) -> String {
    match kind {
        Kind::Program => "the name or path of a program".to_owned(),
        Kind::Flag => "true or false".to_owned(),
        Kind::Mode => "off, on or auto".to_owned(),
        Kind::Choice(words) => words.join(" or "),
        Kind::Number { minimum, maximum } => {
            format!("a whole number from {minimum} to {maximum}")
        }
    }
}

fn flag(raw: &Raw) -> Option<bool> {
    match raw {
        Raw::Flag(flag) => Some(*flag),
        Raw::Text(text) => match text.trim().to_ascii_lowercase().as_str() {
            "true" | "yes" | "on" | "1" => Some(true),
            "false" | "no" | "off" | "0" => Some(false),
            _ => None,
        },
        Raw::Number(_) | Raw::Other(_) => None,
    }
}

fn word(raw: &Raw, words: &[&str]) -> Option<Checked> {
    match raw {
        Raw::Text(text) => words
            .iter()
            .find(|word| word.eq_ignore_ascii_case(text.trim()))
            .map(|word| Checked::Text((*word).to_owned())),
        Raw::Flag(_) | Raw::Number(_) | Raw::Other(_) => None,
    }
}

fn number(raw: &Raw) -> Option<u64> {
    match raw {
        Raw::Number(number) => Some(*number),
        Raw::Text(text) => text.trim().parse().ok(),
        Raw::Flag(_) | Raw::Other(_) => None,
    }
}
