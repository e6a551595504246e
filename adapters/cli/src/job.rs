//! `steward index`, `rebuild` and `sync`.
//!
//! It must never ask for a job that creates or replaces a graph before the person, told what will be written where, has
//! said yes, and never start a job anew when the daemon breaks off.

use std::path::Path;
use std::time::{Duration, Instant};

use steward_ipc::client::Connection;
use steward_ports::{Answer, Question};
use steward_wire::{IndexState, JobOutcome, JobProgress, JobVerb, Reply, Request, StatusReport};

use crate::failure::Failure;
use crate::link::{Link, failed};
use crate::plain::{plain, shown};
use crate::status::report;
use crate::surroundings::Surroundings;
use crate::terminal::Terminal;
use crate::words::{INSTALL_CGC, counted, duration, going_on};

/// What the person said beforehand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Choices {
    /// Do not ask.
    pub(crate) yes: bool,
    /// Stay until the job has ended.
    pub(crate) wait: bool,
}

/// Asks the daemon for the job `verb` on the workspace of `path`, or of the current directory.
pub(crate) fn run(
    surroundings: &Surroundings,
    terminal: &mut Terminal,
    verb: JobVerb,
    choices: Choices,
    path: Option<&Path>,
) -> Result<(), Failure> {
    let directory = surroundings.directory(path)?;
    if !choices.yes {
        consent(surroundings, terminal, verb, &directory)?;
    }
    let environment = surroundings.forwarded();
    let request = Request::Job { verb, directory, environment, wait: choices.wait };
    let (connection, reply) = Link::new(surroundings)?.open(&request)?;
    follow(terminal, verb, connection, reply)
}

/// Asks the person where `verb` creates or replaces something; anything but a yes is an error.
fn consent(
    surroundings: &Surroundings,
    terminal: &mut Terminal,
    verb: JobVerb,
    directory: &Path,
) -> Result<(), Failure> {
    let question = match verb {
        JobVerb::Sync => return Ok(()),
        JobVerb::Index => index_question(&known(surroundings, directory)?),
        JobVerb::Rebuild => rebuild_question(&known(surroundings, directory)?),
    };
    match terminal.ask(&question) {
        Answer::Yes => Ok(()),
        Answer::No => Err(Failure::new("nothing was done")),
        Answer::Unasked => {
            let words = "nothing was done, since there is no terminal to ask on";
            Err(Failure::new(format!("{words}\n{}", question.effect)).with_advice("Add --yes if you agree."))
        }
    }
}

fn known(surroundings: &Surroundings, directory: &Path) -> Result<StatusReport, Failure> {
    let report = report(surroundings, directory.to_owned())?;
    match report.state {
        IndexState::Unavailable => Err(Failure::new("there is no usable cgc").with_advice(INSTALL_CGC)),
        IndexState::Unknown
        | IndexState::Unindexed
        | IndexState::Incomplete
        | IndexState::Busy
        | IndexState::Corrupt
        | IndexState::Drift
        | IndexState::Clean => Ok(report),
    }
}

fn index_question(report: &StatusReport) -> Question {
    let root = shown(&report.workspace);
    Question {
        effect: format!(
            "cgc will read the code in {root} and write its graph into {}.\n{}",
            database(report),
            side_effect(report)
        ),
        text: "Create the graph?".to_owned(),
    }
}

fn rebuild_question(report: &StatusReport) -> Question {
    let root = shown(&report.workspace);
    let database = database(report);
    let side_effect = side_effect(report);
    if report.state == IndexState::Corrupt {
        return Question {
            effect: format!(
                "{database} cannot be used. It will be renamed to {database}.set-aside-1, or the next free number, and \
                 cgc will write the graph of {root} into a new one. Graphs of other repositories in it have to be \
                 indexed again.\n{side_effect}"
            ),
            text: "Set the database aside and build the graph anew?".to_owned(),
        };
    }
    Question {
        effect: format!(
            "cgc will delete the graph of {root} from {database} and build it anew. Until that is done, the graph \
             answers little or nothing.\n{side_effect}"
        ),
        text: "Delete the graph and build it anew?".to_owned(),
    }
}

fn database(report: &StatusReport) -> String {
    match &report.backend.database {
        Some(database) => shown(database),
        None => format!("the {} database", plain(&report.backend.name)),
    }
}

/// cgc 0.6.13 writes this file where none lies between the workspace and the top of its repository.
fn side_effect(report: &StatusReport) -> String {
    let file = shown(&report.workspace.join(".cgcignore"));
    format!("Where {file} is missing, cgc writes it too; git shows it as a new file.")
}

fn follow(terminal: &mut Terminal, verb: JobVerb, mut connection: Connection, first: Reply) -> Result<(), Failure> {
    // A job takes as long as it takes; the daemon bounds it, and its death ends the connection.
    connection.set_deadline(None);
    let mut reply = Ok(first);
    while let Ok(Reply::Progress(progress)) = reply {
        show_until_reply(terminal, verb, progress, &connection);
        reply = connection.reply();
    }
    terminal.end_progress();
    match reply.map_err(|error| failed(&error))? {
        Reply::Accepted { joined } => {
            terminal.say(&accepted(verb, joined));
            Ok(())
        }
        Reply::Finished(JobOutcome { succeeded: true, summary, .. }) => {
            terminal.say(&plain(&summary));
            Ok(())
        }
        Reply::Finished(JobOutcome { succeeded: false, summary, advice, .. }) => Err(told(&summary, advice.as_deref())),
        Reply::Refused { reason, advice } => Err(told(&reason, advice.as_deref())),
        Reply::Failed { reason } => Err(told(&reason, None)),
        Reply::Progress(_)
        | Reply::Delivery { .. }
        | Reply::Status(_)
        | Reply::Daemon(_)
        | Reply::Stopping { .. }
        | Reply::Incompatible { .. }
        | Reply::Draining => Err(Failure::new("the daemon answered another question than was asked")),
    }
}

/// Shows how far the job is, the time going on, until the daemon has something new to say. The daemon speaks only when
/// something changed.
fn show_until_reply(terminal: &mut Terminal, verb: JobVerb, mut progress: JobProgress, connection: &Connection) {
    const STEP: Duration = Duration::from_secs(1);
    terminal.show_progress(&progress_line(verb, &progress));
    while terminal.shows_progress() && !connection.has_reply_by(Instant::now() + STEP) {
        progress.elapsed_ms = progress.elapsed_ms.saturating_add(1_000);
        terminal.show_progress(&progress_line(verb, &progress));
    }
}

fn told(reason: &str, advice: Option<&str>) -> Failure {
    let failure = Failure::new(plain(reason));
    match advice {
        Some(advice) => failure.with_advice(plain(advice)),
        None => failure,
    }
}

fn accepted(verb: JobVerb, joined: bool) -> String {
    let how = if joined { "was running already and goes on" } else { "goes on" };
    format!("{} {how} in the background; `steward status` shows how far it is.", going_on(verb))
}

fn progress_line(verb: JobVerb, progress: &JobProgress) -> String {
    let mut line = format!("{}: {}", going_on(verb), plain(&progress.phase));
    if let Some(counted) = counted(progress.done, progress.total) {
        line = format!("{line}, {counted}");
    }
    if progress.joined {
        line.push_str(", begun by another");
    }
    format!("{line}, {}", duration(progress.elapsed_ms))
}
