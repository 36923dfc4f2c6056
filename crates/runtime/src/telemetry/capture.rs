//! A log that tests can read.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use serde_json::Value;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt as _;

use super::json::JsonLines;
use super::writer::Redacting;

/// What was logged. Clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Capture {
    bytes: Arc<Mutex<Vec<u8>>>,
}

impl Capture {
    /// A subscriber that logs as a process does, to here.
    pub(crate) fn subscriber(&self) -> impl tracing::Subscriber + Send + Sync + 'static {
        let lines = JsonLines::new("test", Redacting::new(self.clone()));
        tracing_subscriber::registry().with(lines)
    }

    /// Everything that was logged.
    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.bytes.lock().unwrap().clone()).unwrap()
    }

    /// Every line that was logged.
    pub(crate) fn lines(&self) -> Vec<Value> {
        self.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

impl MakeWriter<'_> for Capture {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

impl Write for Capture {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
