//! Where the graph is, one row for each fresh home that the real cgc 0.6.13 was run in.

use std::ffi::OsString;
use std::fs;

use rstest::rstest;
use steward_ports::Environment;

use super::*;

/// A home, a repository and an installation, as the real ones are laid out.
struct World {
    directory: tempfile::TempDir,
    environment: Environment,
    packages: Option<Packages>,
}

impl World {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir_all(directory.path().join("home/.codegraphcontext/global/db")).unwrap();
        fs::create_dir_all(directory.path().join("repository")).unwrap();
        let mut world = Self { directory, environment: Environment::default(), packages: None };
        world.install("python3.11", &["kuzu", "ladybug"]);
        world
    }

    fn install(&mut self, python: &str, names: &[&str]) {
        let prefix = self.directory.path().join(python);
        let packages = prefix.join("lib").join(python).join("site-packages");
        for name in names.iter().chain(&["codegraphcontext-0.6.13.dist-info"]) {
            fs::create_dir_all(packages.join(name)).unwrap();
        }
        let script = prefix.join("bin/cgc");
        fs::create_dir_all(script.parent().unwrap()).unwrap();
        fs::write(&script, "").unwrap();
        fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let query = GraphQuery { executable: script, ..self.query() };
        self.packages = crate::installation::find(&query, self.directory.path()).unwrap().packages;
    }

    fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.directory.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn query(&self) -> GraphQuery {
        GraphQuery {
            root: self.directory.path().join("repository"),
            executable: "cgc".into(),
            environment: self.environment.clone(),
        }
    }

    fn resolve(&self) -> GraphLocation {
        resolve(&self.query(), &self.directory.path().join("home"), self.packages.as_ref()).unwrap()
    }

    /// The database, relative to the world.
    fn database(&self, location: &GraphLocation) -> Option<String> {
        let path = location.database.as_ref()?.strip_prefix(self.directory.path()).unwrap();
        Some(path.to_str().unwrap().to_owned())
    }
}

fn variables(pairs: &[(&str, &str)]) -> Environment {
    pairs.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))).collect()
}

const C: &str = "home/.codegraphcontext";
const NAMED: &str = "mode: named\ndefault_context: A\ncontexts: {A: {database: ladybugdb}}\n";

#[rstest]
#[case::nothing(&[], "", "", Backend::Kuzu, "global/db/kuzudb", "cgc's default")]
#[case::environment(
    &[("DEFAULT_DATABASE", "ladybugdb")], "", "",
    Backend::Ladybug, "global/db/ladybugdb", "DEFAULT_DATABASE in the environment"
)]
#[case::database_type_is_only_for_show(
    &[("DATABASE_TYPE", "ladybugdb")], "", "",
    Backend::Kuzu, "global/db/kuzudb", "cgc's default"
)]
#[case::runtime_beats_default(
    &[("CGC_RUNTIME_DB_TYPE", "ladybugdb"), ("DEFAULT_DATABASE", "kuzudb")], "", "",
    Backend::Ladybug, "global/db/ladybugdb", "CGC_RUNTIME_DB_TYPE in the environment"
)]
#[case::file(
    &[], "DEFAULT_DATABASE=ladybugdb\n", "",
    Backend::Ladybug, "global/db/ladybugdb", "DEFAULT_DATABASE in cgc's .env"
)]
#[case::environment_beats_file(
    &[("DEFAULT_DATABASE", "kuzudb")], "DEFAULT_DATABASE=ladybugdb\n", "",
    Backend::Kuzu, "global/db/kuzudb", "DEFAULT_DATABASE in the environment"
)]
#[case::as_doctor_leaves_it(
    &[], "DEFAULT_DATABASE=falkordb\n", "",
    Backend::Kuzu, "global/db/kuzudb", "DEFAULT_DATABASE in cgc's .env"
)]
#[case::host_alone_changes_nothing(
    &[("FALKORDB_HOST", "127.0.0.1")], "", "",
    Backend::Kuzu, "global/db/kuzudb", "cgc's default"
)]
#[case::named_context(&[], "", NAMED, Backend::Ladybug, "contexts/A/db/ladybugdb", "context A")]
#[case::context_beats_file(
    &[], "DEFAULT_DATABASE=kuzudb\n", NAMED,
    Backend::Ladybug, "contexts/A/db/ladybugdb", "context A"
)]
#[case::environment_beats_context_but_not_its_file_name(
    &[("DEFAULT_DATABASE", "kuzudb")], "", NAMED,
    Backend::Kuzu, "contexts/A/db/ladybugdb", "DEFAULT_DATABASE in the environment"
)]
#[case::file_beats_context_once_the_shell_decides(
    &[("DATABASE_TYPE", "x")], "DEFAULT_DATABASE=kuzudb\n", NAMED,
    Backend::Kuzu, "contexts/A/db/ladybugdb", "DEFAULT_DATABASE in cgc's .env"
)]
#[case::unregistered_default(
    &[], "", "mode: named\ndefault_context: nosuch\n",
    Backend::Kuzu, "contexts/nosuch/db/kuzudb", "context nosuch"
)]
#[case::named_without_default(&[], "", "mode: named\n", Backend::Kuzu, "global/db/kuzudb", "cgc's default")]
#[case::broken_settings(&[], "", "mode: [", Backend::Kuzu, "global/db/kuzudb", "cgc's default")]
#[case::empty_stands_for_nothing(
    &[("DEFAULT_DATABASE", "")], "", "",
    Backend::Kuzu, "global/db/kuzudb", "cgc's default"
)]
fn backend_and_file_follow_cgcs_precedence(
    #[case] environment: &[(&str, &str)],
    #[case] dotenv: &str,
    #[case] config: &str,
    #[case] backend: Backend,
    #[case] database: &str,
    #[case] source: &str,
) {
    let mut world = World::new();
    world.environment = variables(environment);
    world.write(&format!("{C}/.env"), dotenv);
    world.write(&format!("{C}/config.yaml"), config);

    let location = world.resolve();

    assert_eq!(location.backend, backend);
    assert_eq!(world.database(&location).unwrap(), format!("{C}/{database}"));
    assert_eq!(location.backend_source, source);
}

