//! Black-box tests with real processes; all of them are in `tests/it`. They start the binaries next
//! to the test executable (`target/<profile>/cynode` and others), which `cargo xtask test` builds
//! first, and use the command line, the HTTP API, signals and files. Invariant: every test ends the
//! processes it started, and fails if one is left.
