//! What the commands of `cynork` share: global flags, settings, the session, output and failures.
//!
//! A command gets a [`context::CliContext`] and returns a [`failure::CliFailure`], which decides exit code and advice.
//!
//! Invariant: text of others reaches a terminal through [`out`] or [`untrusted_stream`], which remove escape sequences.

pub mod config_file;
pub mod context;
pub mod failure;
pub mod gateway_retry;
pub mod global_args;
pub mod history;
pub mod out;
pub mod progress;
pub mod relative_time;
pub mod resolved_settings;
pub mod session;
pub mod table;
pub mod untrusted_stream;
