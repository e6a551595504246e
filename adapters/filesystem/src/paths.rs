//! Where the companion keeps its state.
//!
//! Responsible for choosing the directory from the environment. It must never create or look at it; `StateDirectory`
//! does, and checks whose it is. The runtime directory with the socket is the business of `adapters/ipc`.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// The name under which the companion keeps files in directories of the user's.
const NAME: &str = "cgc-steward";

/// Returns the state directory: `$XDG_STATE_HOME/cgc-steward`, else `~/.local/state/cgc-steward`.
///
/// As the XDG base directory specification has it, a variable that is empty or a relative path counts as unset. `None`
/// where there is no usable home directory either.
pub fn state_directory(xdg_state_home: Option<&OsStr>, home: Option<&OsStr>) -> Option<PathBuf> {
    let absolute = |value: Option<&OsStr>| value.map(Path::new).filter(|path| path.is_absolute()).map(Path::to_owned);
    absolute(xdg_state_home)
        .or_else(|| Some(absolute(home)?.join(".local/state")))
        .map(|directory| directory.join(NAME))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::chosen(Some("/state"), Some("/home/a"), Some("/state/cgc-steward"))]
    #[case::unset(None, Some("/home/a"), Some("/home/a/.local/state/cgc-steward"))]
    #[case::empty(Some(""), Some("/home/a"), Some("/home/a/.local/state/cgc-steward"))]
    #[case::relative(Some("state"), Some("/home/a"), Some("/home/a/.local/state/cgc-steward"))]
    #[case::nowhere(None, None, None)]
    #[case::homeless(None, Some(""), None)]
    fn the_state_directory_follows_the_environment(
        #[case] xdg_state_home: Option<&str>,
        #[case] home: Option<&str>,
        #[case] expected: Option<&str>,
    ) {
        let found = state_directory(xdg_state_home.map(OsStr::new), home.map(OsStr::new));

        assert_eq!(found.as_deref(), expected.map(Path::new));
    }
}
