//! Adding and removing entries, by examples and by random settings.
//!
//! It must never touch a file; `tests/install` does.

use std::collections::BTreeSet;

use proptest::prelude::*;
use rstest::rstest;
use serde_json::Value;

use super::hooks::{EVENTS, add, containers, entries, strip, wanted};
use super::plan::{installation, removal};
use super::record::Record;

const PROGRAM: &str = "/opt/my tools/o'clock/$HOME/steward-claude-code";

fn installed_record(original: Option<&str>, installed: &str) -> Record {
    Record {
        settings: "/home/ada/.claude/settings.json".into(),
        original: original.map(str::to_owned),
        installed: installed.to_owned(),
        kept: original.map_or_else(BTreeSet::new, |original| containers(original).unwrap()),
        created_directory: false,
    }
}

#[test]
fn a_missing_file_becomes_an_indented_one() {
    let plan = installation(None, None, "/opt/steward-claude-code").unwrap().unwrap();

    assert!(
        plan.installed.starts_with(
            "{\n  \"hooks\": {\n    \"SessionStart\": [\n      {\n        \"hooks\": [\n          {\n            \
             \"type\": \"command\",\n            \"command\": \"/opt/steward-claude-code\",\n            \
             \"args\": [\n              \"hook\"\n            ],\n            \"timeout\": 5\n          }\n        ]\n      }\n    ],\n    \
             \"UserPromptSubmit\": [\n"
        ),
        "{}",
        plan.installed
    );
    assert!(plan.installed.ends_with("\n    ]\n  }\n}\n"), "{}", plan.installed);
    assert_eq!(plan.original, None);
}

#[rstest]
#[case::indented_by_tabs(
    "{\n\t\"model\": \"opus\"\n}\n",
    "{\n\t\"model\": \"opus\",\n\t\"hooks\": {\n\t\t\"SessionStart\": [\n\t\t\t{"
)]
#[case::indented_by_four(
    "{\n    \"a\": 1\n}",
    "{\n    \"a\": 1,\n    \"hooks\": {\n        \"SessionStart\": [\n            {"
)]
#[case::windows_lines(
    "{\r\n  \"a\": 1\r\n}\r\n",
    "{\r\n  \"a\": 1,\r\n  \"hooks\": {\r\n    \"SessionStart\": [\r\n      {"
)]
#[case::on_one_line("{\"a\": 1}", "{\"a\": 1, \"hooks\": {\"SessionStart\":[{\"hooks\":[{\"type\":\"command\"")]
#[case::other_hooks(
    "{\n  \"hooks\": {\n    \"Stop\": [\n      {\"hooks\": []}\n    ]\n  },\n  \"z\": 1\n}",
    "{\n  \"hooks\": {\n    \"Stop\": [\n      {\"hooks\": []},\n      {\n        \"hooks\": ["
)]
fn entries_follow_the_layout(#[case] before: &str, #[case] beginning: &str) {
    let after = add(before, PROGRAM).unwrap();

    assert!(after.starts_with(beginning), "{after}");
    assert_eq!(after.contains("\r\n"), before.contains("\r\n"));
    assert_eq!(entries(&after).unwrap(), wanted(PROGRAM));
    assert_eq!(strip(&after, &containers(before).unwrap()).unwrap(), before);
}

#[test]
fn every_event_is_wired_in_exec_form_with_its_tools() {
    let after: Value = serde_json::from_str(&add("{}", PROGRAM).unwrap()).unwrap();

    for (event, matcher) in EVENTS {
        let mut group = serde_json::json!({
            "hooks": [{"type": "command", "command": PROGRAM, "args": ["hook"], "timeout": 5}],
        });
        if let Some(matcher) = matcher {
            group["matcher"] = matcher.into();
        }
        assert_eq!(after["hooks"][event], serde_json::json!([group]), "{event}");
    }
    assert_eq!(after["hooks"].as_object().unwrap().len(), 6);
}

