//! The table that cgc prints after an index.
//!
//! It must never guess a number that is not there.

use crate::output::Printed;

/// The numbers of an index that decide whether it was of use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Summary {
    /// Functions, without the synthetic one of each file.
    pub(super) functions: Option<u64>,
    /// Classes.
    pub(super) classes: Option<u64>,
    /// Files that could not be parsed or written; the row is absent where there are none.
    pub(super) failed: u64,
}

impl Summary {
    /// Reads the rows `| Function nodes | 5 |` and their like.
    pub(super) fn read(printed: &Printed) -> Self {
        let number = |row: &str| {
            printed.stdout.lines().find_map(|line| {
                let mut cells = line.trim().strip_prefix('|')?.split('|').map(str::trim);
                (cells.next()? == row).then(|| cells.next()?.parse().ok())?
            })
        };
        Self {
            functions: number("Function nodes"),
            classes: number("Class nodes"),
            failed: number("Files failed to parse").unwrap_or_default(),
        }
    }
}
