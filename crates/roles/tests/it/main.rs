//! The roles from outside.
#![expect(clippy::unwrap_used, reason = "a corpus that cannot be read fails its test")]

mod coordination;
mod tool_selection;
