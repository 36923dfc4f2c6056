//! The commands behind `cargo xtask`.
//!
//! Start reading at [`cli`]. [`tidy`] holds the rules a compiler cannot check, [`guardrails`] ties
//! the documents to the tests that prove them, [`testing`] and [`ci`] run everything, and
//! [`mod@bench`] measures what a newcomer pays for the first build.
//!
//! Invariant: no check stops at its first fault. Each one prints all of them, with the place and
//! what to do.

pub mod bench;
pub mod ci;
pub mod cli;
pub mod conformance;
pub mod fault;
pub mod fuzz;
pub mod guardrails;
pub mod local_model;
pub mod openapi;
mod orchestrator;
pub mod prepare;
pub mod testing;
pub mod tidy;
pub mod tool;
