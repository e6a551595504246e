//! The companion's entries among the hooks of a Claude Code settings file: which they are, and how they come and go.
//!
//! It must never change, reorder or remove an entry that is not the companion's, nor read more into the file than the
//! `hooks` object.
//!
//! An entry is in exec form (`command` with `args`), which Claude Code 2.1.197 starts without a shell, so that blanks,
//! quotes and `$` in the path mean nothing.

use std::collections::BTreeSet;
use std::path::Path;

use serde::Serialize;
use thiserror::Error;

use super::edit::{Layout, append, remove};
use super::json_text::{Node, NotJson, parse};

/// The program that Claude Code starts, beside our own.
pub(crate) const HOOK_PROGRAM: &str = "steward-claude-code";

/// The events that the companion hears, with the tools they are narrowed to.
pub(crate) const EVENTS: [(&str, Option<&str>); 6] = [
    ("SessionStart", None),
    ("UserPromptSubmit", None),
    ("PostToolUse", Some("Write|Edit|NotebookEdit|Bash")),
    ("PostToolUseFailure", Some("Bash")),
    ("Stop", None),
    ("SessionEnd", None),
];

/// Seconds after which Claude Code gives a hook up. Ours ends in a fraction of one; this bounds what a stopped machine
/// could cost, and Claude Code 2.1.197 grants hooks of `SessionEnd` no more than the largest of these.
const TIMEOUT_SECONDS: u64 = 5;

