//! The words for states, counts and durations, and the way out of each state.
//!
//! It must never promise more than the state says.

use steward_wire::{IndexState, JobVerb, StatusReport};

/// Returns the name of a state, the one that machine-readable output has.
pub(crate) const fn state_name(state: IndexState) -> &'static str {
    match state {
        IndexState::Unknown => "unknown",
        IndexState::Unavailable => "unavailable",
        IndexState::Unindexed => "unindexed",
        IndexState::Incomplete => "incomplete",
        IndexState::Busy => "busy",
        IndexState::Corrupt => "corrupt",
        IndexState::Drift => "drift",
        IndexState::Clean => "clean",
    }
}

/// Returns what a state means.
pub(crate) const fn state_meaning(state: IndexState) -> &'static str {
    match state {
        IndexState::Unknown => "nothing is known yet",
        IndexState::Unavailable => "there is no usable cgc",
        IndexState::Unindexed => "this workspace has no graph",
        IndexState::Incomplete => "the graph is half built",
        IndexState::Busy => "another process holds the database, and nothing else is known",
        IndexState::Corrupt => "the database cannot be opened, or contradicts itself",
        IndexState::Drift => "the graph is behind the working tree, or not known to match it",
        IndexState::Clean => "the graph equals a fresh index of the working tree",
    }
}

/// Returns what can be done about the state, `None` where nothing has to be or work is running already.
pub(crate) fn way_out(report: &StatusReport) -> Option<String> {
    if report.activity.is_some() {
        return None;
    }
    let words = match report.state {
        IndexState::Unknown | IndexState::Clean => return None,
        IndexState::Unavailable => INSTALL_CGC,
        IndexState::Unindexed => "`steward index` creates the graph.",
        IndexState::Incomplete => "`steward index` completes the graph; `steward rebuild` builds it anew.",
        IndexState::Busy => "End the process that holds the database, or wait for it.",
        IndexState::Corrupt => "`steward rebuild` puts a new graph in its place, after you agree.",
        IndexState::Drift => "It is brought up to date when a session starts; `steward sync` does it now.",
    };
    Some(words.to_owned())
}

/// How cgc comes onto a machine.
pub(crate) const INSTALL_CGC: &str = "Install cgc (`pip install codegraphcontext`) and have it on the PATH, or name it \
                                      in the setting cgc.executable.";

/// Returns a job's name as something that goes on.
pub(crate) const fn going_on(verb: JobVerb) -> &'static str {
    match verb {
        JobVerb::Index => "Indexing",
        JobVerb::Rebuild => "Rebuilding",
        JobVerb::Sync => "Syncing",
    }
}

/// Returns how many files are done, where that is known.
pub(crate) fn counted(done: Option<u64>, total: Option<u64>) -> Option<String> {
    match (done, total) {
        (Some(done), Some(total)) => Some(format!("{done} of {total} files")),
        (Some(done), None) => Some(format!("{done} files")),
        (None, Some(_) | None) => None,
    }
}

/// Returns a duration in milliseconds in its largest whole unit.
pub(crate) fn duration(milliseconds: u64) -> String {
    let seconds = milliseconds / 1_000;
    let (count, unit) = match seconds {
        0..60 => (seconds, "second"),
        60..3_600 => (seconds / 60, "minute"),
        3_600..86_400 => (seconds / 3_600, "hour"),
        86_400.. => (seconds / 86_400, "day"),
    };
    format!("{count} {unit}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(999, "0 seconds")]
    #[case(1_000, "1 second")]
    #[case(59_999, "59 seconds")]
    #[case(60_000, "1 minute")]
    #[case(7_200_000, "2 hours")]
    #[case(172_800_000, "2 days")]
    fn a_duration_is_told_in_its_largest_unit(#[case] milliseconds: u64, #[case] words: &str) {
        assert_eq!(duration(milliseconds), words);
    }
}
