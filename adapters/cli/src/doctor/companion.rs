//! The companion's own parts: programs, settings, state, socket and daemon.
//!
//! It must never start a daemon.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;

use steward_config::Warning;
use steward_wire::{Reply, Request};
use tempfile::NamedTempFile;

use super::Subject;
use super::finding::Finding;
use crate::failure::Failure;
use crate::install::HOOK_PROGRAM;
use crate::link::{DAEMON_PROGRAM, Link};
use crate::plain::shown;
use crate::siblings::sibling;
use crate::words::duration;

const ONE_DIRECTORY: &str = "Install all programs of the companion into one directory.";

pub(super) fn look(subject: &Subject<'_>) -> Vec<Finding> {
    let mut findings = vec![programs(subject)];
    findings.extend(settings(subject));
    findings.push(state_directory(subject));
    findings.push(daemon(subject));
    findings
}

fn programs(subject: &Subject<'_>) -> Finding {
    const CHECK: &str = "programs";
    let executable = match subject.surroundings.executable() {
        Ok(executable) => executable,
        Err(failure) => return Finding::fail(CHECK, failure.message(), ONE_DIRECTORY),
    };
    for name in [DAEMON_PROGRAM, "steward-guard", HOOK_PROGRAM] {
        if let Err(error) = sibling(executable, name) {
            return Finding::fail(CHECK, error.to_string(), ONE_DIRECTORY);
        }
    }
    Finding::ok(CHECK, format!("version {}, beside {}", env!("CARGO_PKG_VERSION"), shown(executable)))
}

fn settings(subject: &Subject<'_>) -> Vec<Finding> {
    const CHECK: &str = "settings";
    let resolved = &subject.resolution.settings;
    if resolved.warnings.is_empty() {
        return vec![Finding::ok(CHECK, "every value that is set counts")];
    }
    resolved
        .warnings
        .iter()
        .map(|warning| Finding::warn(CHECK, warning.to_string(), settings_advice(warning)))
        .collect()
}

fn settings_advice(warning: &Warning) -> &'static str {
    match warning {
        Warning::BadValue { .. } => "Mend it; the value of the layer below counts until then.",
        Warning::UnknownKey { .. } => "Mend or remove it; it does nothing.",
        Warning::UnusableFile { .. } => "Mend it; the layers below count until then.",
        Warning::Untrusted { .. } => "If you want them, set them in a file of your own, or by a variable.",
        Warning::Unmergeable { .. } => "Report this; it is an error of the companion's.",
    }
}

fn state_directory(subject: &Subject<'_>) -> Finding {
    const CHECK: &str = "state directory";
    let directory = match subject.surroundings.state_directory() {
        Ok(directory) => directory,
        Err(failure) => return Finding::fail(CHECK, failure.message(), "Set HOME or XDG_STATE_HOME."),
    };
    let written = DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&directory)
        .and_then(|()| NamedTempFile::new_in(&directory));
    match written {
        Ok(_file) => Finding::ok(CHECK, format!("{} can be written", shown(&directory))),
        Err(error) => Finding::fail(
            CHECK,
            format!("{} cannot be written: {error}", shown(&directory)),
            "Without it no job is started. Make it writable, or set XDG_STATE_HOME.",
        ),
    }
}

fn daemon(subject: &Subject<'_>) -> Finding {
    const CHECK: &str = "daemon";
    let reply = Link::new(subject.surroundings).and_then(|link| Ok((link.ask_running(&Request::Daemon)?, link)));
    match reply {
        Ok((None, _)) => Finding::ok(CHECK, "none is running; the next session or job starts one"),
        Ok((Some(Reply::Daemon(report)), link)) if report.build == *link.build() => Finding::ok(
            CHECK,
            format!("process {}, for {}, {} session(s)", report.pid, duration(report.uptime_ms), report.sessions),
        ),
        Ok((Some(Reply::Daemon(_) | Reply::Incompatible { .. }), _)) => Finding::warn(
            CHECK,
            "one of another build is running",
            "The next session or job replaces it; `steward daemon stop` ends it now.",
        ),
        Ok((
            Some(
                Reply::Draining
                | Reply::Failed { .. }
                | Reply::Delivery { .. }
                | Reply::Status(_)
                | Reply::Accepted { .. }
                | Reply::Progress(_)
                | Reply::Finished(_)
                | Reply::Refused { .. }
                | Reply::Stopping { .. },
            ),
            _,
        )) => Finding::warn(CHECK, "it is ending", "Try again in a while."),
        Err(failure) => unreachable_daemon(CHECK, &failure),
    }
}

fn unreachable_daemon(check: &'static str, failure: &Failure) -> Finding {
    let advice = failure.advice().unwrap_or("End the process `stewardd`, then try again.");
    Finding::fail(check, failure.message(), advice)
}
