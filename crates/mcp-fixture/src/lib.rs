//! An MCP server for tests, as required by the official conformance suites.
//!
//! Start reading at [`McpFixture`], then [`router`] (streamable HTTP) and [`serve_lines`] (stdio). `rmcp`,
//! the official Rust SDK, implements the protocol in both eras at one endpoint: sessions up to 2025-11-25
//! and the stateless 2026-07-28. The gateway's code does not use `rmcp` and this crate uses no code of the
//! gateway, so that a defect is not present on both sides of a test (ADR 32).
//!
//! The tools, resources and prompts are those of the suites, plus `echo` and `wait`: `echo` counts its
//! calls (`GET /count`) and is fast enough to benchmark a gateway.
//!
//! For tests only: it does not authenticate clients.
#![expect(deprecated, reason = "the suites test logging, which SEP-2577 deprecates")]

mod content;
mod echo;
mod exchange;
mod fixture;
mod handler;
mod prompts;
mod resources;
mod stdio;
mod streamable_http;
mod tools;

pub use echo::ECHO;
pub use fixture::McpFixture;
pub use stdio::serve_lines;
pub use streamable_http::{router, serve};
