//! Measures the buffers of the sockets of a sandbox, which are memory of no process.
//!
//! The kernel lists the sockets of a network namespace over netlink (`sock_diag`), with the memory that each holds.

use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};

use nix::libc;
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, recv, sendto, socket,
};

const SOCK_DIAG_BY_FAMILY: u16 = 20;
const NLM_F_REQUEST_DUMP: u16 = 1 | 0x300;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
/// Length of a netlink header: length, type, flags, sequence, port.
const HEADER_BYTES: usize = 16;
const ALL_STATES: u32 = u32::MAX;
/// Number of the attribute with the memory of a Unix socket, and the bit that requests it.
const UNIX_DIAG_MEMINFO: u16 = 5;
const UDIAG_SHOW_MEMINFO: u32 = 0x20;
const UNIX_MESSAGE_BYTES: usize = 16;
/// The same of an Internet socket, where the bit is one less than the number.
const INET_DIAG_SKMEMINFO: u16 = 7;
const INET_MESSAGE_BYTES: usize = 72;
/// Positions in the attribute: received and not read, sent and not delivered, queued and not sent, not yet received.
const RECEIVED: usize = 0;
const SENT: usize = 2;
const QUEUED: usize = 5;
const BACKLOG: usize = 7;

/// Lists the sockets of the network namespace in which it was opened.
pub(super) struct SocketMemory(OwnedFd);

/// One kind of socket: its request, and where the answer has the memory.
struct SocketFamily {
    request: Vec<u8>,
    message_bytes: usize,
    attribute: u16,
}

impl SocketMemory {
    pub(super) fn open() -> io::Result<Self> {
        let socket = socket(
            AddressFamily::Netlink,
            SockType::Raw,
            SockFlag::SOCK_CLOEXEC,
            SockProtocol::NetlinkSockDiag,
        )?;
        Ok(Self(socket))
    }

    /// The bytes held by all sockets. A kind that the kernel cannot list counts as nothing.
    pub(super) fn measure(&self) -> u64 {
        let inet = [libc::AF_INET, libc::AF_INET6].into_iter().flat_map(|family| {
            [libc::IPPROTO_TCP, libc::IPPROTO_UDP].map(|protocol| inet_sockets(family, protocol))
        });
        inet.chain([unix_sockets()]).map(|family| self.list(&family).unwrap_or_default()).sum()
    }

    fn list(&self, family: &SocketFamily) -> io::Result<u64> {
        let kernel = NetlinkAddr::new(0, 0);
        sendto(self.0.as_raw_fd(), &family.request, &kernel, MsgFlags::empty())?;
        let (mut bytes, mut answer) = (0, vec![0; 64 * 1024]);
        loop {
            let length = recv(self.0.as_raw_fd(), &mut answer, MsgFlags::empty())?;
            match family.sum_answer(&answer[..length]) {
                (sum, true) => bytes += sum,
                (sum, false) => return Ok(bytes + sum),
            }
        }
    }
}

impl SocketFamily {
    fn new(body: &[&[u8]], message_bytes: usize, attribute: u16) -> Self {
        let body = body.concat();
        let length = u32::try_from(HEADER_BYTES + body.len()).unwrap_or_default();
        let header = [
            &length.to_ne_bytes()[..],
            &SOCK_DIAG_BY_FAMILY.to_ne_bytes(),
            &NLM_F_REQUEST_DUMP.to_ne_bytes(),
            &[0; 8],
        ];
        Self { request: [header.concat(), body].concat(), message_bytes, attribute }
    }

    /// Sums the messages of a part of the answer; returns whether more follows.
    fn sum_answer(&self, mut answer: &[u8]) -> (u64, bool) {
        let mut bytes = 0;
        while let (Some(length), Some(kind)) = (read_u32(answer, 0), read_u16(answer, 4)) {
            if kind == NLMSG_DONE || kind == NLMSG_ERROR {
                return (bytes, false);
            }
            let length = usize::try_from(length).unwrap_or(usize::MAX).max(HEADER_BYTES);
            let Some(message) = answer.get(..length) else { break };
            bytes += self.socket_bytes(message.get(HEADER_BYTES + self.message_bytes..));
            answer = answer.get(length.next_multiple_of(4)..).unwrap_or_default();
        }
        (bytes, true)
    }

