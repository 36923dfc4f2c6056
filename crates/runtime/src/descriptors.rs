//! Descriptors: what children inherit, and how many the process may open.

use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// The first descriptor after the standard streams.
const FIRST_INHERITED: i32 = 3;

/// Keeps children from inheriting any open descriptor other than the standard streams.
///
/// The standard library opens files so that children do not inherit them. A descriptor that this process itself
/// inherited, such as a file that the operator's shell had open, would pass to every child. Must be called before
/// the first child is started.
pub fn close_inherited_on_exec() {
    close_fds::set_fds_cloexec(FIRST_INHERITED, &[]);
}

/// Raises the soft limit of open files to the hard limit, where the system allows it. Services need a descriptor for
/// each connection; shells set a low soft limit for programs that use `select`.
pub fn raise_open_file_limit() {
    if let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE)
        && soft < hard
        && let Err(error) = setrlimit(Resource::RLIMIT_NOFILE, hard, hard)
    {
        tracing::warn!(soft, hard, %error, "the limit of open files stays low");
    }
}

/// How many files this process may have open.
pub fn open_file_limit() -> u64 {
    getrlimit(Resource::RLIMIT_NOFILE).map_or(1024, |(soft, _)| soft)
}
