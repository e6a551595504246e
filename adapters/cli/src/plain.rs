//! Text that was not written by us, made fit for a terminal.
//!
//! It must never let a control character through: names of files and branches can be chosen to forge what is shown.

use std::path::Path;

/// Returns `text` on one line, control characters escaped.
pub(crate) fn plain(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_control() {
            shown.extend(character.escape_default());
        } else {
            shown.push(character);
        }
    }
    shown
}

/// Returns `path` as [`plain`] text.
pub(crate) fn shown(path: &Path) -> String {
    plain(&path.to_string_lossy())
}
