//! A bounded copy of an output stream: its beginning and its end.
//!
//! It must never hold more than its limit, however much goes through it.

use std::collections::VecDeque;

use steward_ports::Captured;

/// Keeps half of its limit from the start of a stream and half from its end.
#[derive(Debug)]
pub(crate) struct Capture {
    head: Vec<u8>,
    head_limit: usize,
    tail: VecDeque<u8>,
    tail_limit: usize,
    dropped: u64,
}

impl Capture {
    /// A capture of at most `limit` bytes.
    pub(crate) const fn new(limit: usize) -> Self {
        Self {
            head: Vec::new(),
            head_limit: limit.div_ceil(2),
            tail: VecDeque::new(),
            tail_limit: limit / 2,
            dropped: 0,
        }
    }

    /// Takes the next bytes of the stream.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        let room = self.head_limit - self.head.len();
        let (first, rest) = bytes.split_at(room.min(bytes.len()));
        self.head.extend_from_slice(first);

        let excess = (self.tail.len() + rest.len()).saturating_sub(self.tail_limit);
        let from_tail = excess.min(self.tail.len());
        self.tail.drain(..from_tail);
        self.tail.extend(&rest[excess - from_tail..]);
        self.dropped += excess as u64;
    }

    /// Returns what was kept and leaves the capture empty.
    pub(crate) fn take(&mut self) -> Captured {
        Captured {
            head: std::mem::take(&mut self.head),
            tail: std::mem::take(&mut self.tail).into(),
            dropped: std::mem::take(&mut self.dropped),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::short(b"abc", b"abc", b"", 0)]
    #[case::exactly_the_head(b"abcd", b"abcd", b"", 0)]
    #[case::both_halves(b"abcdefg", b"abcd", b"efg", 0)]
    #[case::one_too_many(b"abcdefgh", b"abcd", b"fgh", 1)]
    #[case::far_too_many(b"abcd0123456789xyz", b"abcd", b"xyz", 10)]
    fn head_and_tail_are_kept(#[case] input: &[u8], #[case] head: &[u8], #[case] tail: &[u8], #[case] dropped: u64) {
        let mut capture = Capture::new(7);

        capture.push(input);

        let expected = Captured { head: head.to_vec(), tail: tail.to_vec(), dropped };
        assert_eq!(capture.take(), expected);
    }

    #[test]
    fn a_limit_of_nothing_keeps_nothing_and_counts_everything() {
        let mut capture = Capture::new(0);

        capture.push(b"abc");

        assert_eq!(capture.take().dropped, 3);
    }

    proptest! {
        #[test]
        fn chunks_make_no_difference_and_nothing_is_miscounted(
            limit in 0_usize..40,
            chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..30), 0..12),
        ) {
            let whole = chunks.concat();
            let mut by_chunks = Capture::new(limit);
            for chunk in &chunks {
                by_chunks.push(chunk);
            }
            let mut at_once = Capture::new(limit);
            at_once.push(&whole);

            let kept = by_chunks.take();

            prop_assert_eq!(&kept, &at_once.take());
            prop_assert!(kept.head.len() + kept.tail.len() <= limit);
            prop_assert_eq!(kept.head.len() + kept.tail.len() + usize::try_from(kept.dropped).unwrap(), whole.len());
            prop_assert!(whole.starts_with(&kept.head));
            prop_assert!(whole.ends_with(&kept.tail));
        }
    }
}
