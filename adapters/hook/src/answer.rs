//! The answer in words: what the daemon delivers, made fit for a harness.
//!
//! It must never let through a character that moves a terminal's cursor, colours it or reorders its text, nor more than
//! a harness shows in full.

use steward_wire::{Carries, Notice};

/// The longest text that a harness takes, in UTF-16 code units. Claude Code 2.1.197 replaces what is longer than 10,000
/// characters by a preview, and Codex 0.171 what is longer than about as many.
pub const MAXIMUM_TEXT: usize = 10_000;

/// How everything begins that is shown to the human: several programs speak in the same place.
const SPEAKER: &str = "cgc-steward: ";

/// What is to be told with an event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answer {
    /// For the human.
    pub message: Option<String>,
    /// For the agent.
    pub context: Option<String>,
}

impl Answer {
    /// Puts a delivery into words. What the event cannot carry is left out; the daemon was told so and keeps it.
    pub(crate) fn new(notices: &[Notice], context: &[String], carries: Carries) -> Self {
        let message = (carries.notices && !notices.is_empty()).then(|| message(notices));
        let context = (carries.context && !context.is_empty()).then(|| bounded(&printable(&context.join("\n\n"))));
        Self { message, context }
    }

    /// Whether there is nothing to tell.
    pub(crate) const fn is_empty(&self) -> bool {
        self.message.is_none() && self.context.is_none()
    }
}

fn message(notices: &[Notice]) -> String {
    let paragraphs: Vec<String> = notices
        .iter()
        .map(|notice| match &notice.advice {
            Some(advice) => format!("{}\n{advice}", notice.text),
            None => notice.text.clone(),
        })
        .collect();
    bounded(&format!("{SPEAKER}{}", printable(&paragraphs.join("\n\n"))))
}

fn printable(text: &str) -> String {
    text.chars()
        .filter_map(|character| match character {
            '\n' => Some('\n'),
            '\t' => Some(' '),
            // Marks, embeddings, overrides and isolates of the bidirectional algorithm.
            '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => None,
            character if character.is_control() => None,
            character => Some(character),
        })
        .collect()
}

fn bounded(text: &str) -> String {
    const ELLIPSIS: char = '…';
    if text.encode_utf16().count() <= MAXIMUM_TEXT {
        return text.to_owned();
    }
    let mut room = MAXIMUM_TEXT - ELLIPSIS.len_utf16();
    let mut short: String = text
        .chars()
        .take_while(|character| {
            let fits = character.len_utf16() <= room;
            room = room.saturating_sub(character.len_utf16());
            fits
        })
        .collect();
    short.push(ELLIPSIS);
    short
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use steward_wire::Severity;

    use super::*;

    fn notice(text: &str, advice: Option<&str>) -> Notice {
        Notice {
            name: "unindexed".to_owned(),
            severity: Severity::Info,
            text: text.to_owned(),
            advice: advice.map(str::to_owned),
        }
    }

    #[test]
    fn notices_are_paragraphs_with_their_advice_below() {
        let notices = [notice("No graph.", Some("Create it.")), notice("Busy.", None)];

        let answer = Answer::new(&notices, &[], Carries::default());

        assert_eq!(answer.message.as_deref(), Some("cgc-steward: No graph.\nCreate it.\n\nBusy."));
        assert_eq!(answer.context, None);
    }

    #[rstest]
    #[case(true, false)]
    #[case(false, true)]
    #[case(false, false)]
    fn an_event_is_given_only_what_it_carries(#[case] notices: bool, #[case] context: bool) {
        let answer = Answer::new(&[notice("No graph.", None)], &["card".to_owned()], Carries { notices, context });

        assert_eq!(answer.message.is_some(), notices);
        assert_eq!(answer.context.is_some(), context);
        assert_eq!(answer.is_empty(), !notices && !context);
    }

    #[test]
    fn a_file_name_cannot_reach_the_terminal() {
        let notices = [notice("\u{1b}[31mred\u{7}\r\u{202e}txt.exe\tend\u{9b}", None)];

        let answer = Answer::new(&notices, &[], Carries::default());

        assert_eq!(answer.message.as_deref(), Some("cgc-steward: [31mredtxt.exe end"));
    }

    #[rstest]
    #[case::one_byte("x")]
    #[case::one_unit("é")]
    #[case::two_units("😀")]
    fn a_long_text_is_cut_to_what_a_harness_shows(#[case] unit: &str) {
        let answer = Answer::new(&[notice(&unit.repeat(MAXIMUM_TEXT), None)], &[], Carries::default());

        let message = answer.message.unwrap();
        let length = message.encode_utf16().count();
        assert!(length <= MAXIMUM_TEXT && length > MAXIMUM_TEXT - 2, "{length}");
        assert!(message.ends_with('…'));
    }
}
