//! Paths as JSON text that loses nothing.
//!
//! A path need not be UTF-8, JSON has to be. Bytes that are no UTF-8, and the percent sign itself, are written as a
//! percent sign and two hexadecimal digits. It must never guess: text that is no such encoding is refused.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A path, encoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PathText(pub(crate) PathBuf);

impl Serialize for PathText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&encode(&self.0))
    }
}

impl<'de> Deserialize<'de> for PathText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        decode(&text).map(Self).ok_or_else(|| de::Error::custom("a path with a broken percent encoding"))
    }
}

fn encode(path: &Path) -> String {
    let mut text = String::new();
    for chunk in path.as_os_str().as_bytes().utf8_chunks() {
        text.push_str(&chunk.valid().replace('%', "%25"));
        for byte in chunk.invalid() {
            // Writing to a string cannot fail.
            let _ = write!(text, "%{byte:02x}");
        }
    }
    text
}

fn decode(text: &str) -> Option<PathBuf> {
    let mut parts = text.split('%');
    let mut bytes = parts.next()?.as_bytes().to_vec();
    for part in parts {
        let (digits, rest) = part.split_at_checked(2)?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        bytes.extend_from_slice(rest.as_bytes());
    }
    Some(PathBuf::from(OsString::from_vec(bytes)))
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_usual_path_is_readable() {
        assert_eq!(encode(Path::new("/home/ä/100%/a b.py")), "/home/ä/100%25/a b.py");
    }

    #[test]
    fn a_broken_encoding_is_refused() {
        assert_eq!(decode("/a%2"), None);
        assert_eq!(decode("/a%zz"), None);
    }

    proptest! {
        #[test]
        fn any_path_comes_back(bytes in vec(any::<u8>(), 0..40)) {
            let path = PathBuf::from(OsString::from_vec(bytes));

            prop_assert_eq!(decode(&encode(&path)), Some(path));
        }
    }
}
