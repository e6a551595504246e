//! Which database a call uses, and what cgc leaves in its own directory on the way.
//!
//! It must never know more of cgc's precedence than the companion's pins and the plain modes need.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

use crate::database::Backend;

/// Where a call's graph is.
#[derive(Debug)]
pub(crate) enum Place {
    /// In an embedded database.
    Embedded { path: PathBuf, backend: Backend },
    /// On a server; the stand-in never finds one.
    Server,
}

/// Resolves the place for a call about `directory` with `--context` as given. The error is what cgc says.
pub(crate) fn resolve(directory: &Path, context: Option<&str>) -> io::Result<Result<Place, String>> {
    let cgc = bootstrap()?;
    let name = backend_name();
    if ["falkordb-remote", "neo4j"].contains(&name.as_str()) {
        return Ok(Ok(Place::Server));
    }
    let backend = if name == "ladybugdb" { Backend::Ladybug } else { Backend::Kuzu };
    let settings = fs::read_to_string(cgc.join("config.yaml"))?;
    let folder = if let Some(context) = context {
        if !settings.lines().any(|line| line.trim_start() == format!("{context}:")) {
            return Ok(Err(format!(
                "Error: Context '{context}' is not registered. Create it with: cgc context create {context}"
            )));
        }
        cgc.join("contexts").join(context).join("db")
    } else if settings.lines().any(|line| line == "mode: per-repo") {
        let own = directory.join(".codegraphcontext");
        fs::create_dir_all(own.join("db"))?;
        write_new(&own.join("config.yaml"), &format!("database: {name}\n"))?;
        own.join("db")
    } else {
        cgc.join("global/db")
    };
    let path = match env::var_os("CGC_RUNTIME_DB_PATH").filter(|path| !path.is_empty()) {
        Some(path) => PathBuf::from(path),
        None => folder.join(match backend {
            Backend::Kuzu => "kuzudb",
            Backend::Ladybug => "ladybugdb",
        }),
    };
    Ok(Ok(Place::Embedded { path, backend }))
}

/// The directory in which cgc keeps the user's settings.
pub(crate) fn cgc_directory() -> PathBuf {
    PathBuf::from(env::var_os("HOME").unwrap_or_else(|| "/".into())).join(".codegraphcontext")
}

/// Returns the lines that every command begins with on stderr.
pub(crate) fn banner() -> Vec<String> {
    let settings = cgc_directory().join(".env");
    let first = if settings.exists() {
        format!("Loaded configuration from: {}", settings.display())
    } else {
        "No configuration file found. Using defaults.".to_owned()
    };
    let source = if env::var_os("CGC_RUNTIME_DB_TYPE").is_some() {
        "runtime-env (CGC_RUNTIME_DB_TYPE)"
    } else if env::var_os("DEFAULT_DATABASE").is_some() {
        "environment (DEFAULT_DATABASE)"
    } else {
        "auto-detect"
    };
    vec![first, format!("Using database: {} (source: {source})", backend_name())]
}

/// Writes what even `--version` writes, and the rest of a first run.
fn bootstrap() -> io::Result<PathBuf> {
    let cgc = cgc_directory();
    fs::create_dir_all(cgc.join("logs"))?;
    fs::create_dir_all(cgc.join("global"))?;
    write_new(&cgc.join("config.yaml"), "version: 1\nmode: global\ndefault_context: ''\ncontexts: {}\n")?;
    write_new(&cgc.join("global/.cgcignore"), crate::tree::DEFAULT_IGNORE_FILE)?;
    write_new(&cgc.join(".first_run_done"), "1")?;
    Ok(cgc)
}

/// Writes a file unless there is one.
pub(crate) fn write_new(path: &Path, content: &str) -> io::Result<()> {
    if path.exists() { Ok(()) } else { fs::write(path, content) }
}

fn backend_name() -> String {
    let set = |name| env::var(name).ok().filter(|value: &String| !value.is_empty());
    set("CGC_RUNTIME_DB_TYPE")
        .or_else(|| set("DEFAULT_DATABASE"))
        .map_or_else(|| "kuzudb".to_owned(), |name| name.to_lowercase())
}
