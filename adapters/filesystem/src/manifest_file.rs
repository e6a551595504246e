//! The file format of manifests: compact, versioned, and complete or refused.
//!
//! Responsible for bytes both ways. It must never read or write a file. Whether the bytes are the ones that were
//! written is for the caller to check by their hash.
//!
//! A file is the magic, then numbers in LEB128, signed ones in zigzag: the time of the scan, the count of entries, and
//! for each entry how many bytes its path shares with the one before, the rest of the path, a flag byte, the stamp, and
//! the hash where the flag says so.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use steward_ports::{ContentHash, FileKind, FileStamp, Manifest, ManifestEntry, Timestamp};

/// The last byte is the version of the format.
const MAGIC: &[u8] = b"cgc-steward manifest\x01";

const PARSED: u8 = 1;
const HASHED: u8 = 2;

/// Returns the bytes of `manifest`.
pub(crate) fn encode(manifest: &Manifest) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    put_signed(&mut bytes, manifest.taken_at.as_nanos());
    put(&mut bytes, manifest.entries.len() as u128);
    let mut previous: &[u8] = &[];
    for entry in &manifest.entries {
        let path = entry.path.as_os_str().as_bytes();
        let shared = previous.iter().zip(path).take_while(|(left, right)| left == right).count();
        put(&mut bytes, shared as u128);
        put(&mut bytes, (path.len() - shared) as u128);
        bytes.extend_from_slice(&path[shared..]);
        let kind = match entry.kind {
            FileKind::Parsed => PARSED,
            FileKind::Bare => 0,
        };
        bytes.push(kind | if entry.hash.is_some() { HASHED } else { 0 });
        put(&mut bytes, u128::from(entry.stamp.size));
        put_signed(&mut bytes, entry.stamp.modified.as_nanos());
        put_signed(&mut bytes, entry.stamp.changed.as_nanos());
        put(&mut bytes, u128::from(entry.stamp.inode));
        if let Some(hash) = entry.hash {
            bytes.extend_from_slice(&hash.0);
        }
        previous = path;
    }
    bytes
}

/// Returns the manifest that `bytes` hold; `None` where they hold anything else, or too much.
pub(crate) fn decode(bytes: &[u8]) -> Option<Manifest> {
    let mut input = Input(bytes.strip_prefix(MAGIC)?);
    let taken_at = Timestamp::from_nanos(input.signed()?);
    let count = input.size()?;
    // An entry takes at least eight bytes, so a count that cannot be true reserves little memory.
    let mut entries = Vec::with_capacity(count.min(bytes.len() / 8));
    let mut path: Vec<u8> = Vec::new();
    for _ in 0..count {
        let shared = input.size()?;
        if shared > path.len() {
            return None;
        }
        path.truncate(shared);
        let rest = input.size()?;
        path.extend_from_slice(input.take(rest)?);
        let flags = *input.take(1)?.first()?;
        if flags & !(PARSED | HASHED) != 0 {
            return None;
        }
        let stamp = FileStamp {
            size: input.unsigned()?.try_into().ok()?,
            modified: Timestamp::from_nanos(input.signed()?),
            changed: Timestamp::from_nanos(input.signed()?),
            inode: input.unsigned()?.try_into().ok()?,
        };
        let hash = if flags & HASHED == 0 { None } else { Some(ContentHash(input.take(32)?.try_into().ok()?)) };
        entries.push(ManifestEntry {
            path: PathBuf::from(OsString::from_vec(path.clone())),
            kind: if flags & PARSED == 0 { FileKind::Bare } else { FileKind::Parsed },
            stamp,
            hash,
        });
    }
    input.0.is_empty().then_some(Manifest { entries, taken_at })
}

fn put(bytes: &mut Vec<u8>, mut number: u128) {
    loop {
        let low = u8::try_from(number & 0x7f).unwrap_or(0);
        number >>= 7;
        if number == 0 {
            bytes.push(low);
            return;
        }
        bytes.push(low | 0x80);
    }
}

fn put_signed(bytes: &mut Vec<u8>, number: i128) {
    put(bytes, (number.cast_unsigned() << 1) ^ (number >> 127).cast_unsigned());
}

/// What is left to decode.
struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn unsigned(&mut self) -> Option<u128> {
        let mut number = 0_u128;
        let mut shift = 0_u32;
        loop {
            let byte = *self.take(1)?.first()?;
            let part = u128::from(byte & 0x7f);
            let shifted = part.checked_shl(shift)?;
            if shifted >> shift != part {
                return None;
            }
            number |= shifted;
            if byte & 0x80 == 0 {
                return Some(number);
            }
            shift += 7;
        }
    }

    fn signed(&mut self) -> Option<i128> {
        let number = self.unsigned()?;
        Some((number >> 1).cast_signed() ^ -((number & 1).cast_signed()))
    }

    fn size(&mut self) -> Option<usize> {
        self.unsigned()?.try_into().ok()
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn entry() -> impl Strategy<Value = ManifestEntry> {
        let stamp = (any::<u64>(), any::<i128>(), any::<i128>(), any::<u64>());
        (vec(1_u8.., 1..20), any::<bool>(), stamp, any::<Option<[u8; 32]>>()).prop_map(
            |(path, is_parsed, stamp, hash)| ManifestEntry {
                path: PathBuf::from(OsString::from_vec(path)),
                kind: if is_parsed { FileKind::Parsed } else { FileKind::Bare },
                stamp: FileStamp {
                    size: stamp.0,
                    modified: Timestamp::from_nanos(stamp.1),
                    changed: Timestamp::from_nanos(stamp.2),
                    inode: stamp.3,
                },
                hash: hash.map(ContentHash),
            },
        )
    }

    fn manifest() -> impl Strategy<Value = Manifest> {
        (vec(entry(), 0..20), any::<i128>())
            .prop_map(|(entries, taken_at)| Manifest { entries, taken_at: Timestamp::from_nanos(taken_at) })
    }

    proptest! {
        #[test]
        fn what_was_encoded_is_decoded(manifest in manifest()) {
            prop_assert_eq!(decode(&encode(&manifest)), Some(manifest));
        }

        #[test]
        fn a_shortened_file_is_refused(manifest in manifest(), cut in any::<prop::sample::Index>()) {
            let bytes = encode(&manifest);
            let cut = cut.index(bytes.len());

            prop_assert_eq!(decode(&bytes[..cut]), None);
        }

        #[test]
        fn garbage_is_refused_without_a_panic(garbage in vec(any::<u8>(), 0..200)) {
            let mut bytes = MAGIC.to_vec();
            bytes.extend(garbage);

            decode(&bytes);
        }
    }
}
