//! The commands behind `cargo xtask`. Start reading at [`cli`]. [`tidy`] checks the rules that a
//! compiler cannot, [`guardrails`] ties the documents to the tests that prove them, [`testing`] and
//! [`ci`] run everything, and [`mod@bench`] runs the benchmarks. Invariant: no check stops at its
//! first fault. Each prints all of them, with location and remedy.

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
pub mod third_party_agents;
pub mod tidy;
pub mod tool;
pub mod vm;
