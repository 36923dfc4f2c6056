//! Hands the listener of a sandbox to the process of the node.
//!
//! The supervisor keeps the listener as long as the job runs, and gives a copy to every process of the node that connects
//! to `egress.sock` in the job's directory. Connections that arrive while no process accepts them wait in the kernel, so a
//! node that was killed continues where it stopped.

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::descriptor_passing::{receive, send_file};
use crate::job_dir::JobDir;

const SOCKET: &str = "egress.sock";
/// How long a supervisor may take to answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);
/// Sent with the listener.
const GREETING: [u8; 1] = [b'l'];

/// The supervisor's side.
#[derive(Debug)]
pub(crate) struct ListenerHandover {
    socket: UnixListener,
    listener: OwnedFd,
}

impl ListenerHandover {
    /// Offers `listener` at the job's socket.
    pub(crate) fn offer(dir: &JobDir, listener: OwnedFd) -> io::Result<Self> {
        let address = SocketAddress::open(dir.path())?;
        let socket = UnixListener::bind(address.path())?;
        socket.set_nonblocking(true)?;
        Ok(Self { socket, listener })
    }

    /// Becomes readable when a process of the node asks.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Answers a process of the node; one that is gone is ignored.
    pub(crate) fn answer(&self) {
        if let Ok((client, _)) = self.socket.accept() {
            let _ = send_file(client.as_fd(), &GREETING, self.listener.as_fd());
        }
    }
}

/// Receives the listener of a job; `None` while its supervisor does not offer it yet. Blocks for a moment.
pub fn receive_listener(dir: &JobDir) -> io::Result<Option<std::net::TcpListener>> {
    if !fs::exists(dir.path().join(SOCKET))? {
        return Ok(None);
    }
    let address = SocketAddress::open(dir.path())?;
    let client = UnixStream::connect(address.path())?;
    // A supervisor that is stopped must not hold a thread of the node.
    client.set_read_timeout(Some(ANSWER_TIMEOUT))?;
    let mut greeting = GREETING;
    let (_, listener) = receive(client.as_fd(), &mut greeting)?;
    let listener = std::net::TcpListener::from(listener.ok_or(io::ErrorKind::UnexpectedEof)?);
    listener.set_nonblocking(true)?;
    Ok(Some(listener))
}

/// The path of a socket, which the kernel limits to 108 bytes, through an open directory.
struct SocketAddress {
    directory: File,
}

impl SocketAddress {
    fn open(directory: &Path) -> io::Result<Self> {
        Ok(Self { directory: File::open(directory)? })
    }

    fn path(&self) -> PathBuf {
        Path::new("/proc/self/fd").join(self.directory.as_raw_fd().to_string()).join(SOCKET)
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn every_process_that_asks_gets_the_same_listener_also_below_a_long_path() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("d".repeat(120));
        fs::create_dir(&path).unwrap();
        let dir = JobDir::open(&path);
        assert!(receive_listener(&dir).unwrap().is_none());
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let handover = ListenerHandover::offer(&dir, listener.into()).unwrap();

        for _ in 0..2 {
            let received = std::thread::scope(|scope| {
                let asking = scope.spawn(|| receive_listener(&dir).unwrap().unwrap());
                while !asking.is_finished() {
                    handover.answer();
                }
                asking.join().unwrap()
            });
            received.set_nonblocking(false).unwrap();
            let client = TcpStream::connect(address).unwrap();
            assert_eq!(received.accept().unwrap().1, client.local_addr().unwrap());
        }
    }
}
