//! The guard's command line, both ways.
//!
//! It must never look into the program's own arguments: they may be any bytes.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// What `steward-guard run` is given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunArguments {
    /// How long the guard waits between INT and KILL once the daemon is gone.
    pub orphan_grace: Duration,
    /// Added to the nice value of the program.
    pub niceness: u8,
    /// The program, as an absolute path.
    pub program: PathBuf,
    /// The program's arguments, without its name.
    pub arguments: Vec<OsString>,
}

impl RunArguments {
    /// The arguments that make `steward-guard` parse to this value.
    pub fn to_arguments(&self) -> Vec<OsString> {
        let mut all = vec![
            OsString::from("run"),
            OsString::from(GRACE),
            OsString::from(self.orphan_grace.as_millis().to_string()),
            OsString::from(NICENESS),
            OsString::from(self.niceness.to_string()),
            OsString::from(SEPARATOR),
            self.program.clone().into_os_string(),
        ];
        all.extend(self.arguments.iter().cloned());
        all
    }
}

/// What `steward-guard exec` is given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ExecArguments {
    /// The process id of the guard, whose death is to end the program.
    pub(crate) parent: i32,
    /// Added to the nice value of the program.
    pub(crate) niceness: u8,
    /// The program, as an absolute path.
    pub(crate) program: PathBuf,
    /// The program's arguments, without its name.
    pub(crate) arguments: Vec<OsString>,
}

impl ExecArguments {
    /// The arguments that make `steward-guard` parse to this value.
    pub(crate) fn to_arguments(&self) -> Vec<OsString> {
        let mut all = vec![
            OsString::from("exec"),
            OsString::from(PARENT),
            OsString::from(self.parent.to_string()),
            OsString::from(NICENESS),
            OsString::from(self.niceness.to_string()),
            OsString::from(SEPARATOR),
            self.program.clone().into_os_string(),
        ];
        all.extend(self.arguments.iter().cloned());
        all
    }
}

/// One of the two things that the guard's program does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Invocation {
    /// Lead a group.
    Run(RunArguments),
    /// Become the program.
    Exec(ExecArguments),
}

impl Invocation {
    /// Reads the arguments after the program's name.
    pub(crate) fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Self, UsageError> {
        let mut arguments = arguments.into_iter();
        match arguments.next().as_deref().and_then(OsStr::to_str) {
            Some("run") => {
                let options = Options::parse(&mut arguments)?;
                Ok(Self::Run(RunArguments {
                    orphan_grace: Duration::from_millis(options.grace.unwrap_or_default()),
                    niceness: options.niceness,
                    program: options.program,
                    arguments: arguments.collect(),
                }))
            }
            Some("exec") => {
                let options = Options::parse(&mut arguments)?;
                Ok(Self::Exec(ExecArguments {
                    parent: options.parent.ok_or(UsageError)?,
                    niceness: options.niceness,
                    program: options.program,
                    arguments: arguments.collect(),
                }))
            }
            Some(_) | None => Err(UsageError),
        }
    }
}

/// The arguments make no sense.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct UsageError;

impl fmt::Display for UsageError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .write_str("usage: run [--grace-ms N] [--niceness N] -- PROGRAM [ARGUMENT]..., started by stewardd only")
    }
}

const GRACE: &str = "--grace-ms";
const NICENESS: &str = "--niceness";
const PARENT: &str = "--parent";
const SEPARATOR: &str = "--";

struct Options {
    grace: Option<u64>,
    niceness: u8,
    parent: Option<i32>,
    program: PathBuf,
}

impl Options {
    fn parse(arguments: &mut impl Iterator<Item = OsString>) -> Result<Self, UsageError> {
        let (mut grace, mut niceness, mut parent) = (None, 0, None);
        loop {
            let name = arguments.next().ok_or(UsageError)?;
            match name.to_str() {
                Some(GRACE) => grace = Some(number(arguments.next().as_deref())?),
                Some(NICENESS) => niceness = number(arguments.next().as_deref())?,
                Some(PARENT) => parent = Some(number(arguments.next().as_deref())?),
                Some(SEPARATOR) => break,
                Some(_) | None => return Err(UsageError),
            }
        }
        Ok(Self { grace, niceness, parent, program: PathBuf::from(arguments.next().ok_or(UsageError)?) })
    }
}

fn number<N: std::str::FromStr>(argument: Option<&OsStr>) -> Result<N, UsageError> {
    argument.and_then(OsStr::to_str).and_then(|text| text.parse().ok()).ok_or(UsageError)
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt;

    use rstest::rstest;

    use super::*;

    #[test]
    fn arguments_survive_the_command_line_whatever_bytes_they_hold() {
        let run = RunArguments {
            orphan_grace: Duration::from_mins(1),
            niceness: 10,
            program: PathBuf::from("/opt/cgc"),
            arguments: vec![
                OsString::from("--"),
                OsString::from("--grace-ms"),
                OsString::from_vec(vec![b'a', 0xFF, b'\n']),
                OsString::new(),
            ],
        };

        assert_eq!(Invocation::parse(run.to_arguments()), Ok(Invocation::Run(run)));
    }

    #[test]
    fn the_second_stage_survives_the_command_line() {
        let exec =
            ExecArguments { parent: 4711, niceness: 0, program: PathBuf::from("/bin/true"), arguments: Vec::new() };

        assert_eq!(Invocation::parse(exec.to_arguments()), Ok(Invocation::Exec(exec)));
    }

    #[rstest]
    #[case::nothing(&[])]
    #[case::unknown_verb(&["walk", "--", "/bin/true"])]
    #[case::no_program(&["run", "--"])]
    #[case::no_separator(&["run", "/bin/true"])]
    #[case::bad_number(&["run", "--grace-ms", "soon", "--", "/bin/true"])]
    #[case::no_parent(&["exec", "--", "/bin/true"])]
    fn nonsense_is_refused(#[case] arguments: &[&str]) {
        let arguments = arguments.iter().map(OsString::from);

        assert_eq!(Invocation::parse(arguments), Err(UsageError));
    }
}
