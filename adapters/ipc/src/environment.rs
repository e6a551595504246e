//! Which variables of a session's environment are handed to the daemon.
//!
//! It must never hand over a variable that cgc has no use for: a session's environment holds the user's secrets.

use std::collections::BTreeMap;
use std::ffi::OsString;

/// Variables that decide where programs, files and languages are found.
const NAMES: &[&str] = &[
    "DATABASE_TYPE",
    "DEFAULT_DATABASE",
    "HOME",
    "IGNORE_DIRS",
    "LANG",
    "LD_LIBRARY_PATH",
    "LOGNAME",
    "PARALLEL_WORKERS",
    "PATH",
    "PYTHONHOME",
    "PYTHONPATH",
    "REDACT_SECRETS",
    "SHELL",
    "TMPDIR",
    "TZ",
    "USER",
    "VIRTUAL_ENV",
];

/// Beginnings of names that belong to cgc, to its databases and grammars, or to Python and its installers.
const PREFIXES: &[&str] = &[
    "CGC_",
    "ENABLE_",
    "FALKORDB_",
    "INDEX_",
    "KUZUDB_",
    "LADYBUGDB_",
    "LC_",
    "NEO4J_",
    "PYENV_",
    "SCIP_",
    "SSL_CERT_",
    "STEWARD_",
    "TREE_SITTER_",
    "UV_",
    "XDG_",
];

/// Returns the variables of `variables` that are handed over. What is not UTF-8 cannot be and is left out.
pub fn forwarded(variables: impl IntoIterator<Item = (OsString, OsString)>) -> BTreeMap<String, String> {
    variables
        .into_iter()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .filter(|(name, _)| is_forwarded(name))
        .collect()
}

fn is_forwarded(name: &str) -> bool {
    NAMES.contains(&name) || (PREFIXES.iter().any(|prefix| name.starts_with(prefix)) && !is_secret(name))
}

/// Whether a variable holds a secret that cgc does not need, such as uv's for its registries. The databases' passwords
/// are needed.
fn is_secret(name: &str) -> bool {
    let is_of_a_database = ["FALKORDB_", "NEO4J_"].iter().any(|prefix| name.starts_with(prefix));
    let says_so = ["_API_KEY", "_CREDENTIALS", "_PASSWORD", "_SECRET", "_TOKEN"].iter().any(|end| name.ends_with(end));
    says_so && !is_of_a_database
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("PATH", true)]
    #[case("DEFAULT_DATABASE", true)]
    #[case("CGC_RUNTIME_DB_PATH", true)]
    #[case("FALKORDB_PASSWORD", true)]
    #[case("NEO4J_PASSWORD", true)]
    #[case("UV_CACHE_DIR", true)]
    #[case("UV_PUBLISH_TOKEN", false)]
    #[case("UV_INDEX_PRIVATE_PASSWORD", false)]
    #[case("CGC_OPENAI_API_KEY", false)]
    #[case("CGC_OUTPUT_REDACT_SECRETS", true)]
    #[case("ANTHROPIC_API_KEY", false)]
    #[case("AWS_SECRET_ACCESS_KEY", false)]
    #[case("PATHOLOGY", false)]
    fn only_what_cgc_may_need_is_handed_over(#[case] name: &str, #[case] handed_over: bool) {
        let variables = [(OsString::from(name), OsString::from("value"))];

        assert_eq!(forwarded(variables).contains_key(name), handed_over);
    }
}
