//! The task graph and the runner over an in-memory orchestrator.

#![expect(clippy::unwrap_used, reason = "a helper that cannot go on fails its test")]

mod clocks;
mod continuing;
mod crashes;
mod edges;
mod engine;
mod fake;
#[cfg(test)]
mod lease_model;
mod paths;
mod people;
mod policies;
mod replanning;
mod runner;
mod state;
