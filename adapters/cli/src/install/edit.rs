//! Inserting into and removing from JSON text without touching any other byte.
//!
//! It must never reformat: an inserted value takes the indentation, the line ends and the compactness of its
//! surroundings, and removing it takes exactly the bytes that inserting it brought.

use std::ops::Range;

use serde::Serialize;
use serde_json::ser::{PrettyFormatter, Serializer};

use super::json_text::Node;

/// How a text is laid out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Layout {
    /// One step of indentation; `None` where the text is all on one line.
    unit: Option<String>,
    /// What ends a line.
    line_end: &'static str,
}

impl Layout {
    /// Reads the layout off the members of `root`; a text without any is laid out as Claude Code does, by two spaces.
    pub(crate) fn of(text: &str, root: &Node) -> Self {
        let unit = match root.children().first() {
            None => Some("  ".to_owned()),
            Some(first) => own_line_indentation(text, first.start).map(|indentation| match indentation {
                "" => "  ".to_owned(),
                _ => indentation.to_owned(),
            }),
        };
        Self { unit, line_end: if text.contains("\r\n") { "\r\n" } else { "\n" } }
    }
}

/// Returns `text` with `value` as the last item of the array or object `container`, under `name` in an object.
pub(crate) fn append<T: Serialize>(
    text: &str,
    container: &Node,
    layout: &Layout,
    name: Option<&str>,
    value: &T,
) -> Result<String, serde_json::Error> {
    let children = container.children();
    let indentation = match (children.last(), &layout.unit) {
        (Some(last), _) => own_line_indentation(text, last.start).map(str::to_owned),
        (None, Some(unit)) => Some(format!("{}{unit}", line_indentation(text, container.span.start))),
        (None, None) => None,
    };
    let item = render(indentation.as_deref(), layout, name, value)?;
    let (place, inserted) = match (children.last(), indentation) {
        (Some(last), Some(indentation)) => (last.end..last.end, format!(",{}{indentation}{item}", layout.line_end)),
        (Some(last), None) => (last.end..last.end, format!(", {item}")),
        (None, Some(indentation)) => (
            inside(container),
            format!(
                "{end}{indentation}{item}{end}{}",
                line_indentation(text, container.span.start),
                end = layout.line_end
            ),
        ),
        (None, None) => (inside(container), item),
    };
    Ok(replace(text, place, &inserted))
}

/// Returns `text` without the item at `index` of the array or object `container`, and without the comma and the blanks
/// that went with it.
pub(crate) fn remove(text: &str, container: &Node, index: usize) -> String {
    let children = container.children();
    let Some(child) = children.get(index) else {
        return text.to_owned();
    };
    let place = match (index.checked_sub(1), children.get(index + 1)) {
        (_, Some(next)) => child.start..next.start,
        (Some(previous), None) => children[previous].end..child.end,
        (None, None) => inside(container),
    };
    replace(text, place, "")
}

fn render<T: Serialize>(
    indentation: Option<&str>,
    layout: &Layout,
    name: Option<&str>,
    value: &T,
) -> Result<String, serde_json::Error> {
    let rendered = match (indentation, &layout.unit) {
        (Some(indentation), unit) => {
            let unit = unit.as_deref().unwrap_or("  ");
            let mut bytes = Vec::new();
            value.serialize(&mut Serializer::with_formatter(
                &mut bytes,
                PrettyFormatter::with_indent(unit.as_bytes()),
            ))?;
            // A string holds no raw line end, so each one here is the formatter's.
            String::from_utf8_lossy(&bytes).replace('\n', &format!("{}{indentation}", layout.line_end))
        }
        (None, _) => serde_json::to_string(value)?,
    };
    match name {
        Some(name) => Ok(format!("{}: {rendered}", serde_json::to_string(name)?)),
        None => Ok(rendered),
    }
}

/// Returns the blanks before `position` where it is the first thing on its line.
fn own_line_indentation(text: &str, position: usize) -> Option<&str> {
    let before = &text[..position];
    let line = &before[before.rfind('\n')? + 1..];
    line.chars().all(is_blank).then_some(line)
}

/// Returns the blanks that the line of `position` begins with.
fn line_indentation(text: &str, position: usize) -> &str {
    let start = text[..position].rfind('\n').map_or(0, |index| index + 1);
    let line = &text[start..position];
    &line[..line.find(|character| !is_blank(character)).unwrap_or(line.len())]
}

fn is_blank(character: char) -> bool {
    matches!(character, ' ' | '\t')
}

fn inside(container: &Node) -> Range<usize> {
    container.span.start + 1..container.span.end - 1
}

fn replace(text: &str, place: Range<usize>, inserted: &str) -> String {
    let mut edited = text.to_owned();
    edited.replace_range(place, inserted);
    edited
}
