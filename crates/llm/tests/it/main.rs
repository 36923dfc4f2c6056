//! Provider clients against a scripted provider: each fault has an expected outcome.

#![expect(clippy::unwrap_used, reason = "test harness: a failed setup should panic")]

mod anthropic;
mod faults;
mod harness;
mod openai;
mod streams;
