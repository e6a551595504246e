//! Where cgc keeps the graph of a workspace, and which backend really keeps it.
//!
//! Follows cgc 0.6.13 step by step, since neither its banner nor its file names tell the truth. It must never start cgc
//! to find out, and never follow what a repository brings along (`mcp.json`, `.env`).

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use steward_ports::{Backend, ContextMode, Exclusions, GraphLocation, GraphQuery, GraphToolError};

use crate::database;
use crate::installation::Packages;
use crate::settings::{self, Contexts, Origin, Variables};

/// Returns where the graph of `query.root` is. `packages` tells which backends the installed cgc can use.
pub(crate) fn resolve(
    query: &GraphQuery,
    home: &Path,
    packages: Option<&Packages>,
) -> Result<GraphLocation, GraphToolError> {
    let cgc_directory = settings::directory(home);
    let variables = Variables::read(&query.environment, &cgc_directory)?;
    let contexts = Contexts::read(&cgc_directory)?;
    let place = Place::choose(&contexts, &variables, &query.root, &cgc_directory)?;

    let request = Request::read(&variables, &place);
    let expected = usable_backend(&request.name, packages);
    let database = (!expected.is_server()).then(|| {
        let chosen = match variables.non_empty("CGC_RUNTIME_DB_PATH") {
            Some((path, _)) => PathBuf::from(path),
            None => place.database.clone(),
        };
        query.root.join(fallback_path(&chosen, &request.name, &expected))
    });

    let found = match &database {
        Some(path) => database::backend_of(path)?,
        None => None,
    };
    let asked = request.explicit.then(|| backend_named(&request.name));
    let (backend, backend_source) = match found {
        Some(found) if found != expected => (found, "file magic".to_owned()),
        _ => (expected.clone(), request.source),
    };
    // What was asked for is worth a word where something else is in use, be it by fallback or by an older file.
    let requested = asked.or_else(|| (backend != expected).then_some(expected)).filter(|asked| *asked != backend);
    Ok(GraphLocation {
        backend,
        backend_source,
        requested,
        database,
        context: place.context,
        mode: place.mode,
        exclusions: Exclusions {
            ignore_file: Some(query.root.join(place.ignore_file)),
            directories: ignored_directories(&variables),
        },
    })
}

/// What the context in use says about the graph.
#[derive(Debug)]
struct Place {
    mode: ContextMode,
    context: Option<String>,
    /// The backend that the context names, and how it is called for a person.
    named: Option<(String, String)>,
    /// The database file before any fallback.
    database: PathBuf,
    ignore_file: PathBuf,
}

impl Place {
    fn choose(
        contexts: &Contexts,
        variables: &Variables<'_>,
        root: &Path,
        cgc_directory: &Path,
    ) -> Result<Self, GraphToolError> {
        match contexts.mode {
            ContextMode::PerRepository => Self::in_repository(variables, root),
            ContextMode::Named if !contexts.default.is_empty() => Ok(Self::in_context(contexts, &contexts.default)),
            ContextMode::Named | ContextMode::Global => Ok(Self::for_everything(variables, cgc_directory)),
        }
    }

    fn in_repository(variables: &Variables<'_>, root: &Path) -> Result<Self, GraphToolError> {
        let directory = settings::directory(root);
        let named = settings::repository_database(&directory)?;
        let leaf = named.clone().unwrap_or_else(|| configured_name(variables));
        Ok(Self {
            mode: ContextMode::PerRepository,
            context: None,
            named: named.map(|name| (name, "the repository's config.yaml".to_owned())),
            database: directory.join("db").join(leaf),
            ignore_file: directory.join(".cgcignore"),
        })
    }

    fn in_context(contexts: &Contexts, name: &str) -> Self {
        let context = contexts.named(name);
        Self {
            mode: ContextMode::Named,
            context: Some(name.to_owned()),
            named: Some((context.database, format!("context {name}"))),
            database: context.path,
            ignore_file: context.ignore_file,
        }
    }

    fn for_everything(variables: &Variables<'_>, cgc_directory: &Path) -> Self {
        Self {
            mode: ContextMode::Global,
            context: None,
            named: None,
            database: global_database(variables, cgc_directory),
            ignore_file: cgc_directory.join("global/.cgcignore"),
        }
    }
}

/// The backend that cgc is asked to use.
#[derive(Debug)]
struct Request {
    name: String,
    source: String,
    explicit: bool,
}

