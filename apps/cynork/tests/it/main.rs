//! The real `cynork` binary against a small fake gateway.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

mod agents;
mod chat;
mod codes;
mod fake;
mod repositories;
mod session;
mod tasks;
