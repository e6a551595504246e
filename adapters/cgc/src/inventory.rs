//! The one question that tells what a graph holds of a workspace, and its answer.
//!
//! It must never take a truncated or garbled answer for a smaller graph.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use steward_ports::{Backend, GraphCounts, Inventory};

/// What cgc prints is run through a renderer for markup: `[red]` vanishes, an unclosed `[a` swallows what follows and
/// `:smile:` becomes a picture (cgc 0.6.13). So the three characters are percent-encoded before they leave the database.
const ENCODED: [(&str, &str); 3] = [("%", "%25"), ("[", "%5B"), (":", "%3A")];

/// Returns the Cypher query for the graph of the workspace `root`.
///
/// Where the backend has a hash function, the answer also digests the symbols and the relationships that begin here: a
/// foreign change that keeps every count, such as a renamed function, shows in nothing else.
///
/// Files are found by their path, as cgc's own reconcile finds them, so that a node left over without an edge to its
/// repository is seen too. The embedded backends have only regular expressions to replace with, the servers only
/// plain text.
pub(crate) fn query(root: &Path, backend: &Backend) -> String {
    let root = String::from_utf8_lossy(root.as_os_str().as_bytes());
    let repository = literal(&root);
    let below = literal(&format!("{}/", root.trim_end_matches('/')));
    let paths = encoded("f.path", backend);
    let indexed_at = encoded("r.indexed_at", backend);
    let none = "'' AS indexed_at, '' AS commit_hash, '' AS digest";
    let count = |kind: &str, label: &str| {
        format!(
            "MATCH (n:{label}) WHERE n.path STARTS WITH {below} \
             RETURN '{kind}' AS kind, count(n) AS number, {none}, [''] AS paths"
        )
    };
    let mut parts = vec![
        format!(
            "MATCH (r:Repository) WHERE r.path = {repository} RETURN 'repository' AS kind, 1 AS number, \
             {indexed_at} AS indexed_at, r.commit_hash AS commit_hash, '' AS digest, [''] AS paths"
        ),
        format!(
            "MATCH (f:File) WHERE f.path STARTS WITH {below} \
             RETURN 'files' AS kind, count(f) AS number, {none}, collect({paths}) AS paths"
        ),
        count("functions", "Function"),
        count("classes", "Class"),
    ];
    match backend {
        Backend::Kuzu | Backend::Ladybug | Backend::Unknown => parts.extend(digests(&below)),
        Backend::FalkorLite | Backend::FalkorRemote | Backend::Neo4j => {}
    }
    parts.join(" UNION ALL ")
}

/// The embedded backends hash a node itself by its place in the database alone, so the properties that a fresh index
/// would write are spelled out. `concat` takes what is not there for nothing (kuzu 0.11).
fn digests(below: &str) -> [String; 2] {
    let digest = |kind: &str, pattern: &str, properties: &[String]| {
        format!(
            "MATCH {pattern} WHERE n.path STARTS WITH {below} RETURN '{kind}' AS kind, count(*) AS number, \
             '' AS indexed_at, '' AS commit_hash, CAST(sum(hash(concat({}))) AS STRING) AS digest, [''] AS paths",
            properties.join(", '|', ")
        )
    };
    let place = |node: &str| {
        [
            format!("label({node})"),
            format!("{node}.path"),
            format!("{node}.name"),
            format!("CAST({node}.line_number AS STRING)"),
        ]
    };
    let symbol = [place("n").as_slice(), &["CAST(n.end_line AS STRING)".to_owned(), "n.source".to_owned()]].concat();
    let relationship = [["label(r)".to_owned()].as_slice(), &place("n"), &place("m")].concat();
    [digest("symbols", "(n)", &symbol), digest("relationships", "(n)-[r]->(m)", &relationship)]
}

/// Reads the answer out of what cgc printed. `None` in the `Ok` means that the graph does not know the workspace; an
/// error is one line about what is wrong with the answer.
pub(crate) fn parse(printed: &str, root: &Path) -> Result<Option<Inventory>, String> {
    let start =
        if printed.starts_with('[') { 0 } else { printed.find("\n[").ok_or("cgc printed no answer to a query")? + 1 };
    let rows: Vec<Row> = serde_json::from_str(printed[start..].trim_end())
        .map_err(|error| format!("cgc's answer to a query cannot be read: {error}"))?;
    let mut inventory = Inventory::default();
    let mut is_known = false;
    let mut digests = Vec::new();
    for row in rows {
        match row.kind {
            Kind::Repository => {
                is_known = true;
                inventory.indexed_at = row.indexed_at.map(|text| decode(&text));
                inventory.commit = row.commit_hash;
            }
            Kind::Files => {
                inventory.counts.files = row.number;
                inventory.files = row.paths.iter().map(|path| relative(path, root)).collect::<Result<_, _>>()?;
            }
            Kind::Functions => inventory.counts.functions = row.number,
            Kind::Classes => inventory.counts.classes = row.number,
            Kind::Symbols | Kind::Relationships => digests.push(row.digest),
        }
    }
    let GraphCounts { files, .. } = inventory.counts;
    if files != inventory.files.len() as u64 {
        return Err(format!("cgc's answer counts {files} files and names {}", inventory.files.len()));
    }
    inventory.files.sort();
    inventory.digest = (!digests.is_empty()).then(|| digests.join("/"));
    Ok(is_known.then_some(inventory))
}

