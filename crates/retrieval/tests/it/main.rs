//! Tests of knowledge, each on SQLite and on PostgreSQL where the engine matters.
#![expect(clippy::unwrap_used, reason = "called by tests; a panic is a test failure")]

#[macro_use]
mod world;
mod access;
mod backends;
mod isolation;
mod pgvector;
mod quality;
