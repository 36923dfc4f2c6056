//! Reads lines of bounded length from a process that may be hostile.

use tokio::io::{AsyncRead, AsyncReadExt as _};

const CHUNK: usize = 16 * 1024;

/// A line, or why there is none.
#[derive(Debug, PartialEq, Eq)]
pub enum BoundedLine {
    /// Not empty.
    Text(String),
    /// Longer than the limit.
    TooLong,
    /// End of the stream.
    End,
}

/// Reads lines of a stream. Dropping a read loses nothing.
#[derive(Debug)]
pub struct BoundedLines<R> {
    stream: R,
    /// Bytes that were read but not returned yet.
    buffer: Vec<u8>,
    /// Prefix of the buffer that holds no line feed.
    searched: usize,
    limit: usize,
}

impl<R: AsyncRead + Unpin> BoundedLines<R> {
    /// Reads lines of at most `limit` bytes, give or take one read.
    pub fn new(stream: R, limit: usize) -> Self {
        Self { stream, buffer: vec![], searched: 0, limit }
    }

    /// The next line that is not empty.
    pub async fn next_line(&mut self) -> BoundedLine {
        loop {
            let found = self.buffer[self.searched..].iter().position(|byte| *byte == b'\n');
            if let Some(end) = found.map(|at| at + self.searched) {
                let rest = self.buffer.split_off(end + 1);
                let line = std::mem::replace(&mut self.buffer, rest);
                self.searched = 0;
                let text = String::from_utf8_lossy(&line);
                if !text.trim().is_empty() {
                    return BoundedLine::Text(text.trim().to_owned());
                }
                continue;
            }
            self.searched = self.buffer.len();
            if self.buffer.len() > self.limit {
                return BoundedLine::TooLong;
            }
            self.buffer.reserve(CHUNK);
            match self.stream.read_buf(&mut self.buffer).await {
                Ok(0) | Err(_) => return BoundedLine::End,
                Ok(_) => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn lines_come_one_by_one_and_empty_ones_are_passed_over() {
        let mut lines = BoundedLines::new(&b"a\r\n\n  \nb\nunfinished"[..], 100);

        assert_eq!(lines.next_line().await, BoundedLine::Text("a".to_owned()));
        assert_eq!(lines.next_line().await, BoundedLine::Text("b".to_owned()));
        assert_eq!(lines.next_line().await, BoundedLine::End);
    }

    #[tokio::test]
    async fn a_line_without_end_is_given_up() {
        let mut lines = BoundedLines::new(tokio::io::repeat(b'x'), 100);

        assert_eq!(lines.next_line().await, BoundedLine::TooLong);
    }
}