#[derive(Debug, Deserialize)]
struct Row {
    kind: Kind,
    number: u64,
    indexed_at: Option<String>,
    commit_hash: Option<String>,
    digest: String,
    paths: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Repository,
    Files,
    Functions,
    Classes,
    Symbols,
    Relationships,
}

fn relative(encoded: &str, root: &Path) -> Result<PathBuf, String> {
    let path = PathBuf::from(decode(encoded));
    match path.strip_prefix(root) {
        Ok(relative) => Ok(relative.to_path_buf()),
        Err(_) => Err(format!("cgc's answer names {}, which was not asked for", path.display())),
    }
}

fn encoded(expression: &str, backend: &Backend) -> String {
    ENCODED.iter().fold(expression.to_owned(), |inner, (plain, code)| match backend {
        Backend::Kuzu | Backend::Ladybug | Backend::Unknown => {
            format!("regexp_replace({inner}, '[{plain}]', '{code}', 'g')")
        }
        Backend::FalkorLite | Backend::FalkorRemote | Backend::Neo4j => {
            format!("replace({inner}, '{plain}', '{code}')")
        }
    })
}

fn decode(text: &str) -> String {
    ENCODED.iter().rev().fold(text.to_owned(), |text, (plain, code)| text.replace(code, plain))
}

/// Writes a Cypher string. cgc reads a query for words that write before it runs it, but not inside strings.
fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ANSWER: &str = r#"Resolving context...
Initializing services and database connection...
Services initialized.
[
  {
    "kind": "repository",
    "number": 1,
    "indexed_at": "2026-12-01T00%3A37%3A27.569569+00%3A00",
    "commit_hash": null,
    "digest": "",
    "paths": [
      ""
    ]
  },
  {
    "kind": "files",
    "number": 3,
    "indexed_at": "",
    "commit_hash": "",
    "digest": "",
    "paths": [
      "/tmp/r1/sub dir/%5Bred]c.py",
      "/tmp/r1/b%5Bx].py",
      "/tmp/r1/\u00fcn\u00ef%3A100%25.py"
    ]
  },
  {
    "kind": "functions",
    "number": 9,
    "indexed_at": "",
    "commit_hash": "",
    "digest": "",
    "paths": [
      ""
    ]
  },
  {
    "kind": "symbols",
    "number": 12,
    "indexed_at": "",
    "commit_hash": "",
    "digest": "100284296600843491572",
    "paths": [
      ""
    ]
  },
  {
    "kind": "relationships",
    "number": 12,
    "indexed_at": "",
    "commit_hash": "",
    "digest": "133162227896155665379",
    "paths": [
      ""
    ]
  }
]
"#;

    #[test]
    fn an_answer_is_read_with_every_name_as_it_is_on_disk() {
        let inventory = parse(ANSWER, Path::new("/tmp/r1")).unwrap().unwrap();

        assert_eq!(
            inventory,
            Inventory {
                files: ["b[x].py", "sub dir/[red]c.py", "ünï:100%.py"].map(PathBuf::from).to_vec(),
                counts: GraphCounts { files: 3, functions: 9, classes: 0 },
                indexed_at: Some("2026-12-01T00:37:27.569569+00:00".into()),
                commit: None,
                digest: Some("100284296600843491572/133162227896155665379".into()),
            }
        );
    }

    #[test]
    fn an_answer_without_the_repository_means_that_it_is_not_known() {
        assert_eq!(parse("Services initialized.\n[]\n", Path::new("/tmp/r1")), Ok(None));
    }

    #[test]
    fn a_cut_answer_is_an_error_wherever_it_is_cut() {
        let whole = ANSWER.trim_end();
        let start = whole.find("\n[").unwrap() + 1;

        for (end, _) in whole.char_indices().filter(|(end, _)| *end > start) {
            assert!(parse(&whole[..end], Path::new("/tmp/r1")).is_err(), "cut at {end}");
        }
    }

    #[test]
    fn files_that_were_not_asked_for_are_an_error() {
        assert!(parse(ANSWER, Path::new("/tmp/r2")).is_err());
    }

    #[test]
    fn a_path_is_quoted_as_a_string() {
        let query = query(Path::new(r"/w/it's a \ path"), &Backend::Kuzu);

        assert!(query.contains(r"r.path = '/w/it\'s a \\ path'"), "{query}");
        assert!(query.contains(r"STARTS WITH '/w/it\'s a \\ path/'"), "{query}");
    }

    proptest! {
        #[test]
        fn what_the_database_encodes_is_decoded_to_the_same(text in "[%\\[:25BA3a/]{0,24}") {
            let encoded = ENCODED.iter().fold(text.clone(), |text, (plain, code)| text.replace(plain, code));

            prop_assert!(!encoded.contains('['));
            prop_assert_eq!(decode(&encoded), text);
        }
    }
}
