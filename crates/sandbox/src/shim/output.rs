//! Captures the beginning of an output stream and discards the rest.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

const CHUNK: usize = 64 * 1024;
/// A stream longer than this many times its limit ends the job.
const FLOOD_FACTOR: u64 = 64;

/// One output stream of the command: a pipe to read, and the file that stores its beginning.
pub(super) struct OutputCapture {
    /// `None` after the end of the stream.
    pipe: Option<File>,
    file: File,
    limit_bytes: u64,
    seen_bytes: u64,
}

impl OutputCapture {
    pub(super) fn new(pipe: OwnedFd, path: &Path, keep_bytes: u32) -> io::Result<Self> {
        let kept = OpenOptions::new().append(true).open(path)?;
        Ok(Self {
            pipe: Some(pipe.into()),
            file: kept,
            limit_bytes: keep_bytes.into(),
            seen_bytes: 0,
        })
    }

    /// Descriptor to poll, until the stream ends.
    pub(super) fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.pipe.as_ref().map(AsFd::as_fd)
    }

    pub(super) fn is_truncated(&self) -> bool {
        self.seen_bytes > self.limit_bytes
    }

    pub(super) fn is_flood(&self) -> bool {
        self.seen_bytes > self.limit_bytes * FLOOD_FACTOR
    }

    /// Reads available data. Blocks if there is none, so call it when the pipe is readable.
    pub(super) fn read_available(&mut self) {
        let Some(pipe) = &mut self.pipe else { return };
        let mut chunk = vec![0; CHUNK];
        match pipe.read(&mut chunk) {
            Ok(0) => self.pipe = None,
            Ok(count) => self.append(&chunk[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => self.pipe = None,
        }
    }

    fn append(&mut self, data: &[u8]) {
        let room = self.limit_bytes.saturating_sub(self.seen_bytes);
        let count = usize::try_from(room).unwrap_or(usize::MAX).min(data.len());
        // A full host disk loses output but must not lose the job's ending.
        let _ = self.file.write_all(&data[..count]);
        self.seen_bytes += data.len() as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn feed(text: &str, keep_bytes: u32) -> (OutputCapture, String) {
        let kept = tempfile::NamedTempFile::new().unwrap();
        let (reader, writer) = io::pipe().unwrap();
        let mut output = OutputCapture::new(reader.into(), kept.path(), keep_bytes).unwrap();
        (&writer).write_all(text.as_bytes()).unwrap();
        drop(writer);
        while output.fd().is_some() {
            output.read_available();
        }
        (output, std::fs::read_to_string(kept.path()).unwrap())
    }

    #[test]
    fn a_short_stream_is_kept_whole() {
        let (output, kept) = feed("hello", 5);

        assert_eq!(kept, "hello");
        assert!(!output.is_truncated());
    }

    #[test]
    fn a_long_stream_keeps_its_beginning_and_becomes_a_flood_at_last() {
        let (output, kept) = feed(&"x".repeat(641), 10);

        assert_eq!(kept, "x".repeat(10));
        assert!(output.is_truncated());
        assert!(output.is_flood());
    }
}
