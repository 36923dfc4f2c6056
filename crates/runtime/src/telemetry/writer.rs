//! A writer that redacts complete log lines.

use std::io::{self, Write};

use tracing_subscriber::fmt::MakeWriter;

use crate::redact::redact;

/// Makes redacting writers.
#[derive(Debug, Clone)]
pub(super) struct RedactingMakeWriter<M> {
    target: M,
}

impl<M> RedactingMakeWriter<M> {
    pub(super) fn new(target: M) -> Self {
        Self { target }
    }
}

impl<'a, M: MakeWriter<'a>> MakeWriter<'a> for RedactingMakeWriter<M> {
    type Writer = RedactedLine<M::Writer>;

    fn make_writer(&'a self) -> Self::Writer {
        RedactedLine { target: self.target.make_writer(), pending: Vec::new() }
    }
}

/// Buffers one event until it is complete, since a secret may be written in several pieces; then writes
/// it at once, so that lines do not interleave.
pub(super) struct RedactedLine<W: Write> {
    target: W,
    pending: Vec<u8>,
}

impl<W: Write> Write for RedactedLine<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.pending.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<W: Write> Drop for RedactedLine<W> {
    fn drop(&mut self) {
        let text = String::from_utf8_lossy(&self.pending);
        // A failure to write the log cannot be reported anywhere.
        let _lost = self.target.write_all(redact(&text).as_bytes());
        let _lost = self.target.flush();
    }
}

#[cfg(test)]
mod tests {
    use tracing_subscriber::layer::SubscriberExt as _;

    use super::*;
    use crate::telemetry::capture::LogCapture;

    #[test]
    fn a_secret_written_in_two_pieces_is_redacted() {
        let capture = LogCapture::default();
        let make = RedactingMakeWriter::new(capture.clone());
        let mut line = make.make_writer();
        line.write_all(b"password=hun").unwrap();
        line.flush().unwrap();
        line.write_all(b"ter2 ok\n").unwrap();
        drop(line);
        assert_eq!(capture.text(), "password=[redacted] ok\n");
    }

    #[test]
    fn text_lines_for_people_are_redacted_too() {
        let capture = LogCapture::default();
        let layer = tracing_subscriber::fmt::layer()
            .with_ansi(false)
            .with_writer(RedactingMakeWriter::new(capture.clone()));
        let subscriber = tracing_subscriber::registry().with(layer);
        tracing::subscriber::with_default(subscriber, || {
            tracing::info!(api_key = "abc def", token = %"xyz1", user = "ada", "signed in");
        });
        let text = capture.text();
        assert!(text.contains("signed in") && text.contains("user=\"ada\""), "{text}");
        assert!(!text.contains("abc") && !text.contains("xyz1"), "{text}");
    }
}