#[rstest]
#[case::byte_order_mark("\u{feff}{}", "it begins with a byte order mark")]
#[case::comment("{\n  // mine\n}", "it is not strict JSON: key must be a string at line 2 column 3")]
#[case::trailing_comma("{\"a\": 1,}", "it is not strict JSON: trailing comma at line 1 column 9")]
#[case::truncated(
    "{\"permissions\": {\"allow\": [",
    "it is not strict JSON: EOF while parsing a list at line 1 column 27"
)]
#[case::empty("", "it is empty")]
#[case::blank(" \n", "it is empty")]
#[case::two_values("{} {}", "it is not strict JSON: trailing characters at line 1 column 4")]
fn trial_b93_what_is_not_strict_json_is_refused(#[case] text: &str, #[case] reason: &str) {
    for error in [installation(Some(text), None, PROGRAM).unwrap_err(), removal(Some(text), None).unwrap_err()] {
        assert_eq!(
            crate::failure::Failure::caused_by(&error).to_string(),
            format!("the settings cannot be edited safely: {reason}")
        );
    }
}

#[rstest]
#[case("[]", "the file is not an object")]
#[case("{\"hooks\": []}", "hooks is not an object")]
#[case("{\"hooks\": {\"Stop\": {}}}", "hooks.Stop is not a list")]
#[case("{\"hooks\": {}, \"a\": 1, \"hooks\": {}}", "hooks is there twice")]
#[case("{\"hooks\": {\"Stop\": [], \"Stop\": []}}", "hooks.Stop is there twice")]
fn what_claude_code_would_not_read_is_refused(#[case] text: &str, #[case] reason: &str) {
    let error = installation(Some(text), None, PROGRAM).unwrap_err();

    assert_eq!(error.to_string(), format!("the settings cannot be edited safely: {reason}"));
}

#[test]
fn a_text_that_is_nested_without_end_is_refused() {
    let text = "[".repeat(1 << 20);

    assert!(installation(Some(&text), None, PROGRAM).is_err());
}

#[test]
fn trial_b94_install_twice_uninstall_install() {
    let before = "{\n  \"hooks\": {\n    \"Stop\": [ { \"hooks\": [ {\"type\": \"command\", \"command\": \"say done\"} ] } ]\n  }\n}\n";
    let first = installation(Some(before), None, PROGRAM).unwrap().unwrap();
    let record = installed_record(Some(before), &first.installed);

    let second = installation(Some(&first.installed), Some(&record), PROGRAM).unwrap();
    let undone = removal(Some(&first.installed), Some(&record)).unwrap().unwrap();
    let again = installation(undone.restored.as_deref(), None, PROGRAM).unwrap().unwrap();

    assert_eq!(second, None);
    assert_eq!(undone.restored.as_deref(), Some(before));
    assert_eq!(again, first);
    assert_eq!(removal(Some(before), None).unwrap(), None);
}

#[test]
fn trial_b97_entries_of_an_earlier_place_are_replaced() {
    let before = "{\n  \"model\": \"opus\"\n}\n";
    let old = installation(Some(before), None, "/old/steward-claude-code").unwrap().unwrap();
    let record = installed_record(Some(before), &old.installed);

    for record in [Some(&record), None] {
        let new = installation(Some(&old.installed), record, PROGRAM).unwrap().unwrap();

        assert_eq!(entries(&new.installed).unwrap(), wanted(PROGRAM));
        assert_eq!(new.original.as_deref(), Some(before));
    }
}

#[test]
fn a_file_that_was_edited_since_loses_only_our_entries() {
    let before = "{\n  \"model\": \"opus\"\n}\n";
    let installed = add(before, PROGRAM).unwrap();
    let record = installed_record(Some(before), &installed);
    let edited = installed.replace("\"opus\"", "\"sonnet\"").replacen(
        "\"SessionStart\": [",
        "\"SessionStart\": [\n      {\"hooks\": [{\"type\": \"command\", \"command\": \"mine\"}]},",
        1,
    );

    let undone = removal(Some(&edited), Some(&record)).unwrap().unwrap();

    assert_eq!(
        undone.restored.as_deref(),
        Some(
            "{\n  \"model\": \"sonnet\",\n  \"hooks\": {\n    \"SessionStart\": [\n      \
             {\"hooks\": [{\"type\": \"command\", \"command\": \"mine\"}]}\n    ]\n  }\n}\n"
        )
    );
}

