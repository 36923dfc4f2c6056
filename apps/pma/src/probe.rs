//! Trying what a confined process must not be able to do.
//!
//! For tests, and for people who want to see it: `cynode-pma --role=… --probe FILE` confines itself as
//! always, tries each thing, and prints what the kernel said.

use std::fs::{self, File, Permissions};
use std::io::{self, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{SocketAddr as UnixAddress, UnixDatagram, UnixStream};
use std::path::Path;
use std::process::Command;
use std::thread;

use nix::libc;
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::signal::kill;
use nix::unistd::getppid;
use serde_json::{Map, Value};
use socket2::{Domain, Protocol, Socket, Type};

/// Nothing of ours listens there.
const FOREIGN_PORT: u16 = 5432;

/// Tries everything; `file` is one that belongs to others, such as the database. Beside it is a socket of
/// theirs, with the ending `.sock`.
pub(crate) fn run(file: &Path) -> anyhow::Result<()> {
    let mut tried = Map::new();
    let mut said = |what: &str, word: String| tried.insert(what.to_owned(), Value::from(word));
    said("exec", word(Command::new("/bin/true").spawn()));
    said("program_in_memory", word(memfd_create("probe", MFdFlags::empty())));
    said("signal", word(kill(getppid(), None)));
    said("thread", word(thread::Builder::new().spawn(|| ()).map(drop)));
    files(file, &mut said);
    sockets(&file.with_extension("sock"), &mut said);
    Ok(writeln!(io::stdout(), "{}", Value::Object(tried))?)
}

fn files(file: &Path, said: &mut impl FnMut(&str, String) -> Option<Value>) {
    said("write", word(File::create(file.with_extension("probe"))));
    said("write_in_place", word(File::options().append(true).open(file)));
    said("chmod", word(fs::set_permissions(file, Permissions::from_mode(0o666))));
    said("remove", word(fs::remove_file(file)));
    said("read", word(fs::read(file)));
    said("list", word(file.parent().map_or(Ok(()), |dir| fs::read_dir(dir).map(drop))));
}

fn sockets(theirs: &Path, said: &mut impl FnMut(&str, String) -> Option<Value>) {
    let foreign = SocketAddr::from((Ipv4Addr::LOCALHOST, FOREIGN_PORT));
    let stream = |domain: Domain, protocol: Option<i32>| {
        Socket::new(domain, Type::STREAM, protocol.map(Protocol::from))
    };
    let tcp = || stream(Domain::IPV4, None);
    let early =
        |socket: Socket| socket.send_to_with_flags(b"GET / ", &foreign.into(), libc::MSG_FASTOPEN);
    let nameless = UnixAddress::from_abstract_name(b"probe");
    said("connect", word(TcpStream::connect(foreign)));
    said("connect_early", word(tcp().and_then(early)));
    said("connect_multipath", word(stream(Domain::IPV4, Some(libc::IPPROTO_MPTCP))));
    said("connect_unix", word(UnixStream::connect(theirs)));
    said("connect_abstract", word(nameless.and_then(|at| UnixStream::connect_addr(&at))));
    said("unix_datagrams", word(UnixDatagram::pair()));
    said("udp", word(UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))));
    said("netlink", word(stream(Domain::from(libc::AF_NETLINK), None)));
    said("vsock", word(stream(Domain::VSOCK, None)));
    said("listen", word(tcp().and_then(|socket| socket.listen(1))));
    said("pair", word(UnixStream::pair()));
}

fn word<T, E: Into<io::Error>>(outcome: Result<T, E>) -> String {
    match outcome {
        Ok(_) => "done".to_owned(),
        Err(error) => error.into().kind().to_string(),
    }
}
