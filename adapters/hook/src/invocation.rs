//! The arguments of a harness binary.
//!
//! It must never take a path or a command from them.

use std::ffi::OsString;

use lexopt::Arg;

/// What a harness binary was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Invocation {
    /// Answer the event on standard input.
    Hook,
    /// Print the version.
    Version,
    /// Print how the program is called.
    Usage,
}

impl Invocation {
    /// Reads the arguments after the program's name. What follows `hook` is ignored: nothing may keep it from exiting 0.
    pub(crate) fn parse(arguments: impl IntoIterator<Item = OsString>) -> Self {
        let mut parser = lexopt::Parser::from_args(arguments);
        match parser.next() {
            Ok(Some(Arg::Value(value))) if value == "hook" => Self::Hook,
            Ok(Some(Arg::Long("version") | Arg::Short('V'))) => Self::Version,
            Ok(Some(Arg::Value(_) | Arg::Long(_) | Arg::Short(_)) | None) | Err(_) => Self::Usage,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt;

    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::hook(&["hook"], Invocation::Hook)]
    #[case::odd_flags_behind_it(&["hook", "--exec=/bin/sh", "/etc/passwd"], Invocation::Hook)]
    #[case::version(&["--version"], Invocation::Version)]
    #[case::nothing(&[], Invocation::Usage)]
    #[case::misspelled(&["hok"], Invocation::Usage)]
    #[case::unknown(&["--hook"], Invocation::Usage)]
    fn trial_b139_arguments_choose_between_three_things(#[case] arguments: &[&str], #[case] expected: Invocation) {
        assert_eq!(Invocation::parse(arguments.iter().map(OsString::from)), expected);
    }

    #[test]
    fn an_argument_that_is_not_utf_8_is_no_hook() {
        assert_eq!(Invocation::parse([OsString::from_vec(vec![b'h', 0xff])]), Invocation::Usage);
    }
}