#[test]
fn a_file_of_our_own_making_goes_when_nothing_else_is_left_in_it() {
    let installed = add("{}\n", PROGRAM).unwrap();
    let record = installed_record(None, &installed);
    let reformatted = serde_json::to_string(&serde_json::from_str::<Value>(&installed).unwrap()).unwrap();

    for current in [&installed, &reformatted] {
        let undone = removal(Some(current), Some(&record)).unwrap().unwrap();

        assert_eq!(undone.restored, None);
    }
}

#[test]
fn another_hook_in_a_group_of_ours_stays() {
    let installed = add("{}", PROGRAM).unwrap();
    let edited = installed.replacen(
        "\"hooks\": [\n          {",
        "\"hooks\": [\n          {\"type\": \"command\", \"command\": \"mine\"},\n          {",
        1,
    );

    let stripped: Value = serde_json::from_str(&strip(&edited, &BTreeSet::new()).unwrap()).unwrap();

    assert_eq!(
        stripped,
        serde_json::json!({"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "mine"}]}]}})
    );
}

/// JSON whose text is laid out at random.
#[derive(Debug, Clone)]
enum Json {
    Word(&'static str),
    Text(String),
    List(Vec<Self>),
    Object(Vec<(String, Self)>),
}

fn json() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        prop::sample::select(vec!["null", "true", "false", "0", "-1.5e3", "12345678901234567890"]).prop_map(Json::Word),
        ".{0,12}".prop_map(Json::Text),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Json::List),
            prop::collection::vec((".{0,6}", inner), 0..4).prop_map(Json::Object),
        ]
    })
}

fn user_group() -> impl Strategy<Value = Json> {
    (proptest::option::of("[A-Za-z|*]{0,8}"), ".{0,20}").prop_map(|(matcher, command)| {
        let hook = Json::Object(vec![
            ("type".to_owned(), Json::Text("command".to_owned())),
            ("command".to_owned(), Json::Text(command)),
        ]);
        let mut members = vec![("hooks".to_owned(), Json::List(vec![hook]))];
        members.extend(matcher.map(|matcher| ("matcher".to_owned(), Json::Text(matcher))));
        Json::Object(members)
    })
}

fn settings() -> impl Strategy<Value = Json> {
    let names: Vec<&str> = EVENTS.iter().map(|(event, _)| *event).chain(["PreToolUse", "Notification"]).collect();
    let events = prop::sample::subsequence(names, 0..6).prop_flat_map(|names| {
        let count = names.len();
        prop::collection::vec(prop::collection::vec(user_group(), 0..3), count).prop_map(move |lists| {
            Json::Object(names.iter().map(|name| (*name).to_owned()).zip(lists.into_iter().map(Json::List)).collect())
        })
    });
    let other = prop::collection::btree_map("[a-z \\\\\"é]{0,6}", json(), 0..4);
    (other, proptest::option::of(events), any::<prop::sample::Index>()).prop_map(|(other, hooks, place)| {
        let mut members: Vec<(String, Json)> = other.into_iter().filter(|(name, _)| name != "hooks").collect();
        if let Some(hooks) = hooks {
            let index = place.index(members.len() + 1);
            members.insert(index, ("hooks".to_owned(), hooks));
        }
        Json::Object(members)
    })
}

/// Writes JSON with blanks that `choices` picks.
struct Writer {
    choices: Vec<u8>,
    used: usize,
    text: String,
}

impl Writer {
    fn blank(&mut self) {
        const BLANKS: [&str; 8] = ["", " ", "\n", "\n  ", "\t", "\r\n    ", "", "  \n\n "];
        let choice = self.choices[self.used % self.choices.len()];
        self.used += 1;
        self.text.push_str(BLANKS[usize::from(choice) % BLANKS.len()]);
    }

