//! What cgc printed, made searchable.
//!
//! It must never decide what a text means; `verdict` and `milestone` do.

use steward_ports::Ended;

/// Everything that a cgc process printed, without terminal control sequences.
#[derive(Debug)]
pub(crate) struct Printed {
    /// Standard output.
    pub(crate) stdout: String,
    /// Standard error.
    pub(crate) stderr: String,
    /// Whether some of it was not kept.
    pub(crate) is_cut: bool,
}

impl Printed {
    /// Takes what is known of an ended process.
    pub(crate) fn of(ended: &Ended) -> Self {
        Self {
            stdout: without_control_sequences(&ended.stdout.text()),
            stderr: without_control_sequences(&ended.stderr.text()),
            is_cut: ended.stdout.dropped > 0,
        }
    }

    /// Returns the lines of both streams.
    pub(crate) fn lines(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.stdout.lines().chain(self.stderr.lines())
    }

    /// Whether `text` was printed, be it broken across lines: cgc's library for printing breaks at blanks.
    pub(crate) fn says(&self, text: &str) -> bool {
        [&self.stdout, &self.stderr].iter().any(|stream| stream.contains(text) || joined(stream).contains(text))
    }

    /// Returns the first line in which `text` was printed, with the rest of the sentence where it was broken.
    pub(crate) fn line_with(&self, text: &str) -> Option<String> {
        if let Some(line) = self.lines().find(|line| line.contains(text)) {
            return Some(line.trim().to_owned());
        }
        [&self.stdout, &self.stderr].iter().find_map(|stream| {
            let joined = joined(stream);
            joined.find(text).map(|start| shortened(&joined[start..]))
        })
    }

    /// Returns the line that best tells why a process failed: its last words on what went wrong.
    pub(crate) fn complaint(&self) -> Option<String> {
        const MARKS: [&str; 4] = ["Error", "error", "Exception", "exception"];
        let is_complaint =
            |line: &&str| MARKS.iter().any(|mark| line.contains(mark)) && !line.starts_with(['│', '╭', '╰']);
        let line = self.lines().rev().find(is_complaint);
        let line = line.or_else(|| self.lines().rev().find(|line| !line.trim().is_empty()));
        line.map(|line| shortened(line.trim()))
    }
}

/// Removes the escape sequences that colour, style and move, and the other control characters but line ends.
pub(crate) fn without_control_sequences(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\u{1b}' if characters.next_if_eq(&'[').is_some() => {
                // A control sequence ends with the first character from @ to ~.
                let _end = characters.by_ref().find(|next| ('@'..='~').contains(next));
            }
            '\n' | '\t' => plain.push(character),
            // A carriage return begins a line anew on a terminal, so it ends one here.
            '\r' => {
                if characters.peek() != Some(&'\n') {
                    plain.push('\n');
                }
            }
            control if control.is_control() => {}
            _ => plain.push(character),
        }
    }
    plain
}

fn joined(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Evidence is one line for a person, whatever a repository's names make of it.
fn shortened(line: &str) -> String {
    const LIMIT: usize = 300;
    match line.char_indices().nth(LIMIT) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn printed(stdout: &str, stderr: &str) -> Printed {
        Printed { stdout: stdout.to_owned(), stderr: stderr.to_owned(), is_cut: false }
    }

    #[rstest]
    #[case("\u{1b}[1mbold\u{1b}[0m text", "bold text")]
    #[case("\r\u{1b}[2K⠋ Indexing…", "\n⠋ Indexing…")]
    #[case("a\r\nb", "a\nb")]
    #[case("bell\u{7}", "bell")]
    #[case("cut \u{1b}[1", "cut ")]
    #[case("lone \u{1b}", "lone ")]
    fn control_sequences_are_removed(#[case] text: &str, #[case] expected: &str) {
        assert_eq!(without_control_sequences(text), expected);
    }

    #[test]
    fn a_broken_sentence_is_found() {
        let printed = printed(
            "Database Connection Error: IO exception: Could not set lock on file\n: /h/kuzudb\nSee the docs",
            "",
        );

        assert!(printed.says("Could not set lock on file :"));
        assert_eq!(
            printed.line_with("Could not set lock on file :").as_deref(),
            Some("Could not set lock on file : /h/kuzudb See the docs")
        );
        assert!(!printed.says("Could not set lock on files"));
    }

    #[rstest]
    #[case("Resolving…\nError: no such thing\nhint", "", Some("Error: no such thing"))]
    #[case("Resolving…", "│ raise Error │\nOSError: [Errno 30]", Some("OSError: [Errno 30]"))]
    #[case("Resolving…\n", "", Some("Resolving…"))]
    #[case("", "\n", None)]
    fn the_complaint_is_the_last_word_on_what_went_wrong(
        #[case] stdout: &str,
        #[case] stderr: &str,
        #[case] expected: Option<&str>,
    ) {
        assert_eq!(printed(stdout, stderr).complaint().as_deref(), expected);
    }
}
