//! Black-box tests across real processes; all of them are in `tests/it`.
//!
//! They start the binaries that lie beside the test executable (`target/<profile>/cynode` and its
//! kin), which `cargo xtask test` builds first. They talk to them as people and programs do: through
//! the command line, the HTTP API, signals and files.
//!
//! Invariant: every test ends the processes it started, and fails if one is left.
