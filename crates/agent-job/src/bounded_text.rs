//! Shortens text to a number of bytes, on character boundaries.

use cynode_domain::text::{ellipsize_bytes, last_bytes, truncate_bytes};

/// Returns `text`, or its start and end with a marker between them.
///
/// The result is at most `max_bytes` long plus the marker.
pub fn clip_middle(text: &str, max_bytes: usize) -> String {
    if text.len() <= max_bytes {
        return text.to_owned();
    }
    let head = truncate_bytes(text, max_bytes.div_ceil(2));
    let tail = last_bytes(text, max_bytes / 2);
    let omitted = text.len() - head.len() - tail.len();
    format!("{head}\n[... {omitted} bytes omitted ...]\n{tail}")
}

/// Returns `text`, or its start and a marker.
pub fn clip_end(text: &str, max_bytes: usize) -> String {
    if text.len() <= max_bytes {
        return text.to_owned();
    }
    let head = truncate_bytes(text, max_bytes);
    format!("{head} [... {} bytes omitted]", text.len() - head.len())
}

/// Returns the first line of `text` that is not blank, shortened.
pub fn one_line(text: &str, max_bytes: usize) -> String {
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim();
    ellipsize_bytes(line, max_bytes).into_owned()
}

/// Keeps the first and the last bytes of a stream; the bytes between them are counted and dropped.
#[derive(Debug)]
pub struct HeadAndTail {
    head: Vec<u8>,
    tail: std::collections::VecDeque<u8>,
    head_limit: usize,
    tail_limit: usize,
    omitted: u64,
}

impl HeadAndTail {
    /// Keeps `max_bytes` in total: a third at the start, because errors are at the end.
    pub fn new(max_bytes: usize) -> Self {
        let head_limit = max_bytes / 3;
        let tail_limit = max_bytes - head_limit;
        Self { head: Vec::new(), tail: [].into(), head_limit, tail_limit, omitted: 0 }
    }

    pub fn push(&mut self, bytes: &[u8]) {
        let room = self.head_limit - self.head.len();
        let (first, rest) = bytes.split_at(room.min(bytes.len()));
        self.head.extend_from_slice(first);
        // Only the last bytes can remain.
        let skipped = rest.len().saturating_sub(self.tail_limit);
        self.tail.extend(&rest[skipped..]);
        let excess = self.tail.len().saturating_sub(self.tail_limit);
        self.tail.drain(..excess);
        self.omitted += u64::try_from(skipped + excess).unwrap_or(u64::MAX);
    }

    /// Returns the text, with invalid UTF-8 replaced and a marker where bytes were dropped.
    pub fn into_text(self) -> String {
        let (head, tail) = (self.head, Vec::from(self.tail));
        if self.omitted == 0 {
            return String::from_utf8_lossy(&[head, tail].concat()).into_owned();
        }
        let (head, tail) = (String::from_utf8_lossy(&head), String::from_utf8_lossy(&tail));
        format!("{head}\n[... {} bytes omitted ...]\n{tail}", self.omitted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_a_long_text_is_left_out_on_character_boundaries() {
        assert_eq!(clip_middle("short", 5), "short");
        let text = "ä".repeat(100);
        let clipped = clip_middle(&text, 21);
        assert!(clipped.contains("bytes omitted"), "{clipped}");
        assert!(clipped.starts_with('ä') && clipped.ends_with('ä'));
    }

    #[test]
    fn the_first_and_last_bytes_of_a_stream_are_kept() {
        let mut output = HeadAndTail::new(9);
        for chunk in ["ab", "cdefgh", "ijklmnopqrstuvwxyz"] {
            output.push(chunk.as_bytes());
        }
        assert_eq!(output.into_text(), "abc\n[... 17 bytes omitted ...]\nuvwxyz");
    }

    #[test]
    fn a_short_stream_is_kept_as_it_is() {
        let mut output = HeadAndTail::new(9);
        output.push(b"abc");
        output.push(b"defghi");
        assert_eq!(output.into_text(), "abcdefghi");
    }

    #[test]
    fn a_summary_is_the_first_line_with_text() {
        assert_eq!(one_line("\n  \n  error: x  \nmore", 80), "error: x");
        assert_eq!(one_line("äää", 5), "ä…");
        assert_eq!(one_line("", 3), "");
    }
}
