//! The real binary: startup errors, authentication and confinement.
#![expect(clippy::unwrap_used, reason = "helpers are called by tests; a failure is the finding")]

mod cassette;
mod confinement;
mod process;
mod serving;
mod starting;
