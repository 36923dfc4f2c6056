//! Benchmarks: [`build`] measures the first build, [`agent`] agents and models; the others run the bench crate.

pub mod agent;
pub mod build;
pub mod chat;
pub mod gateway;
pub mod program;
pub mod retrieval;
pub mod workflow;
pub mod wrapper;
