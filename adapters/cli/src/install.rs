//! Wiring the companion into Claude Code's user settings, and taking it out again.
//!
//! It must never write a byte that the person has not seen in the diff, nor touch a settings file that it cannot read
//! as strict JSON. Project settings are never written: a repository must not bring hooks of ours along.

mod edit;
mod hooks;
mod json_text;
mod plan;
mod record;
mod settings_file;
#[cfg(test)]
mod tests;

use std::path::Path;

use similar::TextDiff;
use steward_ports::{Answer, Question};

use crate::failure::Failure;
use crate::plain::{plain, shown};
use crate::siblings::sibling;
use crate::surroundings::Surroundings;
use crate::terminal::Terminal;
use hooks::Entry;
pub(crate) use hooks::HOOK_PROGRAM;
use record::{Record, RecordError, RecordFile};
pub(crate) use settings_file::user_settings;
use settings_file::{SettingsFile, SettingsFileError};

/// How far an installation goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Show what would change.
    Show,
    /// Show it, ask, and change it after a yes.
    Ask,
    /// Show it and change it.
    Change,
}

impl Mode {
    /// Reads the flags; `--dry-run` beats `--yes`.
    pub(crate) const fn new(dry_run: bool, yes: bool) -> Self {
        match (dry_run, yes) {
            (true, _) => Self::Show,
            (false, false) => Self::Ask,
            (false, true) => Self::Change,
        }
    }
}

/// Adds the companion's hooks to Claude Code's user settings. A second run changes nothing.
pub(crate) fn install(surroundings: &Surroundings, terminal: &mut Terminal, mode: Mode) -> Result<(), Failure> {
    let program = sibling(surroundings.executable()?, hooks::HOOK_PROGRAM).map_err(|error| {
        Failure::caused_by(&error).with_advice("Put all programs of the companion into one directory, then try again.")
    })?;
    let program = program.to_str().ok_or_else(|| {
        Failure::new(format!("{} cannot be named in JSON, since its path is not UTF-8", program.display()))
    })?;
    let file = read_settings(surroundings)?;
    let record_file = RecordFile::of(&surroundings.state_directory()?, &file.path);
    let record = load_record(&record_file, terminal)?;
    let planned = plan::installation(file.content.as_deref(), record.as_ref(), program)
        .map_err(|error| unedited(&file.path, &error))?;
    warn_where_disabled(&file, terminal);
    let Some(planned) = planned else {
        terminal.say(&format!("{} holds the companion's hooks already; nothing was changed.", shown(&file.path)));
        return Ok(());
    };
    show_change(terminal, &file, Some(&planned.installed));
    let agreed = match mode {
        Mode::Show => return Ok(()),
        Mode::Change => Answer::Yes,
        Mode::Ask => terminal.ask(&Question {
            effect: format!("Claude Code will start {} at each of these events.", plain(program)),
            text: format!("Write this to {}?", shown(&file.path)),
        }),
    };
    match agreed {
        Answer::Yes => {}
        Answer::No => return Err(Failure::new("nothing was changed")),
        Answer::Unasked => {
            return Err(Failure::new("nothing was changed, since there is no terminal to ask on")
                .with_advice("Add --yes if you agree to this change."));
        }
    }
    let created_directory = file.create_directory().map_err(|error| Failure::caused_by(&error))?;
    // The record comes first: without it the original bytes would be lost, and a record too many does no harm.
    record_file
        .save(&Record {
            settings: file.path.clone(),
            original: planned.original,
            installed: planned.installed.clone(),
            kept: planned.kept,
            created_directory: created_directory || record.is_some_and(|record| record.created_directory),
        })
        .map_err(|error| Failure::caused_by(&error))?;
    replace(&file, Some(&planned.installed))?;
    terminal.say(&format!(
        "Wrote {}. Claude Code reads it at once; `steward uninstall claude-code` takes it back.",
        shown(&file.path)
    ));
    Ok(())
}