    fn separate(&mut self, index: usize) {
        if index > 0 {
            self.text.push(',');
            self.blank();
        }
    }

    fn write(&mut self, value: &Json) {
        match value {
            Json::Word(word) => self.text.push_str(word),
            Json::Text(string) => self.text.push_str(&serde_json::to_string(string).unwrap()),
            Json::List(values) => {
                self.text.push('[');
                self.blank();
                for (index, value) in values.iter().enumerate() {
                    self.separate(index);
                    self.write(value);
                    self.blank();
                }
                self.text.push(']');
            }
            Json::Object(members) => {
                self.text.push('{');
                self.blank();
                for (index, (name, value)) in members.iter().enumerate() {
                    self.separate(index);
                    self.text.push_str(&serde_json::to_string(name).unwrap());
                    self.blank();
                    self.text.push(':');
                    self.blank();
                    self.write(value);
                    self.blank();
                }
                self.text.push('}');
            }
        }
    }
}

fn settings_text() -> impl Strategy<Value = String> {
    (settings(), prop::collection::vec(any::<u8>(), 1..40)).prop_map(|(settings, choices)| {
        let mut writer = Writer { choices, used: 0, text: String::new() };
        writer.blank();
        writer.write(&settings);
        writer.blank();
        writer.text
    })
}

/// Whether `text` has an empty object or list where entries go: the blanks in it are lost with them.
fn has_empty_container(text: &str) -> bool {
    let settings: Value = serde_json::from_str(text).unwrap();
    let hooks = &settings["hooks"];
    settings.as_object().is_some_and(serde_json::Map::is_empty)
        || hooks.as_object().is_some_and(serde_json::Map::is_empty)
        || EVENTS.iter().any(|(event, _)| hooks[event].as_array().is_some_and(Vec::is_empty))
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

proptest! {
    #[test]
    fn installing_and_undoing_gives_every_byte_back(before in settings_text()) {
        let plan = installation(Some(&before), None, PROGRAM).unwrap().unwrap();
        let record = installed_record(Some(&before), &plan.installed);

        prop_assert_eq!(entries(&plan.installed).unwrap(), wanted(PROGRAM));
        prop_assert_eq!(installation(Some(&plan.installed), Some(&record), PROGRAM).unwrap(), None);
        prop_assert_eq!(installation(Some(&plan.installed), None, PROGRAM).unwrap(), None);
        let undone = removal(Some(&plan.installed), Some(&record)).unwrap().unwrap();
        prop_assert_eq!(undone.restored, Some(before));
    }

    #[test]
    fn removing_entries_from_the_text_is_the_inverse_of_adding_them(before in settings_text()) {
        let added = add(&before, PROGRAM).unwrap();

        let stripped = strip(&added, &containers(&before).unwrap()).unwrap();

        prop_assert_eq!(parsed(&stripped), parsed(&before));
        if !has_empty_container(&before) {
            prop_assert_eq!(stripped, before);
        }
    }

    #[test]
    fn adding_entries_keeps_every_byte_that_was_there_in_its_order(before in settings_text()) {
        let added = add(&before, PROGRAM).unwrap();

        let mut rest = added.bytes();
        let significant = |byte: &u8| !byte.is_ascii_whitespace();
        for byte in before.bytes().filter(significant) {
            prop_assert!(rest.any(|other| other == byte));
        }
    }

    #[test]
    fn any_text_is_edited_or_refused_without_a_panic(text in any::<String>(), cut in any::<prop::sample::Index>(), settings in settings_text()) {
        let end = settings.floor_char_boundary(cut.index(settings.len() + 1));
        for text in [text.as_str(), &settings[..end]] {
            if let Ok(Some(plan)) = installation(Some(text), None, PROGRAM) {
                prop_assert_eq!(entries(&plan.installed).unwrap(), wanted(PROGRAM));
            }
        }
    }
}