#[rstest]
#[case::nothing(&[], None, Backend::Kuzu, "kuzudb")]
#[case::its_own_settings(&[], Some("database: ladybugdb\n"), Backend::Ladybug, "ladybugdb")]
#[case::as_cgc_initialises_it(&[], Some("database: falkordb\n"), Backend::Kuzu, "kuzudb")]
#[case::environment_beats_settings(
    &[("DEFAULT_DATABASE", "kuzudb")], Some("database: ladybugdb\n"), Backend::Kuzu, "ladybugdb"
)]
fn a_repository_with_its_own_graph(
    #[case] environment: &[(&str, &str)],
    #[case] settings: Option<&str>,
    #[case] backend: Backend,
    #[case] leaf: &str,
) {
    let mut world = World::new();
    world.environment = variables(environment);
    world.write(&format!("{C}/config.yaml"), "mode: per-repo\n");
    world.write("repository/.codegraphcontext/.env", "DEFAULT_DATABASE=neo4j\n");
    world.write("repository/.env", "DEFAULT_DATABASE=neo4j\n");
    if let Some(settings) = settings {
        world.write("repository/.codegraphcontext/config.yaml", settings);
    }

    let location = world.resolve();

    assert_eq!(location.mode, ContextMode::PerRepository);
    assert_eq!(location.backend, backend);
    assert_eq!(world.database(&location).unwrap(), format!("repository/.codegraphcontext/db/{leaf}"));
    assert_eq!(
        location.exclusions.ignore_file.unwrap(),
        world.directory.path().join("repository/.codegraphcontext/.cgcignore")
    );
}

#[test]
fn trial_b09_cgcs_own_directory_is_never_taken_for_a_repositorys() {
    let world = World::new();
    world.write("repository/.codegraphcontext/config.yaml", "database: ladybugdb\n");

    let location = world.resolve();

    assert_eq!(location.mode, ContextMode::Global);
    assert_eq!(world.database(&location).unwrap(), format!("{C}/global/db/kuzudb"));
}

#[test]
fn trial_b136_what_a_repository_brings_along_chooses_nothing() {
    let world = World::new();
    for path in ["repository/.env", "repository/.codegraphcontext/.env"] {
        world.write(path, "DEFAULT_DATABASE=neo4j\nNEO4J_URI=bolt://evil\n");
    }
    world.write(
        "repository/mcp.json",
        r#"{"mcpServers": {"CodeGraphContext": {"env": {"DEFAULT_DATABASE": "neo4j"}}}}"#,
    );

    assert_eq!(world.resolve().backend, Backend::Kuzu);
}

