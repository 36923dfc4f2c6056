//! Descriptors that a process inherits.

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
