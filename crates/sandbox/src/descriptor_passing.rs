//! Passes open files to other processes over unix sockets.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

/// Sends `bytes` with `file` attached. The bytes are short enough for one message.
pub(crate) fn send_file(
    socket: BorrowedFd<'_>,
    bytes: &[u8],
    file: BorrowedFd<'_>,
) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let files = [file];
    if !control.push(SendAncillaryMessage::ScmRights(&files)) {
        return Err(io::Error::other("the file does not fit into a message"));
    }
    let sent = sendmsg(socket, &[IoSlice::new(bytes)], &mut control, SendFlags::NOSIGNAL)?;
    if sent == bytes.len() { Ok(()) } else { Err(io::ErrorKind::WriteZero.into()) }
}

/// Receives bytes, and a file if one is attached; zero bytes if the other side is closed.
pub(crate) fn receive(
    socket: BorrowedFd<'_>,
    buffer: &mut [u8],
) -> io::Result<(usize, Option<OwnedFd>)> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut buffers = [IoSliceMut::new(buffer)];
    let received = recvmsg(socket, &mut buffers, &mut control, RecvFlags::CMSG_CLOEXEC)?;
    let mut file = None;
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(files) = message {
            file = files.last();
        }
    }
    Ok((received.bytes, file))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsFd as _;
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn a_passed_listener_accepts_connections() {
        let (sender, receiver) = UnixStream::pair().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();

        send_file(sender.as_fd(), b"line\n", listener.as_fd()).unwrap();
        (&sender).write_all(b"next\n").unwrap();
        drop((listener, sender));

        let mut buffer = [0; 64];
        let (length, file) = receive(receiver.as_fd(), &mut buffer).unwrap();
        assert_eq!(&buffer[..5], b"line\n", "{length}");
        let listener = TcpListener::from(file.unwrap());
        let client = TcpStream::connect(address).unwrap();
        assert_eq!(listener.accept().unwrap().1, client.local_addr().unwrap());
        while receive(receiver.as_fd(), &mut buffer).unwrap().0 > 0 {}
    }
}
