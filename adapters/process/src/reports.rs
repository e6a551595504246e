//! Reading what a guard reports.
//!
//! It must never lose a report, neither by a dropped future nor by the guard's death.

use std::io;
use std::sync::Arc;

use steward_guard::Report;
use tokio::net::UnixStream;

/// The reports of one guard, in order.
#[derive(Debug)]
pub(crate) struct Reports {
    lifeline: Arc<UnixStream>,
    buffer: Vec<u8>,
    has_ended: bool,
}

impl Reports {
    /// Reads from the daemon's end of the socket pair.
    pub(crate) const fn new(lifeline: Arc<UnixStream>) -> Self {
        Self { lifeline, buffer: Vec::new(), has_ended: false }
    }

    /// Returns the next report, `None` once the guard has closed its end. Dropping the future loses nothing.
    pub(crate) async fn next(&mut self) -> io::Result<Option<Report>> {
        loop {
            if let Some(report) = self.next_buffered() {
                return Ok(Some(report));
            }
            if self.has_ended {
                return Ok(None);
            }
            self.lifeline.readable().await?;
            self.fill()?;
        }
    }

    /// Whether the guard has closed its end; there may still be reports to fetch.
    pub(crate) const fn has_ended(&self) -> bool {
        self.has_ended
    }

    fn next_buffered(&mut self) -> Option<Report> {
        while let Some((bytes, rest)) = self.buffer.split_first_chunk() {
            let report = Report::decode(*bytes);
            self.buffer = rest.to_vec();
            if report.is_some() {
                return report;
            }
        }
        None
    }

    fn fill(&mut self) -> io::Result<()> {
        let mut bytes = [0; 8 * Report::LENGTH];
        match self.lifeline.try_read(&mut bytes) {
            Ok(0) => self.has_ended = true,
            Ok(length) => self.buffer.extend_from_slice(&bytes[..length]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            // A guard that was killed with a request unread.
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => self.has_ended = true,
            Err(error) => return Err(error),
        }
        Ok(())
    }
}
