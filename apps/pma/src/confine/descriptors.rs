//! What whoever started this process left open in it.

use std::fs;
use std::io;
use std::os::fd::RawFd;

use nix::unistd::close;

/// Closes every descriptor but the standard streams, so that nothing which a careless parent had open, such as
/// a database, is in reach. Must be called before this process opens anything itself.
pub(crate) fn close_inherited() -> io::Result<()> {
    let mut open: Vec<RawFd> = vec![];
    for entry in fs::read_dir("/proc/self/fd")? {
        open.extend(entry?.file_name().to_str().and_then(|name| name.parse::<RawFd>().ok()));
    }
    for descriptor in open.into_iter().filter(|descriptor| *descriptor > 2) {
        // The one that listed them is closed already.
        let _ = close(descriptor);
    }
    Ok(())
}
