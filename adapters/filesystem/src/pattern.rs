//! The pattern dialect of cgc's ignore files.
//!
//! Responsible for reading one pattern as `CGCIgnoreMatcher` of cgc 0.6.13 (`core/cgcignore.py`) does. The dialect looks
//! like git's and is not: a pattern that matches a directory matches all below it, `*` inside `**` segments and escapes
//! follow cgc's own translation. Hence no gitignore library is used. It must never read a file.

use std::fmt::Write as _;

/// One pattern, in the cheapest form that decides it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pattern {
    /// Whether it brings back what an earlier pattern left out.
    pub(crate) negated: bool,
    /// Whether it matches directories (and what is below them) only.
    pub(crate) directory_only: bool,
    /// What it matches.
    pub(crate) form: Form,
}

/// What a pattern matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Form {
    /// A file or directory of this name, anywhere.
    Name(String),
    /// A file or directory whose name ends so, anywhere.
    NameEnd(String),
    /// The file or directory at this path from the root.
    Path(String),
    /// A whole path from the root, a directory's with a slash at its end, that this regular expression matches. It
    /// covers what is below a matched directory too.
    Expression(String),
}

/// Returns the patterns of an ignore file, in the order in which they are written.
pub(crate) fn parse_lines(text: &str) -> Vec<Pattern> {
    split_lines(text).filter_map(parse).collect()
}

/// Reads one line; `None` for a blank line or a comment.
pub(crate) fn parse(line: &str) -> Option<Pattern> {
    let line = line.trim_matches(is_python_whitespace);
    if line.is_empty() || line.starts_with('#') {
        return None;
    }
    let (negated, text) = strip(line.strip_prefix('!'), line);
    let (directory_only, text) = strip(text.strip_suffix('/'), text);
    let (rooted, text) = strip(text.strip_prefix('/'), text);
    // A slash that is neither first nor last ties the pattern to the root, as in git.
    let anchored = rooted || text.contains('/');
    Some(Pattern { negated, directory_only, form: form(text, anchored, directory_only) })
}

fn strip<'a>(stripped: Option<&'a str>, original: &'a str) -> (bool, &'a str) {
    (stripped.is_some(), stripped.unwrap_or(original))
}

fn form(text: &str, anchored: bool, directory_only: bool) -> Form {
    let is_plain = |text: &str| !text.is_empty() && !text.contains(['*', '?', '[', '\\']);
    if anchored {
        // Doubled slashes match no path; only the expression says so.
        if is_plain(text) && text.split('/').all(|segment| !segment.is_empty()) {
            return Form::Path(text.to_owned());
        }
    } else if is_plain(text) {
        return Form::Name(text.to_owned());
    } else if let Some(end) = text.strip_prefix('*')
        && is_plain(end)
    {
        return Form::NameEnd(end.to_owned());
    }
    Form::Expression(expression(text, anchored, directory_only))
}

/// The translation of `CGCIgnoreMatcher._compile_patterns`.
fn expression(text: &str, anchored: bool, directory_only: bool) -> String {
    let segments: Vec<String> = text.split("**").map(|segment| translate_segment(segment.trim_matches('/'))).collect();
    let mut expression = String::from(if anchored { r"(?s)\A" } else { r"(?s)(?:\A|.*/)" });
    let mut left: Option<&String> = None;
    for segment in &segments {
        if let Some(left) = left {
            expression.push_str(match (left.is_empty(), segment.is_empty()) {
                (true, true) => ".*",
                (true, false) => "(?:.*/)?",
                (false, true) => "/.*",
                (false, false) => "/(?:.*/)?",
            });
        }
        expression.push_str(segment);
        left = Some(segment);
    }
    expression.push_str(if directory_only { r"(?:/.*)\z" } else { r"(?:/.*)?\z" });
    expression
}

