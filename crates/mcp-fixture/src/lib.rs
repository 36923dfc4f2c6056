//! An MCP server for tests, as required by the official conformance suites.
//!
//! Start reading at [`McpFixture`], then [`router`] (streamable HTTP) and [`serve_lines`] (stdio). It
//! implements both eras of the protocol at one endpoint: sessions up to 2025-11-25 and the stateless
//! 2026-07-28. It uses neither an SDK nor code of this project, so that a defect is not present on both
//! sides of a test.
//!
//! The tools, resources and prompts are those of the suites, plus `echo` and `wait`: `echo` counts its
//! calls (`GET /count`) and is fast enough to benchmark a gateway.
//!
//! For tests only: it does not authenticate clients.

mod content;
mod dispatch;
mod echo;
mod exchange;
mod fixture;
mod message;
mod prompts;
mod protocol_era;
mod resources;
mod session;
mod state_seal;
mod stdio;
mod streamable_http;
mod tools;

pub use echo::ECHO;
pub use fixture::McpFixture;
pub use stdio::serve_lines;
pub use streamable_http::{router, serve};
