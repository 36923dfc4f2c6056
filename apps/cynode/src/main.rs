//! The `cynode` binary.

use std::process::ExitCode;

/// The roles allocate from several threads at once; mimalloc is fast for that.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    cynode::run_args(std::env::args_os().collect())
}
