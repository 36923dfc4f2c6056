//! The agent inside a sandbox: its loop, tools and action formats.
