//! An MCP server for tests, as the official conformance suites want it.
//!
//! Start reading at [`Fixture`], then [`router`] (streamable HTTP) and [`serve_lines`] (stdio). It
//! speaks both eras of the protocol from one endpoint: sessions up to 2025-11-25 and the stateless
//! 2026-07-28. It is written by hand, on no SDK and on nothing of ours, so that a mistake of theirs or
//! ours is not made on both sides of a test.
//!
//! The tools, resources and prompts are those the suites call by name; `echo` and `wait` are ours: `echo`
//! counts its calls (`GET /count`) and is fast enough to measure a gateway against.
//!
//! For tests only: it authenticates nobody.

mod content;
mod dispatch;
mod echo;
mod era;
mod exchange;
mod fixture;
mod http_edge;
mod message;
mod prompts;
mod resources;
mod seal;
mod session;
mod stdio;
mod tools;

pub use echo::ECHO;
pub use fixture::Fixture;
pub use http_edge::{router, serve};
pub use stdio::serve_lines;
