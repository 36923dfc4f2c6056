//! Measurements of what a newcomer pays: see [`build`]; `bench up` lives in the bench crate.

pub mod build;
pub mod chat;
pub mod gateway;
pub mod program;
pub mod workflow;
pub mod wrapper;
