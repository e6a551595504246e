//! Printing, one write for each message so that readers see whole lines.
//!
//! It must never fail: a reader that went away is not the stand-in's business.

use std::io::{self, Write};

/// Prints a line to stdout.
pub(crate) fn say(text: &str) {
    emit(&mut io::stdout().lock(), text);
}

/// Prints a line to stderr.
pub(crate) fn complain(text: &str) {
    emit(&mut io::stderr().lock(), text);
}

fn emit(stream: &mut dyn Write, text: &str) {
    let line = format!("{text}\n");
    drop(stream.write_all(line.as_bytes()).and_then(|()| stream.flush()));
}
