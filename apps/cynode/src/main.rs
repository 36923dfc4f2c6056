//! The `cynode` binary: everything in one file.

use std::process::ExitCode;

/// Several threads allocate at once in the roles; this allocator is made for that.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    cynode::start(std::env::args_os().collect())
}
