//! From an answer to what Claude Code reads.
//!
//! It must never write a key that the event does not know, `decision`, `continue` or `updatedToolOutput` least of all.

use serde::Serialize;
use steward_hook::Answer;

use crate::event::HookEvent;

/// The output of a hook.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Output<'a> {
    /// Shown to the human, never sent to the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    system_message: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hook_specific_output: Option<HookSpecificOutput<'a>>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct HookSpecificOutput<'a> {
    /// Without it, or with another one, the whole output is an error.
    hook_event_name: &'a str,
    /// Sent to the model, not shown to the human.
    additional_context: &'a str,
}

/// Returns one JSON object on one line; nothing where there is nothing to tell.
pub(crate) fn encode(event: HookEvent, answer: &Answer) -> Vec<u8> {
    let carries = event.carries();
    let output = Output {
        system_message: answer.message.as_deref().filter(|_| carries.notices),
        hook_specific_output: answer
            .context
            .as_deref()
            .filter(|_| carries.context)
            .map(|additional_context| HookSpecificOutput { hook_event_name: event.name(), additional_context }),
    };
    if output.system_message.is_none() && output.hook_specific_output.is_none() {
        return Vec::new();
    }
    // Strings in structs always have a JSON form; an empty output is the success that a harness expects anyway.
    let mut line = serde_json::to_vec(&output).unwrap_or_default();
    line.push(b'\n');
    line
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use rstest::rstest;

    use super::*;

    fn encoded(event: HookEvent, message: Option<&str>, context: Option<&str>) -> String {
        let answer = Answer { message: message.map(str::to_owned), context: context.map(str::to_owned) };
        String::from_utf8(encode(event, &answer)).unwrap()
    }

    #[test]
    fn every_event_is_told_what_it_can_carry_and_nothing_else() {
        let mut lines = String::new();
        for event in [
            HookEvent::SessionStart,
            HookEvent::UserPromptSubmit,
            HookEvent::PostToolUse,
            HookEvent::PostToolUseFailure,
            HookEvent::Stop,
            HookEvent::SessionEnd,
        ] {
            let both = encoded(event, Some("cgc-steward: \"no\" graph\nCreate it."), Some("card"));
            writeln!(lines, "{event:?}: {}", both.trim_end()).unwrap();
        }

        insta::assert_snapshot!(lines);
    }

    #[rstest]
    #[case::message(Some("m"), None, "{\"systemMessage\":\"m\"}\n")]
    #[case::context(
        None,
        Some("c"),
        "{\"hookSpecificOutput\":{\"hookEventName\":\"SessionStart\",\"additionalContext\":\"c\"}}\n"
    )]
    #[case::nothing(None, None, "")]
    fn what_is_not_told_leaves_no_key(
        #[case] message: Option<&str>,
        #[case] context: Option<&str>,
        #[case] expected: &str,
    ) {
        assert_eq!(encoded(HookEvent::SessionStart, message, context), expected);
    }
}
