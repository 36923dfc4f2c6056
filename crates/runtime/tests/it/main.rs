//! The runtime as a process meets it: sockets, signals, and texts that hold secrets.

#![expect(clippy::unwrap_used, reason = "a helper of a test fails the test by panicking")]

mod health;
#[cfg(feature = "otlp")]
mod otlp;
mod recall;
mod redaction;
mod signals;
