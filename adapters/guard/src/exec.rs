//! The second stage: a process that ties its life to the guard's and then becomes the program.
//!
//! It exists because only the process itself can arm its parent-death signal, and only before it becomes a program that
//! knows nothing of it. It must never write to the program's output.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode, Stdio};

use rustix::process::{Signal, getppid, set_parent_process_death_signal};

use crate::arguments::ExecArguments;

/// Becomes the program. Returns only where it cannot; the errno then goes, as four little-endian bytes, to standard
/// input, which is the write end of a pipe of the guard. The pipe ends without a byte where the program was started.
pub(crate) fn exec(arguments: &ExecArguments) -> ExitCode {
    let error = match become_program(arguments) {
        Ok(never) => match never {},
        Err(error) => error,
    };
    if let Some((mut pipe, source)) = error {
        let errno = source.raw_os_error().unwrap_or(0);
        // A guard that cannot be told is dead, and this process is about to be.
        let _guard_is_gone = pipe.write_all(&errno.to_le_bytes());
    }
    ExitCode::FAILURE
}

type Failure = Option<(File, io::Error)>;

fn become_program(arguments: &ExecArguments) -> Result<std::convert::Infallible, Failure> {
    // The duplicate closes on exec, while descriptor 0 becomes the program's standard input.
    let Ok(pipe) = io::stdin().as_fd().try_clone_to_owned().map(File::from) else {
        return Err(None);
    };
    if let Err(error) = set_parent_process_death_signal(Some(Signal::KILL)) {
        return Err(Some((pipe, error.into())));
    }
    // A guard that died before the signal was armed sends none.
    if getppid().map(|parent| parent.as_raw_nonzero().get()) != Some(arguments.parent) {
        return Err(None);
    }
    if arguments.niceness > 0
        && let Err(error) = rustix::process::nice(i32::from(arguments.niceness))
    {
        return Err(Some((pipe, error.into())));
    }
    let error = Command::new(&arguments.program).args(&arguments.arguments).stdin(Stdio::null()).exec();
    Err(Some((pipe, error)))
}
