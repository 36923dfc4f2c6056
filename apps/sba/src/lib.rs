//! The agent that works inside a sandbox.
