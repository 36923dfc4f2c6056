//! Keeping the beginning of an output stream and throwing the rest away.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

const CHUNK: usize = 64 * 1024;
/// A stream longer than this many times its kept part ends the job.
const FLOOD: u64 = 64;

/// One output stream of the command: a pipe to read, and the file that keeps its beginning.
pub(super) struct Output {
    /// Absent once the stream has ended.
    pipe: Option<File>,
    kept: File,
    keep_bytes: u64,
    seen_bytes: u64,
}

impl Output {
    pub(super) fn new(pipe: OwnedFd, path: &Path, keep_bytes: u32) -> io::Result<Self> {
        let kept = OpenOptions::new().append(true).open(path)?;
        Ok(Self { pipe: Some(pipe.into()), kept, keep_bytes: keep_bytes.into(), seen_bytes: 0 })
    }

    /// What to wait on, until the stream ends.
    pub(super) fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.pipe.as_ref().map(AsFd::as_fd)
    }

    pub(super) fn is_truncated(&self) -> bool {
        self.seen_bytes > self.keep_bytes
    }

    pub(super) fn is_flood(&self) -> bool {
        self.seen_bytes > self.keep_bytes * FLOOD
    }

    /// Takes what is there. Waits if nothing is, so call it when the pipe is readable.
    pub(super) fn take(&mut self) {
        let Some(pipe) = &mut self.pipe else { return };
        let mut chunk = vec![0; CHUNK];
        match pipe.read(&mut chunk) {
            Ok(0) => self.pipe = None,
            Ok(count) => self.keep(&chunk[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => self.pipe = None,
        }
    }

    fn keep(&mut self, data: &[u8]) {
        let room = self.keep_bytes.saturating_sub(self.seen_bytes);
        let count = usize::try_from(room).unwrap_or(usize::MAX).min(data.len());
        // A full host disk loses output but must not lose the job's ending.
        let _ = self.kept.write_all(&data[..count]);
        self.seen_bytes += data.len() as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn feed(text: &str, keep_bytes: u32) -> (Output, String) {
        let kept = tempfile::NamedTempFile::new().unwrap();
        let (reader, writer) = io::pipe().unwrap();
        let mut output = Output::new(reader.into(), kept.path(), keep_bytes).unwrap();
        (&writer).write_all(text.as_bytes()).unwrap();
        drop(writer);
        while output.fd().is_some() {
            output.take();
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
