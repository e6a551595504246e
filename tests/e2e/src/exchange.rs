//! What a test and its harness process say to each other: a line of JSON, then the bytes that it announces.
//!
//! The bytes travel as they are, so that a hook can be fed what is no text.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Write};
use std::path::PathBuf;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Asks the harness process to run a program and to give it `input` bytes, which follow the line, on its stdin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Its working directory.
    pub directory: PathBuf,
    /// Variables beside those that the harness process has itself.
    pub environment: BTreeMap<String, String>,
    /// How many bytes of input follow.
    pub input: usize,
}

/// How the program ended; `stdout` and then `stderr` bytes of output follow the line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// The exit code; none where a signal ended it.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Microseconds from the start until the program had ended and nothing held its output open any more.
    pub microseconds: u64,
    /// How many bytes of stdout follow.
    pub stdout: usize,
    /// How many bytes of stderr follow.
    pub stderr: usize,
    /// Why the program could not be run, if so.
    pub failure: Option<String>,
}

/// Writes a line and the bytes after it.
pub fn write(writer: &mut impl Write, line: &impl Serialize, bytes: &[&[u8]]) -> io::Result<()> {
    let mut text = serde_json::to_vec(line)?;
    text.push(b'\n');
    writer.write_all(&text)?;
    for bytes in bytes {
        writer.write_all(bytes)?;
    }
    writer.flush()
}

/// Reads a line; none at the end of the stream.
pub fn read_line<T: DeserializeOwned>(reader: &mut impl BufRead) -> io::Result<Option<T>> {
    let mut line = Vec::new();
    if reader.read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    Ok(Some(serde_json::from_slice(&line)?))
}

/// Reads the announced bytes.
pub fn read_bytes(reader: &mut impl BufRead, count: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; count];
    reader.read_exact(&mut bytes)?;
    Ok(bytes)
}
