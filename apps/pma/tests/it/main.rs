//! The real binary: what it refuses to start with, whom it hears, and what it cannot do.
#![expect(clippy::unwrap_used, reason = "helpers are called by tests; a failure is the finding")]

mod cassette;
mod confinement;
mod process;
mod serving;
mod starting;
