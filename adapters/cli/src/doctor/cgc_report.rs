//! cgc's own doctor.
//!
//! It must never run in the user's home: cgc 0.6.13's doctor writes its settings file there. It gets a throw-away home
//! with a copy of the settings, and sees the user's grammars where they are.

use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use steward_cgc::{Grammars, grammars};
use steward_ports::{CommandSpec, Ended, Exit, GraphTarget, GroupId, ProcessEvent, RunnerError, Stop, Verb};
use tempfile::TempDir;

use super::Subject;
use crate::failure::Failure;

/// What cgc's doctor said, or why it could not be asked.
pub(super) type CgcReport = Result<Said, String>;

/// What cgc's doctor said. It is shown and never believed: it calls a locked or ruined database healthy, and a healthy
/// one sick where Python is older than 3.12 (cgc 0.6.13).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Said {
    /// How it ended, in words.
    pub(super) end: String,
    /// Its words, cut in the middle with a marker where they are too many.
    pub(super) text: String,
}

/// Asks cgc's doctor about `target`, for as long as a question to cgc may take.
pub(super) async fn ask(subject: &Subject<'_>, target: &GraphTarget) -> CgcReport {
    let home = throw_away_home(target).map_err(|error| format!("no throw-away home could be made: {error}"))?;
    let command = command(subject, target, home.path());
    let timeout = subject.resolution.settings.settings.cgc.timeout;
    match run(subject, &command, timeout).await {
        Ok(Some(ended)) => Ok(said(&ended)),
        Ok(None) => Err(format!("it did not end within {} ms", timeout.as_millis())),
        Err(error) => Err(Failure::caused_by(&error).message().to_owned()),
    }
}

fn throw_away_home(target: &GraphTarget) -> io::Result<TempDir> {
    let home = tempfile::tempdir()?;
    let copies = home.path().join(".codegraphcontext");
    fs::create_dir(&copies)?;
    let Some(real) = target.environment.get("HOME") else { return Ok(home) };
    for name in [".env", "config.yaml"] {
        match fs::copy(Path::new(real).join(".codegraphcontext").join(name), copies.join(name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(_) | Err(_) => {}
        }
    }
    Ok(home)
}

fn command(subject: &Subject<'_>, target: &GraphTarget, home: &Path) -> CommandSpec {
    let mut command = subject.ports.graph.command(Verb::Doctor, target);
    if let Grammars::Fetched { directory, .. } = grammars(&target.installation, &target.environment) {
        command.environment.set("TREE_SITTER_LANGUAGE_PACK_LIBS_DIR", directory);
    }
    command.environment.set("HOME", home);
    for name in ["XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"] {
        command.environment.unset(name);
    }
    home.clone_into(&mut command.directory);
    command
}

/// Runs `command`; `None` where it was stopped because the time was up.
async fn run(subject: &Subject<'_>, command: &CommandSpec, timeout: Duration) -> Result<Option<Ended>, RunnerError> {
    let group = subject.ports.runner.spawn(command).await?;
    if let Ok(ended) = tokio::time::timeout(timeout, end_of(subject, group)).await {
        return ended.map(Some);
    }
    // It opens no database that a kill could hurt.
    subject.ports.runner.stop(group, Stop::Kill).await?;
    end_of(subject, group).await?;
    Ok(None)
}

async fn end_of(subject: &Subject<'_>, group: GroupId) -> Result<Ended, RunnerError> {
    loop {
        match subject.ports.runner.next(group).await? {
            ProcessEvent::Line(_) => {}
            ProcessEvent::Ended(ended) => return Ok(ended),
        }
    }
}

fn said(ended: &Ended) -> Said {
    let end = match ended.exit {
        Exit::Code(code) => format!("ended with {code}"),
        Exit::Signal(signal) => format!("was ended by signal {signal}"),
    };
    // Nearly all of it goes to the standard error.
    let text = format!("{}{}", ended.stdout.text(), ended.stderr.text());
    let visible: String = anstream::adapter::strip_str(&text).to_string();
    Said { end, text: visible.chars().filter(|character| *character == '\n' || !character.is_control()).collect() }
}
