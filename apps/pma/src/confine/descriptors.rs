//! Inherited file descriptors.

use std::fs;
use std::io;
use std::os::fd::RawFd;

use nix::unistd::close;

/// Closes every descriptor except the standard streams, so that no file of the parent, such as a database, is
/// accessible. Must be called before this process opens a file.
pub(crate) fn close_inherited() -> io::Result<()> {
    let mut open: Vec<RawFd> = vec![];
    for entry in fs::read_dir("/proc/self/fd")? {
        open.extend(entry?.file_name().to_str().and_then(|name| name.parse::<RawFd>().ok()));
    }
    for descriptor in open.into_iter().filter(|descriptor| *descriptor > 2) {
        // The descriptor of the directory listing is closed already.
        let _ = close(descriptor);
    }
    Ok(())
}