    /// The memory of one socket, from the attributes of its message.
    fn socket_bytes(&self, attributes: Option<&[u8]>) -> u64 {
        let mut rest = attributes.unwrap_or_default();
        while let (Some(length), Some(kind)) = (read_u16(rest, 0), read_u16(rest, 2)) {
            let length = usize::from(length).max(4);
            if kind == self.attribute {
                let memory = rest.get(..length).unwrap_or_default();
                let field = |index| u64::from(read_u32(memory, 4 + 4 * index).unwrap_or_default());
                // What was sent may be queued too.
                return field(RECEIVED) + field(SENT).max(field(QUEUED)) + field(BACKLOG);
            }
            rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        }
        0
    }
}

/// `struct unix_diag_req`: family, protocol, padding, states, inode, what to show, cookie.
fn unix_sockets() -> SocketFamily {
    let family = [libc::AF_UNIX.to_ne_bytes()[0], 0, 0, 0];
    let (states, show) = (ALL_STATES.to_ne_bytes(), UDIAG_SHOW_MEMINFO.to_ne_bytes());
    let body: [&[u8]; 5] = [&family, &states, &[0; 4], &show, &[0xff; 8]];
    SocketFamily::new(&body, UNIX_MESSAGE_BYTES, UNIX_DIAG_MEMINFO)
}

/// `struct inet_diag_req_v2`: family, protocol, what to show, padding, states, socket.
fn inet_sockets(family: i32, protocol: i32) -> SocketFamily {
    let show = 1 << (INET_DIAG_SKMEMINFO - 1);
    let head = [family.to_ne_bytes()[0], protocol.to_ne_bytes()[0], show, 0];
    let body: [&[u8]; 3] = [&head, &ALL_STATES.to_ne_bytes(), &[0; 48]];
    SocketFamily::new(&body, INET_MESSAGE_BYTES, INET_DIAG_SKMEMINFO)
}

fn read_u16(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..at + 2)?.try_into().ok().map(u16::from_ne_bytes)
}

fn read_u32(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4)?.try_into().ok().map(u32::from_ne_bytes)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::net::{TcpListener, TcpStream};
    use std::os::unix::net::UnixStream;

    use super::*;

    /// Writes until the buffers are full.
    fn fill(mut stream: impl io::Write) -> u64 {
        let mut written = 0;
        while let Ok(count) = stream.write(&[0; 4096]) {
            written += count as u64;
        }
        written
    }

    #[test]
    fn buffers_of_unix_and_internet_sockets_are_counted() {
        let sockets = SocketMemory::open().unwrap();
        let (mut sender, _receiver) = UnixStream::pair().unwrap();
        sender.set_nonblocking(true).unwrap();
        sender.flush().unwrap();
        let before = sockets.measure();
        let written = fill(&sender);
        let with_unix = sockets.measure();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let over_tcp = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let _accepted = listener.accept().unwrap();
        over_tcp.set_nonblocking(true).unwrap();
        let written_tcp = fill(&over_tcp);
        let with_tcp = sockets.measure();

        // Other sockets of the machine come and go, so the numbers are compared with a margin.
        assert!(with_unix + 64 * 1024 >= before + written, "{before} {written} {with_unix}");
        assert!(with_tcp + 256 * 1024 >= with_unix + written_tcp, "{written_tcp} {with_tcp}");
    }

    #[test]
    fn an_answer_that_is_cut_off_is_not_read_beyond_its_end() {
        let family = unix_sockets();
        for bytes in [&[][..], &[1], &[0xff; 7], &[0xff; 40], &[0; 64], &[40, 0, 0, 0, 20, 0]] {
            assert_eq!(family.sum_answer(bytes), (0, true), "{bytes:?}");
        }
    }
}
