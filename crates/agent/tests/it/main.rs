//! Thinking over the wire, against a provider that follows a script.

#![expect(clippy::unwrap_used, reason = "test harness: a failed setup should panic")]

mod faults;
