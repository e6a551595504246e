//! Times a drift scan: `drift_scan DIRECTORY [ROUNDS]` takes the manifest of a tree and compares the tree with it again
//! and again. It prints the files, the time of the first scan, and the fastest and median comparison in milliseconds.
//!
//! It must never write into the tree.
#![expect(clippy::print_stdout, reason = "an example talks to the terminal")]

use std::error::Error;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use steward_filesystem::SystemFileSystem;
use steward_ports::{Exclusions, FileSystem};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1);
    let root = PathBuf::from(arguments.next().ok_or("which directory?")?).canonicalize()?;
    let rounds = match arguments.next() {
        Some(rounds) => rounds.to_string_lossy().parse()?,
        None => 11_usize,
    };
    tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
        let exclusions = Exclusions::default();
        let start = Instant::now();
        let baseline = SystemFileSystem.scan(&root, &exclusions, None).await?;
        println!("files {}", baseline.entries.len());
        println!("scan {}", milliseconds(start.elapsed()));
        let mut times = Vec::new();
        for _ in 0..rounds.max(1) {
            let start = Instant::now();
            let comparison = SystemFileSystem.compare(&root, &exclusions, &baseline).await?;
            times.push(start.elapsed());
            if !comparison.difference.is_empty() {
                println!("differences {}", comparison.difference.len());
            }
        }
        times.sort();
        println!("compare-fastest {}", milliseconds(times[0]));
        println!("compare-median {}", milliseconds(times[times.len() / 2]));
        Ok(())
    })
}

fn milliseconds(duration: Duration) -> String {
    format!("{:.1}", duration.as_secs_f64() * 1000.0)
}
