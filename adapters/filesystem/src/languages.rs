//! Which file names cgc indexes, and what it makes of them.
//!
//! The tables are cgc 0.6.13's own: `GraphBuilder.parsers` in `tools/graph_builder.py`, and `_GENERIC_EXTENSIONS` and
//! `_GENERIC_FILENAMES` in `tools/indexing/discovery.py`. It must never look at a directory or a file's content.

use steward_ports::FileKind;

/// Extensions that cgc has a parser for. `.d.ts` is not among them because its suffix is `.ts`.
const PARSED_EXTENSIONS: &[&str] = &[
    ".c", ".cjs", ".cpp", ".cs", ".css", ".cts", ".dart", ".el", ".ex", ".exs", ".go", ".h", ".hh", ".hpp", ".hs",
    ".html", ".ipynb", ".java", ".js", ".jsx", ".kt", ".lua", ".mjs", ".mts", ".php", ".pl", ".pm", ".py", ".rb",
    ".rs", ".sc", ".scala", ".sol", ".svelte", ".swift", ".ts", ".tsx", ".vue",
];

/// Extensions whose files become a node without content.
const BARE_EXTENSIONS: &[&str] =
    &[".bat", ".cfg", ".ini", ".json", ".md", ".ps1", ".sh", ".toml", ".txt", ".yaml", ".yml"];

/// Names, without an extension as cgc counts it, whose files become a node without content.
const BARE_NAMES: &[&str] = &[".dockerignore", ".env", ".gitignore", "Dockerfile", "Makefile"];

/// Returns what cgc makes of a file called `name`; `None` where it leaves such files out. Letters' case counts.
pub(crate) fn kind_of_name(name: &[u8]) -> Option<FileKind> {
    let suffix = suffix(name);
    // The generic tables come first in cgc's `parse_file` as well.
    if contains(BARE_EXTENSIONS, suffix) || contains(BARE_NAMES, name) {
        Some(FileKind::Bare)
    } else if contains(PARSED_EXTENSIONS, suffix) {
        Some(FileKind::Parsed)
    } else {
        None
    }
}

/// The suffix as Python's `Path.suffix` counts it up to Python 3.13: a name that begins or ends with its last dot has
/// none.
fn suffix(name: &[u8]) -> &[u8] {
    match name.iter().rposition(|byte| *byte == b'.') {
        Some(dot) if dot > 0 && dot + 1 < name.len() => &name[dot..],
        Some(_) | None => &[],
    }
}

fn contains(table: &[&str], wanted: &[u8]) -> bool {
    table.binary_search_by(|entry| entry.as_bytes().cmp(wanted)).is_ok()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("a.py", Some(FileKind::Parsed))]
    #[case("index.d.ts", Some(FileKind::Parsed))]
    #[case("notebook.ipynb", Some(FileKind::Parsed))]
    #[case("a.b.rs", Some(FileKind::Parsed))]
    #[case("..py", Some(FileKind::Parsed))]
    #[case("README.md", Some(FileKind::Bare))]
    #[case("Makefile", Some(FileKind::Bare))]
    #[case(".gitignore", Some(FileKind::Bare))]
    #[case(".env", Some(FileKind::Bare))]
    #[case(".env.json", Some(FileKind::Bare))]
    #[case(".py", None)]
    #[case("a.PY", None)]
    #[case("a.py.", None)]
    #[case("a.cc", None)]
    #[case("pom.xml", None)]
    #[case(".cgcignore", None)]
    #[case("makefile", None)]
    #[case("py", None)]
    fn a_name_decides_what_cgc_makes_of_a_file(#[case] name: &str, #[case] kind: Option<FileKind>) {
        assert_eq!(kind_of_name(name.as_bytes()), kind);
    }

    #[rstest]
    #[case(PARSED_EXTENSIONS)]
    #[case(BARE_EXTENSIONS)]
    #[case(BARE_NAMES)]
    fn tables_are_sorted_as_their_search_demands(#[case] table: &[&str]) {
        assert!(table.is_sorted());
    }
}
