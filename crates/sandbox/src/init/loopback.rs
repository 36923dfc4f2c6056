//! Brings up the loopback interface of a new network namespace.

use std::io;
use std::os::fd::AsRawFd as _;

use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, recv, sendto, socket,
};

/// The loopback interface is the first of every network namespace.
const LOOPBACK_INDEX: i32 = 1;
const RTM_NEWLINK: u16 = 16;
const NLM_F_REQUEST_ACK: u16 = 1 | 4;
const IFF_UP: u32 = 1;

/// Lets programs of the sandbox connect to each other over 127.0.0.1.
pub(super) fn bring_up_loopback() -> io::Result<()> {
    let socket = socket(
        AddressFamily::Netlink,
        SockType::Raw,
        SockFlag::SOCK_CLOEXEC,
        SockProtocol::NetlinkRoute,
    )?;
    let kernel = NetlinkAddr::new(0, 0);
    sendto(socket.as_raw_fd(), &link_up_request(), &kernel, MsgFlags::empty())?;
    let mut answer = [0; 256];
    let length = recv(socket.as_raw_fd(), &mut answer, MsgFlags::empty())?;
    // The answer is a header of 16 bytes and a negative error number, or zero.
    match answer[..length].get(16..20).and_then(|code| <[u8; 4]>::try_from(code).ok()) {
        Some([0, 0, 0, 0]) => Ok(()),
        Some(code) => Err(io::Error::from_raw_os_error(-i32::from_ne_bytes(code))),
        None => Err(io::Error::other("the kernel's answer is too short")),
    }
}

/// A netlink header followed by `struct ifinfomsg`.
fn link_up_request() -> Vec<u8> {
    let header = [
        &32_u32.to_ne_bytes()[..],
        &RTM_NEWLINK.to_ne_bytes(),
        &NLM_F_REQUEST_ACK.to_ne_bytes(),
        &1_u32.to_ne_bytes(),
        &0_u32.to_ne_bytes(),
    ];
    let link =
        [&[0; 4][..], &LOOPBACK_INDEX.to_ne_bytes(), &IFF_UP.to_ne_bytes(), &IFF_UP.to_ne_bytes()];
    [header.concat(), link.concat()].concat()
}
