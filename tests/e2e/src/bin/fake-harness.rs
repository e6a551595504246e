//! A stand-in for a harness process: it runs hooks as a harness does and is itself what sessions are keyed by.
//!
//! It decides nothing. It ends when its stdin does, so that it never outlives the test that started it.

use std::io::{self, BufReader, Read, Write as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::Instant;

use steward_e2e::exchange::{self, Order, Outcome};

fn main() -> io::Result<()> {
    let mut input = BufReader::new(io::stdin().lock());
    let mut output = io::stdout().lock();
    while let Some(order) = exchange::read_line::<Order>(&mut input)? {
        let bytes = exchange::read_bytes(&mut input, order.input)?;
        let begun = Instant::now();
        let ended = run(&order, &bytes);
        let microseconds = u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX);
        let (outcome, ended) = match ended {
            Ok(ended) => (Outcome { microseconds, ..ended.outcome() }, ended),
            Err(error) => {
                let failure = format!("cannot run {}: {error}", order.program.display());
                let ended = Ended::default();
                (Outcome { failure: Some(failure), ..ended.outcome() }, ended)
            }
        };
        exchange::write(&mut output, &outcome, &[&ended.stdout, &ended.stderr])?;
    }
    Ok(())
}

#[derive(Default)]
struct Ended {
    status: ExitStatus,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
}

impl Ended {
    fn outcome(&self) -> Outcome {
        Outcome {
            code: self.status.code(),
            signal: self.status.signal(),
            microseconds: 0,
            stdout: self.stdout.len(),
            stderr: self.stderr.len(),
            failure: None,
        }
    }
}

/// Runs a program in a group of its own and waits, as harnesses do, until its output has come to an end too.
fn run(order: &Order, bytes: &[u8]) -> io::Result<Ended> {
    let mut child = Command::new(&order.program)
        .args(&order.arguments)
        .current_dir(&order.directory)
        .envs(&order.environment)
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    thread::scope(|scope| {
        let stdout = scope.spawn(|| read_to_end(stdout));
        let stderr = scope.spawn(|| read_to_end(stderr));
        if let Some(mut stdin) = stdin {
            match stdin.write_all(bytes) {
                // A program need not read all of its input.
                Err(error) if error.kind() != io::ErrorKind::BrokenPipe => return Err(error),
                Ok(()) | Err(_) => {}
            }
        }
        let status = child.wait()?;
        let panicked = |_| io::Error::other("a reading thread panicked");
        Ok(Ended { status, stdout: stdout.join().map_err(panicked)??, stderr: stderr.join().map_err(panicked)?? })
    })
}

fn read_to_end(source: Option<impl Read>) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Some(mut source) = source {
        source.read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}