/// Why a settings file is left alone.
#[derive(Debug, Error)]
pub(crate) enum HooksError {
    /// It cannot be read as strict JSON.
    #[error("the settings cannot be edited safely")]
    NotJson(#[from] NotJson),
    /// Something in it is not what Claude Code reads there.
    #[error("the settings cannot be edited safely: {place} is not {expected}")]
    Unexpected {
        /// Where.
        place: String,
        /// What belongs there.
        expected: &'static str,
    },
    /// A name that has to be edited occurs twice, so that what is edited might not be what counts.
    #[error("the settings cannot be edited safely: {place} is there twice")]
    Ambiguous {
        /// Where.
        place: String,
    },
    /// The entry could not be written as JSON.
    #[error("the entry cannot be written")]
    Unwritable(#[source] serde_json::Error),
}

/// Returns `settings` with an entry for `program` at the end of each event's list.
pub(crate) fn add(settings: &str, program: &str) -> Result<String, HooksError> {
    let mut text = settings.to_owned();
    for (event, matcher) in EVENTS {
        text = add_event(&text, event, &Group::new(matcher, program))?;
    }
    Ok(text)
}

/// Returns `settings` without the companion's entries, wherever its program lay. A list or object that becomes empty
/// goes too unless `kept` names it: the lists and objects that were there before the entries came.
pub(crate) fn strip(settings: &str, kept: &BTreeSet<String>) -> Result<String, HooksError> {
    let mut text = settings.to_owned();
    loop {
        let root = read(&text)?;
        let Some(hooks) = hooks_of(&root)? else {
            return Ok(text);
        };
        match strip_one(&text, &root, hooks, kept)? {
            Some(stripped) => text = stripped,
            None => return Ok(text),
        }
    }
}

/// Returns the names of the `hooks` object and of the event lists in it that `settings` has: what [`strip`] keeps.
pub(crate) fn containers(settings: &str) -> Result<BTreeSet<String>, HooksError> {
    let root = read(settings)?;
    let Some(hooks) = hooks_of(&root)? else {
        return Ok(BTreeSet::new());
    };
    let events = hooks.members().unwrap_or_default();
    Ok(events.iter().map(|event| event.name.clone()).chain(["hooks".to_owned()]).collect())
}

/// One of the companion's entries as it stands in a file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Entry {
    /// The event.
    pub(crate) event: String,
    /// The tools it is narrowed to.
    pub(crate) matcher: Option<String>,
    /// The program's path.
    pub(crate) program: String,
    /// Seconds, as written.
    pub(crate) timeout: Option<String>,
}

/// Returns the companion's entries in `settings`, sorted.
pub(crate) fn entries(settings: &str) -> Result<Vec<Entry>, HooksError> {
    let root = read(settings)?;
    let Some(hooks) = hooks_of(&root)? else {
        return Ok(Vec::new());
    };
    let mut found = Vec::new();
    for event in hooks.members().unwrap_or_default() {
        for group in event.value.elements().unwrap_or_default() {
            for hook in hooks_in(group).filter(|hook| is_ours(hook)) {
                found.push(Entry {
                    event: event.name.clone(),
                    matcher: text_of(group, "matcher"),
                    program: text_of(hook, "command").unwrap_or_default(),
                    timeout: hook.member("timeout").map(|node| settings[node.span.clone()].to_owned()),
                });
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Returns the entries that [`add`] makes for `program`, sorted.
pub(crate) fn wanted(program: &str) -> Vec<Entry> {
    let mut entries: Vec<Entry> = EVENTS
        .iter()
        .map(|(event, matcher)| Entry {
            event: (*event).to_owned(),
            matcher: matcher.map(str::to_owned),
            program: program.to_owned(),
            timeout: Some(TIMEOUT_SECONDS.to_string()),
        })
        .collect();
    entries.sort();
    entries
}

/// Whether `settings` turns all hooks off.
pub(crate) fn are_disabled(settings: &str) -> Result<bool, HooksError> {
    let root = read(settings)?;
    Ok(root.member("disableAllHooks").is_some_and(|node| &settings[node.span.clone()] == "true"))
}

#[derive(Debug, Serialize)]
struct Group<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    matcher: Option<&'a str>,
    hooks: [Hook<'a>; 1],
}

#[derive(Debug, Serialize)]
struct Hook<'a> {
    r#type: &'static str,
    command: &'a str,
    args: [&'static str; 1],
    timeout: u64,
}

impl<'a> Group<'a> {
    fn new(matcher: Option<&'a str>, program: &'a str) -> Self {
        Self {
            matcher,
            hooks: [Hook { r#type: "command", command: program, args: ["hook"], timeout: TIMEOUT_SECONDS }],
        }
    }
}

fn add_event(text: &str, event: &str, group: &Group<'_>) -> Result<String, HooksError> {
    let root = read(text)?;
    let layout = Layout::of(text, &root);
    let appended = match hooks_of(&root)? {
        None => append(text, &root, &layout, Some("hooks"), &std::collections::BTreeMap::from([(event, [group])])),
        Some(hooks) => match hooks.member(event) {
            None => append(text, hooks, &layout, Some(event), &[group]),
            Some(list) => append(text, list, &layout, None, group),
        },
    };
    appended.map_err(HooksError::Unwritable)
}

/// Removes the first of the companion's entries with what it leaves empty.
fn strip_one(text: &str, root: &Node, hooks: &Node, kept: &BTreeSet<String>) -> Result<Option<String>, HooksError> {
    let events = hooks.members().unwrap_or_default();
    for (event_index, event) in events.iter().enumerate() {
        let groups = event.value.elements().unwrap_or_default();
        for (group_index, group) in groups.iter().enumerate() {
            let Some(hook_index) = hooks_in(group).position(is_ours) else {
                continue;
            };
            let list = group.member("hooks").ok_or_else(|| HooksError::Unexpected {
                place: format!("an entry of hooks.{}", event.name),
                expected: "an object with hooks",
            })?;
            let stripped = if list.children().len() > 1 {
                remove(text, list, hook_index)
            } else if groups.len() > 1 || kept.contains(&event.name) {
                remove(text, &event.value, group_index)
            } else if events.len() > 1 || kept.contains("hooks") {
                remove(text, hooks, event_index)
            } else {
                let members = root.members().unwrap_or_default();
                let index = members.iter().position(|member| member.name == "hooks");
                remove(text, root, index.unwrap_or(members.len()))
            };
            return Ok(Some(stripped));
        }
    }
    Ok(None)
}

fn read(text: &str) -> Result<Node, HooksError> {
    let root = parse(text)?;
    let Some(members) = root.members() else {
        return Err(HooksError::Unexpected { place: "the file".to_owned(), expected: "an object" });
    };
    unique(members.iter().map(|member| &member.name), "hooks", "hooks")?;
    Ok(root)
}

/// Returns the `hooks` object, of which every event that the companion hears is a list.
fn hooks_of(root: &Node) -> Result<Option<&Node>, HooksError> {
    let Some(hooks) = root.member("hooks") else {
        return Ok(None);
    };
    let Some(members) = hooks.members() else {
        return Err(HooksError::Unexpected { place: "hooks".to_owned(), expected: "an object" });
    };
    for (event, _) in EVENTS {
        let place = format!("hooks.{event}");
        unique(members.iter().map(|member| &member.name), event, &place)?;
        if hooks.member(event).is_some_and(|list| list.elements().is_none()) {
            return Err(HooksError::Unexpected { place, expected: "a list" });
        }
    }
    Ok(Some(hooks))
}

fn unique<'a>(names: impl Iterator<Item = &'a String>, name: &str, place: &str) -> Result<(), HooksError> {
    match names.filter(|other| *other == name).count() {
        0 | 1 => Ok(()),
        _ => Err(HooksError::Ambiguous { place: place.to_owned() }),
    }
}

fn hooks_in(group: &Node) -> impl Iterator<Item = &Node> {
    group.member("hooks").and_then(Node::elements).unwrap_or_default().iter()
}

/// The program's name tells, not its place: entries of an earlier place are ours too.
fn is_ours(hook: &Node) -> bool {
    let arguments: Option<Vec<&str>> =
        hook.member("args").and_then(Node::elements).map(|elements| elements.iter().filter_map(Node::text).collect());
    let program = hook.member("command").and_then(Node::text);
    arguments.as_deref() == Some(&["hook"])
        && program.is_some_and(|program| Path::new(program).file_name() == Some(HOOK_PROGRAM.as_ref()))
}

fn text_of(node: &Node, name: &str) -> Option<String> {
    node.member(name).and_then(Node::text).map(str::to_owned)
}
