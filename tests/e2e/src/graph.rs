//! What a graph holds, asked of the real cgc, as lines by which two graphs are compared.
//!
//! It must never read a database file: cgc says what is in it.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::world::World;

/// The whole of it in one question, since each start of cgc costs a second. Edges are distinct: cgc 0.6.13 stores a call
/// once for each place that calls.
const QUESTION: &str = "\
MATCH (n:File) WHERE n.path STARTS WITH $root \
RETURN 'file' AS kind, n.path AS path, '' AS name, '' AS other, '' AS target \
UNION ALL MATCH (n:Function) WHERE n.path STARTS WITH $root \
RETURN 'function' AS kind, n.path AS path, n.name AS name, '' AS other, '' AS target \
UNION ALL MATCH (n:Class) WHERE n.path STARTS WITH $root \
RETURN 'class' AS kind, n.path AS path, n.name AS name, '' AS other, '' AS target \
UNION ALL MATCH (a)-[:CALLS]->(b) WHERE a.path STARTS WITH $root \
RETURN DISTINCT 'call' AS kind, a.path AS path, a.name AS name, b.path AS other, b.name AS target \
UNION ALL MATCH (a)-[:INHERITS]->(b) WHERE a.path STARTS WITH $root \
RETURN DISTINCT 'base' AS kind, a.path AS path, a.name AS name, b.path AS other, b.name AS target";

impl World {
    /// What the graph holds of the workspace at `root`, sorted: `file a.py`, `function a.py one`,
    /// `call a.py two -> a.py one` and so on. The database has to be free.
    ///
    /// Left out is the function `<module>`, which cgc 0.6.13 adds to each file for the code outside of functions.
    #[track_caller]
    pub fn graph(&self, root: &Path) -> Vec<String> {
        self.graph_in(root, &self.home())
    }

    /// What the graph of a fresh index of the same working tree holds, made by cgc alone in a home of its own.
    #[track_caller]
    pub fn fresh_graph(&self, root: &Path) -> Vec<String> {
        let home = self.scratch().directory("fresh-home").unwrap();
        let output = Command::new(self.cgc().executable().unwrap())
            .args(["index", "--no-progress"])
            .arg(root)
            .current_dir(root)
            .env_clear()
            .envs(self.environment())
            .env("HOME", &home)
            .env("DEFAULT_DATABASE", "kuzudb")
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let stdout = String::from_utf8_lossy(&output.stdout);
        assert!(stdout.contains("Successfully finished indexing"), "{stdout}");
        self.graph_in(root, &home)
    }

    #[track_caller]
    fn graph_in(&self, root: &Path, home: &Path) -> Vec<String> {
        let root = format!("{}/", root.display());
        let question = QUESTION.replace("$root", &format!("'{root}'"));
        let mut environment = self.environment().clone();
        environment.insert(OsString::from("HOME"), home.into());
        let rows = self.cgc().query(Path::new("/"), &environment, &question);
        let is_made_up = |row: &&Value| row["kind"] == "function" && row["name"] == "<module>";
        let mut lines: Vec<String> = rows.iter().filter(|row| !is_made_up(row)).map(|row| line(row, &root)).collect();
        lines.sort_unstable();
        lines
    }
}

fn line(row: &Value, root: &str) -> String {
    let text = |key: &str| row[key].as_str().unwrap_or_default().to_owned();
    let path = |key: &str| {
        let path = text(key);
        path.strip_prefix(root).unwrap_or(&path).to_owned()
    };
    let source = format!("{} {} {}", text("kind"), path("path"), text("name"));
    match text("target").as_str() {
        "" => source.trim_end().to_owned(),
        target => format!("{source} -> {} {target}", path("other")),
    }
}
