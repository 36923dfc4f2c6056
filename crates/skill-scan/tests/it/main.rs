//! Measures the scan on texts.
#![expect(clippy::unwrap_used, reason = "a corpus that cannot be read fails its test")]

mod accuracy;
