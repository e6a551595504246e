//! The `.env` format as python-dotenv reads it, as far as cgc writes it.
//!
//! It must never expand variables or run anything.

/// Returns the assignments in order. Lines that are none are skipped, as python-dotenv does.
pub(super) fn parse(text: &str) -> Vec<(String, String)> {
    text.trim_start_matches('\u{feff}').lines().filter_map(assignment).collect()
}

fn assignment(line: &str) -> Option<(String, String)> {
    let line = line.trim();
    let line = line.strip_prefix("export ").unwrap_or(line);
    let (name, value) = line.split_once('=')?;
    let name = name.trim();
    if name.is_empty() || name.starts_with('#') || name.contains(char::is_whitespace) {
        return None;
    }
    Some((name.to_owned(), unquoted(value.trim())))
}

fn unquoted(value: &str) -> String {
    for quote in ['\'', '"'] {
        if let Some((inside, _)) = value.strip_prefix(quote).and_then(|rest| rest.split_once(quote)) {
            return inside.to_owned();
        }
    }
    // A comment needs a space before it; `a#b` is a value.
    match value.find(" #") {
        Some(comment) => value[..comment].trim_end().to_owned(),
        None if value.starts_with('#') => String::new(),
        None => value.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::plain("DEFAULT_DATABASE=kuzudb", Some(("DEFAULT_DATABASE", "kuzudb")))]
    #[case::spaces(" A = b c ", Some(("A", "b c")))]
    #[case::exported("export A=b", Some(("A", "b")))]
    #[case::double_quotes("A=\"b # c\" # d", Some(("A", "b # c")))]
    #[case::single_quotes("A='b'", Some(("A", "b")))]
    #[case::comment_behind("A=b # c", Some(("A", "b")))]
    #[case::hash_inside("A=b#c", Some(("A", "b#c")))]
    #[case::empty("A=", Some(("A", "")))]
    #[case::equals_inside("A=b=c", Some(("A", "b=c")))]
    #[case::comment("# A=b", None)]
    #[case::commented_assignment("#A=b", None)]
    #[case::no_assignment("hello", None)]
    #[case::no_name("=b", None)]
    fn a_line_is_read_as_python_reads_it(#[case] line: &str, #[case] expected: Option<(&str, &str)>) {
        let expected: Vec<(String, String)> =
            expected.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();

        assert_eq!(parse(line), expected);
    }
}
