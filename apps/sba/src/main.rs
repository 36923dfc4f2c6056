//! The `cynode-sba` binary.

fn main() {}
