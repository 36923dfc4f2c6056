//! Decisions over HTTP with a scripted provider.

#![expect(clippy::unwrap_used, reason = "test harness: a failed setup should panic")]

mod faults;
