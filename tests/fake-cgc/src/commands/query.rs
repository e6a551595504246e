//! `query`, `list` and `stats`.
//!
//! It must never understand Cypher: it knows the one question that the companion asks, and refuses any other.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::{env, io};

use serde_json::{Value, json};

use super::{Call, open};
use crate::graph::{FileNode, Graph};
use crate::terminal::say;

pub(super) fn query(call: &Call<'_>) -> io::Result<u8> {
    let database = match open(call, &env::current_dir()?)? {
        Ok(database) => database,
        Err(exit) => return Ok(exit),
    };
    let question = call.words.get(1).copied().unwrap_or_default();
    let answer = answer(question, &database.graph);
    database.close()?;
    match answer {
        Some(rows) => {
            say(&serde_json::to_string_pretty(&rows)?);
            Ok(0)
        }
        None => {
            say(&format!(
                "Query Error (RuntimeError):\n  Database message: Parser exception: Invalid input <{question}>"
            ));
            Ok(1)
        }
    }
}

pub(super) fn list(call: &Call<'_>) -> io::Result<u8> {
    let database = match open(call, &env::current_dir()?)? {
        Ok(database) => database,
        Err(exit) => return Ok(exit),
    };
    if database.graph.repositories.is_empty() {
        say("No repositories indexed yet.");
    }
    for path in database.graph.repositories.keys() {
        let name = path.rsplit('/').next().unwrap_or_default();
        say(&format!("│ {name} │ {path} │ Project │"));
    }
    database.close()?;
    Ok(0)
}

pub(super) fn stats(call: &Call<'_>) -> io::Result<u8> {
    let database = match open(call, &env::current_dir()?)? {
        Ok(database) => database,
        Err(exit) => return Ok(exit),
    };
    let root = call.path()?.to_string_lossy().into_owned();
    if database.graph.repositories.contains_key(&root) {
        let (files, functions, classes) = counts(&database.graph, &root);
        say(&format!("📊 Statistics for: {root}\n"));
        for (name, count) in [("Files", files), ("Functions", functions), ("Classes", classes)] {
            say(&format!("│ {name:<16} │ {count:>5} │"));
        }
    } else {
        say(&format!("Repository not found: {root}"));
    }
    database.close()?;
    Ok(0)
}

/// Answers the companion's question about one repository, `None` to anything else.
fn answer(question: &str, graph: &Graph) -> Option<Vec<Value>> {
    const ENCODING: &str = "regexp_replace(regexp_replace(regexp_replace(f.path, '[%]', '%25', 'g'), '[[]', '%5B', 'g'), \
                            '[:]', '%3A', 'g')";
    let asks_for_encoded_paths = question.contains(ENCODING);
    let (_, rest) = question.split_once("r.path = '")?;
    let root = unquoted(rest);
    let is_the_question = asks_for_encoded_paths
        && ["repository", "files", "functions", "classes", "symbols", "relationships"]
            .iter()
            .all(|kind| question.contains(&format!("'{kind}' AS kind")));
    if !is_the_question {
        return None;
    }
    let row = |kind: &str, number: usize, indexed_at: Value, commit: Value, paths: Vec<String>| json!({"kind": kind, "number": number, "indexed_at": indexed_at, "commit_hash": commit, "digest": "", "paths": paths});
    let nothing = || vec![String::new()];
    let mut rows = Vec::new();
    if let Some(repository) = graph.repositories.get(&root) {
        let indexed_at = json!(encoded(&repository.indexed_at));
        rows.push(row("repository", 1, indexed_at, json!(repository.commit), nothing()));
    }
    let (files, functions, classes) = counts(graph, &root);
    // A count of nothing has no row, since the constants beside it are grouped by.
    if files > 0 {
        let paths = graph.files_below(&root).map(|(path, _)| encoded(path)).collect();
        rows.push(row("files", files, json!(""), json!(""), paths));
    }
    for (kind, number) in [("functions", functions), ("classes", classes)] {
        if number > 0 {
            rows.push(row(kind, number, json!(""), json!(""), nothing()));
        }
    }
    let symbols: Vec<_> = graph.files_below(&root).collect();
    // Relationships are not kept, so what depends on the symbols stands for them.
    for kind in ["symbols", "relationships"] {
        if !symbols.is_empty() {
            let mut row = row(kind, symbols.len(), json!(""), json!(""), nothing());
            row["digest"] = json!(digest(&symbols));
            rows.push(row);
        }
    }
    Some(rows)
}

fn digest(symbols: &[(&String, &FileNode)]) -> String {
    let mut hasher = DefaultHasher::new();
    symbols.hash(&mut hasher);
    hasher.finish().to_string()
}

fn counts(graph: &Graph, root: &str) -> (usize, usize, usize) {
    graph.files_below(root).fold((0, 0, 0), |(files, functions, classes), (_, node)| {
        (files + 1, functions + node.function_nodes(), classes + node.classes.len())
    })
}

fn encoded(text: &str) -> String {
    text.replace('%', "%25").replace('[', "%5B").replace(':', "%3A")
}

/// Reads a Cypher string up to its closing quote.
fn unquoted(text: &str) -> String {
    let mut plain = String::new();
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            '\'' => break,
            '\\' => plain.extend(characters.next()),
            _ => plain.push(character),
        }
    }
    plain
}
