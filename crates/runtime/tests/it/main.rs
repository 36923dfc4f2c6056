//! Integration tests of the runtime: sockets, signals and redaction.

#![expect(clippy::unwrap_used, reason = "a helper of a test fails the test by panicking")]

mod health;
mod recall;
mod redaction;
mod signals;
