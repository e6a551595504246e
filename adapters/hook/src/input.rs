//! The payload on standard input.
//!
//! It must never stop reading before the end: a payload holds whole files, and a harness that is still writing when its
//! hook is gone sees a broken pipe.

use std::io;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use thiserror::Error;

/// The largest payload that is looked at, in bytes.
const LIMIT: usize = 64 << 20;
/// How long the harness may take to write its payload. A harness writes at once; this is for one that forgets to end.
const PATIENCE: Duration = Duration::from_secs(5);
/// How much is read at a time, in bytes.
const CHUNK: usize = 64 << 10;

/// Why there is no payload.
#[derive(Debug, Error)]
pub(crate) enum InputError {
    /// It is larger than what is looked at. It was read to its end.
    #[error("the payload has more than {LIMIT} bytes")]
    TooLarge,
    /// The harness did not end it.
    #[error("the payload did not end within {} s", PATIENCE.as_secs())]
    Endless,
    /// It cannot be read.
    #[error("standard input cannot be read")]
    Unreadable(#[source] io::Error),
}

/// Reads `descriptor` to its end.
pub(crate) fn read_payload(descriptor: impl AsFd) -> Result<Vec<u8>, InputError> {
    read_bounded(descriptor, LIMIT, Instant::now() + PATIENCE)
}

fn read_bounded(descriptor: impl AsFd, limit: usize, deadline: Instant) -> Result<Vec<u8>, InputError> {
    let mut payload = Vec::new();
    let mut is_too_large = false;
    let mut chunk = vec![0; CHUNK];
    loop {
        wait_readable(&descriptor, deadline)?;
        match rustix::io::read(&descriptor, &mut chunk) {
            Ok(0) if is_too_large => return Err(InputError::TooLarge),
            Ok(0) => return Ok(payload),
            Ok(count) if is_too_large || payload.len() + count > limit => {
                is_too_large = true;
                payload = Vec::new();
            }
            Ok(count) => payload.extend_from_slice(chunk.get(..count).unwrap_or_default()),
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(errno) => return Err(InputError::Unreadable(errno.into())),
        }
    }
}

fn wait_readable(descriptor: &impl AsFd, deadline: Instant) -> Result<(), InputError> {
    let remaining = deadline.saturating_duration_since(Instant::now());
    let timeout = Timespec::try_from(remaining).map_err(|_| InputError::Endless)?;
    match poll(&mut [PollFd::new(descriptor, PollFlags::IN)], Some(&timeout)) {
        Ok(0) => Err(InputError::Endless),
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(errno) => Err(InputError::Unreadable(errno.into())),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::thread;

    use super::*;

    fn later() -> Instant {
        Instant::now() + Duration::from_mins(1)
    }

    #[test]
    fn a_payload_is_read_to_its_end() {
        let (reader, mut writer) = io::pipe().unwrap();
        let content = vec![b'x'; 3 * CHUNK + 1];
        let expected = content.clone();
        let writing = thread::spawn(move || writer.write_all(&content));

        let payload = read_bounded(&reader, LIMIT, later()).unwrap();

        assert_eq!(payload, expected);
        writing.join().unwrap().unwrap();
    }

    #[test]
    fn a_payload_over_the_limit_is_read_all_the_same_so_that_the_harness_sees_no_broken_pipe() {
        let (reader, mut writer) = io::pipe().unwrap();
        let writing = thread::spawn(move || writer.write_all(&vec![b'x'; 5 * CHUNK]));

        let result = read_bounded(&reader, CHUNK, later());

        assert!(matches!(result, Err(InputError::TooLarge)));
        writing.join().unwrap().unwrap();
    }

    #[test]
    fn a_payload_without_an_end_is_given_up() {
        let (reader, _writer) = io::pipe().unwrap();

        let result = read_bounded(&reader, LIMIT, Instant::now());

        assert!(matches!(result, Err(InputError::Endless)));
    }
}
