//! What is said to the person, and what is asked.
//!
//! It must never take silence for a yes: without a terminal on both sides nobody is asked.

use std::io::{self, BufRead, IsTerminal, Write};

use anstyle::{AnsiColor, Style};
use steward_ports::{Answer, Question};

/// The person's side of the process. Colour is dropped where the output is no terminal or `NO_COLOR` is set.
pub(crate) struct Terminal {
    output: Box<dyn Write>,
    messages: Box<dyn Write>,
    input: Box<dyn BufRead>,
    can_ask: bool,
    can_redraw: bool,
}

/// Marks what needs attention.
const BAD: Style = AnsiColor::Red.on_default().bold();
/// Marks what is added.
const ADDED: Style = AnsiColor::Green.on_default();
/// Marks what is removed.
const REMOVED: Style = AnsiColor::Red.on_default();

/// Clears from the cursor to the end of the line (ECMA-48, EL).
const CLEAR_TO_END: &str = "\u{1b}[K";

impl Terminal {
    /// Takes the process's own streams.
    pub(crate) fn of_process() -> Self {
        Self {
            output: Box::new(anstream::stdout()),
            messages: Box::new(anstream::stderr()),
            input: Box::new(io::stdin().lock()),
            can_ask: io::stdin().is_terminal() && io::stderr().is_terminal(),
            can_redraw: io::stderr().is_terminal(),
        }
    }

    /// Writes an answer to the standard output.
    pub(crate) fn say(&mut self, text: &str) {
        // A reader that went away wants no more; there is nobody left to tell.
        drop(writeln!(self.output, "{text}"));
    }

    /// Writes a failure to the standard error.
    pub(crate) fn complain(&mut self, text: &str) {
        drop(writeln!(self.messages, "{BAD}steward:{BAD:#} {text}"));
    }

    /// Writes the lines of a unified diff.
    pub(crate) fn show_difference(&mut self, difference: &str) {
        for line in difference.lines() {
            let style = match line.as_bytes().first() {
                Some(b'+') => ADDED,
                Some(b'-') => REMOVED,
                Some(_) | None => Style::new(),
            };
            drop(writeln!(self.output, "{style}{line}{style:#}"));
        }
    }

    /// Whether progress is shown at all.
    pub(crate) const fn shows_progress(&self) -> bool {
        self.can_redraw
    }

    /// Shows `line` in place of the last one; without a terminal nothing is shown.
    pub(crate) fn show_progress(&mut self, line: &str) {
        if !self.can_redraw {
            return;
        }
        let columns = rustix::termios::tcgetwinsize(io::stderr()).map_or(0, |size| size.ws_col);
        let shown = fitting(line, columns);
        drop(write!(self.messages, "\r{shown}{CLEAR_TO_END}"));
        drop(self.messages.flush());
    }

    /// Takes the line of progress away.
    pub(crate) fn end_progress(&mut self) {
        if self.can_redraw {
            drop(write!(self.messages, "\r{CLEAR_TO_END}"));
            drop(self.messages.flush());
        }
    }

    /// Tells the effect, puts the question and reads the answer; anything but `y` or `yes` is a no.
    pub(crate) fn ask(&mut self, question: &Question) -> Answer {
        if !self.can_ask {
            return Answer::Unasked;
        }
        drop(self.output.flush());
        drop(write!(self.messages, "{}\n{} [y/N] ", question.effect, question.text));
        drop(self.messages.flush());
        let mut answer = String::new();
        match self.input.read_line(&mut answer) {
            Ok(_) if matches!(answer.trim().to_lowercase().as_str(), "y" | "yes") => Answer::Yes,
            Ok(_) | Err(_) => Answer::No,
        }
    }
}

/// Returns as much of `line` as fits on one line of a terminal, since one that wraps could not be taken back. A terminal
/// that does not know its width, as a pseudo-terminal nobody has sized, says 0.
fn fitting(line: &str, columns: u16) -> String {
    let width = if columns == 0 { 80 } else { usize::from(columns) };
    line.chars().take(width - 1).collect()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::unknown(0, 79)]
    #[case::narrow(10, 9)]
    #[case::narrowest(1, 0)]
    #[case::wide(200, 100)]
    fn a_line_of_progress_never_wraps(#[case] columns: u16, #[case] length: usize) {
        assert_eq!(fitting(&"é".repeat(100), columns).chars().count(), length);
    }
}
