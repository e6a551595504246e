//! Framing: a little-endian `u32` length, then that many bytes of JSON.
//!
//! It must never trust the length it reads: a frame over the cap is refused before memory is taken for it.

use std::io::{Read, Write};

use serde::Serialize;
use serde::de::DeserializeOwned;
use thiserror::Error;

/// The largest frame, in bytes, in either direction.
pub const MAXIMUM_FRAME: usize = 1 << 20;

/// Why a frame could not be read or written.
#[derive(Debug, Error)]
pub enum FrameError {
    /// The peer sent or would be sent more than the cap.
    #[error("frame of {length} bytes is over the limit of {MAXIMUM_FRAME}")]
    TooLarge {
        /// The announced length in bytes.
        length: usize,
    },
    /// The content is not the message that was expected.
    #[error("frame is no valid message")]
    Malformed(#[source] serde_json::Error),
    /// The connection broke, ended or timed out.
    #[error("connection failed")]
    Connection(#[source] std::io::Error),
}

/// Returns `message` as one frame, length included.
pub fn encode<T: Serialize>(message: &T) -> Result<Vec<u8>, FrameError> {
    let mut frame = vec![0; 4];
    serde_json::to_writer(&mut frame, message).map_err(FrameError::Malformed)?;
    let length = frame.len() - 4;
    match u32::try_from(length) {
        Ok(prefix) if length <= MAXIMUM_FRAME => frame[..4].copy_from_slice(&prefix.to_le_bytes()),
        Ok(_) | Err(_) => return Err(FrameError::TooLarge { length }),
    }
    Ok(frame)
}

/// Returns the message in `body`, a frame without its length.
pub fn decode<T: DeserializeOwned>(body: &[u8]) -> Result<T, FrameError> {
    serde_json::from_slice(body).map_err(FrameError::Malformed)
}

/// Writes `message` as one frame.
pub fn write_frame<T: Serialize>(writer: &mut impl Write, message: &T) -> Result<(), FrameError> {
    writer.write_all(&encode(message)?).map_err(FrameError::Connection)
}

/// Reads one frame.
pub fn read_frame<T: DeserializeOwned>(reader: &mut impl Read) -> Result<T, FrameError> {
    let mut prefix = [0; 4];
    reader.read_exact(&mut prefix).map_err(FrameError::Connection)?;
    let length = body_length(prefix)?;
    let mut body = vec![0; length];
    reader.read_exact(&mut body).map_err(FrameError::Connection)?;
    decode(&body)
}

/// Returns the length of the body that `prefix` announces.
pub fn body_length(prefix: [u8; 4]) -> Result<usize, FrameError> {
    let length = usize::try_from(u32::from_le_bytes(prefix)).unwrap_or(usize::MAX);
    if length > MAXIMUM_FRAME {
        return Err(FrameError::TooLarge { length });
    }
    Ok(length)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_written_is_read_back(text in ".{0,400}") {
            let mut buffer = Vec::new();
            write_frame(&mut buffer, &text).unwrap();
            prop_assert_eq!(read_frame::<String>(&mut buffer.as_slice()).unwrap(), text);
        }

        #[test]
        fn any_bytes_are_refused_or_read_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = read_frame::<crate::Envelope>(&mut bytes.as_slice()).is_ok();
        }
    }

    #[test]
    fn an_announced_length_over_the_cap_is_refused_before_it_is_read() {
        let bytes = u32::MAX.to_le_bytes();

        let result = read_frame::<String>(&mut bytes.as_slice());

        assert!(matches!(result, Err(FrameError::TooLarge { length }) if length == 4_294_967_295));
    }

    #[test]
    fn a_message_over_the_cap_is_not_sent() {
        let result = encode(&"x".repeat(MAXIMUM_FRAME));

        assert!(matches!(result, Err(FrameError::TooLarge { .. })));
    }
}
