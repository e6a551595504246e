//! What a running cgc says about how far it is.
//!
//! It must never invent progress: cgc 0.6.13 draws its bar only on a terminal, and there it stands at 100 % for nine
//! tenths of the time, while the graph is written. The growth of the database's log is the only sign of life.

use steward_ports::{Milestone, OutputLine, OutputStream, Verb};

use crate::output::without_control_sequences;

/// Returns what a line of `verb`'s output says, if anything. The ready line may come twice: an interrupt that meets it
/// half printed makes it start again (cgc 0.6.13).
pub(crate) fn read(verb: Verb, line: &OutputLine) -> Option<Milestone> {
    if line.stream != OutputStream::Stdout {
        return None;
    }
    let text = without_control_sequences(&line.text);
    if text.starts_with("Services initialized.") {
        return Some(Milestone::Started);
    }
    match verb {
        Verb::Reconcile => is_ready(&text).then_some(Milestone::Ready),
        Verb::Inventory | Verb::Index | Verb::Rebuild | Verb::Doctor => None,
    }
}

/// Whether a line is the one that cgc prints once the reconcile is complete and it begins to watch.
pub(crate) fn is_ready(line: &str) -> bool {
    line.contains("Monitoring for file changes")
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(Verb::Index, "Services initialized.", Some(Milestone::Started))]
    #[case(Verb::Reconcile, "👀 Monitoring for file changes... (Press Ctrl+C to stop)", Some(Milestone::Ready))]
    #[case(Verb::Index, "👀 Monitoring for file changes...", None)]
    #[case(Verb::Reconcile, "✓ Already indexed. Synchronizing current files...", None)]
    #[case(Verb::Index, "Starting indexing for: /r", None)]
    fn a_line_tells_how_far_cgc_is(#[case] verb: Verb, #[case] text: &str, #[case] expected: Option<Milestone>) {
        let line = |stream| OutputLine { stream, text: text.to_owned() };

        assert_eq!(read(verb, &line(OutputStream::Stdout)), expected);
        assert_eq!(read(verb, &line(OutputStream::Stderr)), None);
    }
}