#[rstest]
#[case::kuzu_named_ladybug("KUZU\0\0", Backend::Kuzu, Some(Backend::Ladybug), "file magic")]
#[case::as_asked("LBUG\0\0", Backend::Ladybug, None, "DEFAULT_DATABASE in the environment")]
#[case::garbage("garbage", Backend::Ladybug, None, "DEFAULT_DATABASE in the environment")]
fn the_files_magic_beats_every_setting(
    #[case] content: &str,
    #[case] backend: Backend,
    #[case] requested: Option<Backend>,
    #[case] source: &str,
) {
    let mut world = World::new();
    world.environment = variables(&[("DEFAULT_DATABASE", "ladybugdb")]);
    world.write(&format!("{C}/global/db/ladybugdb"), content);

    let location = world.resolve();

    assert_eq!(location.backend, backend);
    assert_eq!(location.requested, requested);
    assert_eq!(location.backend_source, source);
}

#[rstest]
#[case::lite_where_it_works("python3.12", &["kuzu", "redislite"], Backend::FalkorLite, "falkordb")]
#[case::lite_needs_a_newer_python("python3.11", &["kuzu", "redislite"], Backend::Kuzu, "kuzudb")]
#[case::lite_needs_its_package("python3.13", &["kuzu"], Backend::Kuzu, "kuzudb")]
#[case::without_kuzu("python3.11", &["ladybug"], Backend::Ladybug, "ladybugdb")]
fn the_default_depends_on_what_is_installed(
    #[case] python: &str,
    #[case] packages: &[&str],
    #[case] backend: Backend,
    #[case] leaf: &str,
) {
    let mut world = World::new();
    fs::remove_dir_all(world.directory.path().join("python3.11")).unwrap();
    world.install(python, packages);

    let location = world.resolve();

    assert_eq!(location.backend, backend);
    assert_eq!(world.database(&location).unwrap(), format!("{C}/global/db/{leaf}"));
}

#[test]
fn a_silent_fallback_is_told() {
    let mut world = World::new();
    world.environment = variables(&[("DEFAULT_DATABASE", "falkordb")]);

    let location = world.resolve();

    assert_eq!(location.backend, Backend::Kuzu);
    assert_eq!(location.requested, Some(Backend::FalkorLite));
}

#[rstest]
#[case("falkordb-remote", Backend::FalkorRemote)]
#[case("neo4j", Backend::Neo4j)]
#[case("Neo4j", Backend::Neo4j)]
fn a_server_has_no_file(#[case] name: &str, #[case] backend: Backend) {
    let mut world = World::new();
    world.environment = variables(&[("DEFAULT_DATABASE", name)]);

    let location = world.resolve();

    assert_eq!(location.backend, backend);
    assert_eq!(location.database, None);
}

#[test]
fn an_exact_file_beats_every_other_place() {
    let mut world = World::new();
    let file = world.directory.path().join("elsewhere/graph");
    world.environment = variables(&[("CGC_RUNTIME_DB_PATH", file.to_str().unwrap())]);

    let location = world.resolve();

    assert_eq!(location.database, Some(file));
    assert_eq!(location.backend, Backend::Kuzu);
}

#[test]
fn an_older_file_of_falkordb_moves_the_fallback_beside_it() {
    let world = World::new();
    world.write(&format!("{C}/global/falkordb.db"), "REDIS");

    assert_eq!(world.database(&world.resolve()).unwrap(), format!("{C}/global/kuzudb"));
}

#[test]
fn ignored_directories_are_those_that_were_set() {
    let mut world = World::new();
    assert_eq!(world.resolve().exclusions.directories, None);

    world.write(&format!("{C}/.env"), "IGNORE_DIRS=node_modules, Vendor,,\n");
    assert_eq!(world.resolve().exclusions.directories, Some(vec!["node_modules".to_owned(), "Vendor".to_owned()]));

    world.environment = variables(&[("IGNORE_DIRS", "")]);
    assert_eq!(world.resolve().exclusions.directories, Some(vec![]));
}