/// The translation of `CGCIgnoreMatcher._translate_segment`.
fn translate_segment(segment: &str) -> String {
    let characters: Vec<char> = segment.chars().collect();
    let mut translated = String::new();
    let mut position = 0;
    while let Some(&character) = characters.get(position) {
        position += 1;
        match character {
            '*' => translated.push_str("[^/]*"),
            '?' => translated.push_str("[^/]"),
            '\\' => {
                let escaped = characters.get(position).copied();
                push_literal(&mut translated, escaped.unwrap_or('\\'));
                position += usize::from(escaped.is_some());
            }
            '[' => match class_end(&characters, position) {
                Some(end) => {
                    push_class(&mut translated, &characters[position..end]);
                    position = end + 1;
                }
                None => push_literal(&mut translated, '['),
            },
            other => push_literal(&mut translated, other),
        }
    }
    translated
}

/// Where the bracket closes that opened before `start`: a bracket that comes first, or first after `!`, is a member.
fn class_end(characters: &[char], start: usize) -> Option<usize> {
    let first = start + usize::from(characters.get(start) == Some(&'!'));
    let search = first + usize::from(characters.get(first) == Some(&']'));
    characters.get(search..)?.iter().position(|character| *character == ']').map(|offset| search + offset)
}

/// Writes a class so that its members mean what they mean to Python: ranges, and characters without a meaning of
/// their own. A class that Python would refuse stays one that cannot be compiled.
fn push_class(translated: &mut String, members: &[char]) {
    let (negated, members) = match members {
        ['!', rest @ ..] => (true, rest),
        all => (false, all),
    };
    translated.push('[');
    if negated {
        translated.push('^');
    }
    let mut position = 0;
    while let Some(&member) = members.get(position) {
        push_member(translated, member);
        position += 1;
        // A hyphen that is neither first nor last makes a range.
        if members.get(position) == Some(&'-')
            && let Some(&end) = members.get(position + 1)
        {
            translated.push('-');
            push_member(translated, end);
            position += 2;
        }
    }
    translated.push(']');
}

fn push_member(translated: &mut String, member: char) {
    // Writing to a string cannot fail.
    let _ = write!(translated, r"\x{{{:x}}}", u32::from(member));
}

fn push_literal(translated: &mut String, character: char) {
    translated.push_str(&regex::escape(character.encode_utf8(&mut [0; 4])));
}

/// Python's `str.splitlines`.
fn split_lines(text: &str) -> impl Iterator<Item = &str> {
    // A carriage return and its newline make an empty line between them, which is no pattern.
    text.split(['\n', '\r', '\u{b}', '\u{c}', '\u{1c}', '\u{1d}', '\u{1e}', '\u{85}', '\u{2028}', '\u{2029}'])
}

/// Python's `str.isspace`, which counts four control characters more than Unicode's property does.
fn is_python_whitespace(character: char) -> bool {
    character.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&character)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("build/", false, true, Form::Name("build".to_owned()))]
    #[case("  !build  ", true, false, Form::Name("build".to_owned()))]
    #[case("*.png", false, false, Form::NameEnd(".png".to_owned()))]
    #[case("/docs", false, false, Form::Path("docs".to_owned()))]
    #[case("docs/api/", false, true, Form::Path("docs/api".to_owned()))]
    fn a_plain_pattern_needs_no_expression(
        #[case] line: &str,
        #[case] negated: bool,
        #[case] directory_only: bool,
        #[case] form: Form,
    ) {
        assert_eq!(parse(line), Some(Pattern { negated, directory_only, form }));
    }

    #[rstest]
    #[case("")]
    #[case("   ")]
    #[case("# comment")]
    #[case("\u{1f}#")]
    fn a_line_without_a_pattern_is_skipped(#[case] line: &str) {
        assert_eq!(parse(line), None);
    }

    #[test]
    fn lines_end_where_python_ends_them() {
        assert_eq!(parse_lines("a\r\nb\u{2028}c\u{c}d").len(), 4);
    }
}