impl Request {
    fn read(variables: &Variables<'_>, place: &Place) -> Self {
        let setting = |name: &str, wanted: Option<Origin>| {
            let (value, origin) = variables.non_empty(name)?;
            wanted.is_none_or(|wanted| wanted == origin).then(|| (text(&value), source(name, origin)))
        };
        let context = place.named.clone();
        let file = setting("DEFAULT_DATABASE", Some(Origin::File));
        // cgc lets a context beat its own `.env` unless the shell set one of these, whatever their value.
        let shell_decides = ["DATABASE_TYPE", "DEFAULT_DATABASE"].iter().any(|name| variables.is_in_environment(name));
        let (second, third) = if shell_decides { (file, context) } else { (context, file) };
        let explicit = setting("CGC_RUNTIME_DB_TYPE", None)
            .or_else(|| setting("DEFAULT_DATABASE", Some(Origin::Environment)))
            .or(second)
            .or(third);
        match explicit {
            Some((name, source)) => Self { name, source, explicit: true },
            None => Self {
                name: settings::DEFAULT_DATABASE.to_owned(),
                source: "cgc's default".to_owned(),
                explicit: false,
            },
        }
    }
}

/// Returns the backend that an installed cgc ends up with when `name` is asked for: FalkorDB Lite needs Python 3.12 and
/// a package, and where it cannot be used cgc 0.6.13 silently takes the first embedded one that is installed.
fn usable_backend(name: &str, packages: Option<&Packages>) -> Backend {
    let has = |package| packages.is_none_or(|packages| packages.has(package));
    let embedded = || {
        if has("kuzu") {
            Backend::Kuzu
        } else if has("ladybug") {
            Backend::Ladybug
        } else {
            Backend::Unknown
        }
    };
    match backend_named(name) {
        Backend::Kuzu => embedded(),
        Backend::FalkorLite => {
            let is_usable =
                packages.is_some_and(|packages| packages.python() >= Some((3, 12)) && packages.has("redislite"));
            if is_usable { Backend::FalkorLite } else { embedded() }
        }
        asked @ (Backend::Ladybug | Backend::FalkorRemote | Backend::Neo4j | Backend::Unknown) => asked,
    }
}

fn backend_named(name: &str) -> Backend {
    [Backend::Kuzu, Backend::Ladybug, Backend::FalkorLite, Backend::FalkorRemote, Backend::Neo4j]
        .into_iter()
        .find(|backend| settings::is_word(OsStr::new(name), backend.name()))
        .unwrap_or(Backend::Unknown)
}

/// cgc 0.6.13 never lets another backend open FalkorDB's own file: it takes the file beside it.
fn fallback_path(path: &Path, asked: &str, backend: &Backend) -> PathBuf {
    let is_falkor = path
        .file_name()
        .is_some_and(|name| settings::is_word(name, "falkordb") || settings::is_word(name, "falkordb.db"));
    if is_falkor && backend_named(asked) == Backend::FalkorLite && *backend != Backend::FalkorLite {
        path.with_file_name(backend.name())
    } else {
        path.to_path_buf()
    }
}

fn global_database(variables: &Variables<'_>, cgc_directory: &Path) -> PathBuf {
    let name = configured_name(variables);
    let global = cgc_directory.join("global");
    if name == settings::DEFAULT_DATABASE {
        let custom = variables
            .non_empty("FALKORDB_PATH")
            .map(|(path, _)| PathBuf::from(path))
            .filter(|path| path.starts_with(cgc_directory));
        if let Some(custom) = custom {
            return custom;
        }
        let legacy = global.join("falkordb.db");
        if legacy.exists() {
            return legacy;
        }
    }
    global.join("db").join(name)
}

/// Returns the name after which cgc calls the database file in global mode and in a repository without settings.
fn configured_name(variables: &Variables<'_>) -> String {
    ["CGC_RUNTIME_DB_TYPE", "DEFAULT_DATABASE"]
        .iter()
        .find_map(|name| variables.non_empty(name))
        .map_or_else(|| settings::DEFAULT_DATABASE.to_owned(), |(value, _)| text(&value))
}

fn ignored_directories(variables: &Variables<'_>) -> Option<Vec<String>> {
    let (value, _) = variables.get("IGNORE_DIRS")?;
    Some(text(&value).split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect())
}

fn source(name: &str, origin: Origin) -> String {
    match origin {
        Origin::Environment => format!("{name} in the environment"),
        Origin::File => format!("{name} in cgc's .env"),
    }
}

fn text(value: &OsStr) -> String {
    value.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests;
