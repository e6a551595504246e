//! Cutting an output stream into lines.
//!
//! It must never hold more than one line of bounded length.

/// The longest line that is passed on, in bytes; the rest of a longer one is left out.
pub(crate) const LINE_LIMIT: usize = 4096;

/// Collects the bytes of the line that is not complete yet.
#[derive(Debug, Default)]
pub(crate) struct LineSplitter {
    partial: Vec<u8>,
}

impl LineSplitter {
    /// Takes the next bytes of the stream and hands each line that they complete to `emit`.
    pub(crate) fn push(&mut self, bytes: &[u8], mut emit: impl FnMut(String)) {
        let mut rest = bytes;
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            self.append(&rest[..end]);
            emit(self.take());
            rest = &rest[end + 1..];
        }
        self.append(rest);
    }

    /// Hands the line that the stream ended in to `emit`, where it has no line ending.
    pub(crate) fn finish(&mut self, mut emit: impl FnMut(String)) {
        if !self.partial.is_empty() {
            emit(self.take());
        }
    }

    fn append(&mut self, bytes: &[u8]) {
        let room = LINE_LIMIT - self.partial.len();
        self.partial.extend_from_slice(&bytes[..room.min(bytes.len())]);
    }

    fn take(&mut self) -> String {
        let line = self.partial.strip_suffix(b"\r").unwrap_or(&self.partial);
        let text = String::from_utf8_lossy(line).into_owned();
        self.partial.clear();
        text
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn split(chunks: &[&[u8]]) -> Vec<String> {
        let mut splitter = LineSplitter::default();
        let mut lines = Vec::new();
        for chunk in chunks {
            splitter.push(chunk, |line| lines.push(line));
        }
        splitter.finish(|line| lines.push(line));
        lines
    }

    #[rstest]
    #[case::nothing(&[], &[])]
    #[case::whole_lines(&["one\ntwo\n"], &["one", "two"])]
    #[case::over_chunks(&["o", "ne\nt", "wo\n"], &["one", "two"])]
    #[case::no_final_ending(&["one\ntwo"], &["one", "two"])]
    #[case::empty_lines(&["\n\n"], &["", ""])]
    #[case::carriage_returns(&["one\r\ntwo\r", "\n"], &["one", "two"])]
    fn a_stream_is_cut_into_lines(#[case] chunks: &[&str], #[case] expected: &[&str]) {
        let chunks: Vec<&[u8]> = chunks.iter().map(|chunk| chunk.as_bytes()).collect();

        assert_eq!(split(&chunks), expected);
    }

    #[test]
    fn bytes_that_are_no_text_are_replaced() {
        assert_eq!(split(&[b"a\xFFb\n"]), ["a\u{FFFD}b"]);
    }

    #[test]
    fn an_overlong_line_is_cut_and_the_next_is_whole() {
        let mut long = vec![b'x'; 3 * LINE_LIMIT];
        long.extend_from_slice(b"\nnext\n");

        assert_eq!(split(&[&long]), ["x".repeat(LINE_LIMIT), "next".to_owned()]);
    }
}