/// Takes the companion's hooks out of Claude Code's user settings, which get every original byte back where nobody
/// changed them since.
pub(crate) fn uninstall(surroundings: &Surroundings, terminal: &mut Terminal, dry_run: bool) -> Result<(), Failure> {
    let file = read_settings(surroundings)?;
    let record_file = RecordFile::of(&surroundings.state_directory()?, &file.path);
    let record = load_record(&record_file, terminal)?;
    let planned =
        plan::removal(file.content.as_deref(), record.as_ref()).map_err(|error| unedited(&file.path, &error))?;
    let Some(planned) = planned else {
        terminal.say(&format!("{} holds no hooks of the companion; nothing was changed.", shown(&file.path)));
        return if dry_run { Ok(()) } else { forget(&record_file) };
    };
    show_change(terminal, &file, planned.restored.as_deref());
    if dry_run {
        return Ok(());
    }
    replace(&file, planned.restored.as_deref())?;
    if planned.restored.is_none() && record.is_some_and(|record| record.created_directory) {
        file.remove_directory().map_err(|error| Failure::caused_by(&error))?;
    }
    forget(&record_file)?;
    terminal.say(&match planned.restored {
        Some(_) => format!("Took the companion's hooks out of {}.", shown(&file.path)),
        None => format!("Removed {}, which held nothing else.", shown(&file.path)),
    });
    Ok(())
}

/// How a settings file wires the companion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wiring {
    /// The companion's entries, sorted.
    pub(crate) entries: Vec<Entry>,
    /// Whether all hooks are turned off.
    pub(crate) disabled: bool,
}

/// Reads how `settings` wires the companion.
pub(crate) fn wiring(settings: &str) -> Result<Wiring, hooks::HooksError> {
    Ok(Wiring { entries: hooks::entries(settings)?, disabled: hooks::are_disabled(settings)? })
}

/// Returns the entries that this version writes for the hook program beside `executable`.
pub(crate) fn wanted(executable: &Path) -> Vec<Entry> {
    hooks::wanted(&executable.with_file_name(HOOK_PROGRAM).to_string_lossy())
}

fn read_settings(surroundings: &Surroundings) -> Result<SettingsFile, Failure> {
    user_settings(&surroundings.environment).and_then(|path| SettingsFile::read(&path)).map_err(|error| match error {
        SettingsFileError::Homeless => Failure::caused_by(&error).with_advice("Set HOME or CLAUDE_CONFIG_DIR."),
        SettingsFileError::Refused { .. } | SettingsFileError::Unusable { .. } | SettingsFileError::Changed { .. } => {
            Failure::caused_by(&error).with_advice("The settings were not touched.")
        }
    })
}

/// A damaged record is told and left behind: undoing then works on the text alone.
fn load_record(record_file: &RecordFile, terminal: &mut Terminal) -> Result<Option<Record>, Failure> {
    match record_file.load() {
        Ok(record) => Ok(record),
        Err(error @ RecordError::Damaged { .. }) => {
            terminal.complain(&format!(
                "{}\nIt is ignored: only the companion's own entries are looked at.",
                Failure::caused_by(&error)
            ));
            Ok(None)
        }
        Err(error @ RecordError::Unusable { .. }) => Err(Failure::caused_by(&error)),
    }
}

fn replace(file: &SettingsFile, content: Option<&str>) -> Result<(), Failure> {
    file.replace(content)
        .map_err(|error| Failure::caused_by(&error).with_advice("The settings were not touched. Try again."))
}

fn forget(record_file: &RecordFile) -> Result<(), Failure> {
    record_file.remove().map_err(|error| Failure::caused_by(&error))
}

fn unedited(path: &Path, error: &hooks::HooksError) -> Failure {
    Failure::new(format!("{}: {}", shown(path), Failure::caused_by(error)))
        .with_advice("The file was not touched. Mend it, then try again.")
}

fn warn_where_disabled(file: &SettingsFile, terminal: &mut Terminal) {
    let disabled = file.content.as_deref().map(hooks::are_disabled);
    if matches!(disabled, Some(Ok(true))) {
        terminal.complain(&format!(
            "{} turns all hooks off (disableAllHooks), so the companion will not be heard",
            shown(&file.path)
        ));
    }
}

fn show_change(terminal: &mut Terminal, file: &SettingsFile, after: Option<&str>) {
    let before = file.content.as_deref().unwrap_or_default();
    let name = shown(&file.path);
    let (old, new) =
        (file.content.as_ref().map_or("/dev/null", |_| name.as_str()), after.map_or("/dev/null", |_| name.as_str()));
    let difference = TextDiff::from_lines(before, after.unwrap_or_default())
        .unified_diff()
        .context_radius(3)
        .header(old, new)
        .to_string();
    terminal.show_difference(&difference);
}
