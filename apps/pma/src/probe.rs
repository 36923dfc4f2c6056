//! Tries what the confinement must deny.
//!
//! For tests and demonstrations: `cynode-pma --role=… --probe FILE` confines itself as usual, tries each
//! operation, and prints the result of the kernel.

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
use nix::sched::{CpuSet, sched_setaffinity};
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::signal::kill;
use nix::unistd::{Pid, getppid};
use serde_json::{Map, Value};
use socket2::{Domain, Protocol, Socket, Type};

/// A port that CyNode does not use.
const FOREIGN_PORT: u16 = 5432;

/// Tries every operation on `file`, which belongs to another process, such as the database, and on the socket next
/// to it with the extension `.sock`.
pub(crate) fn run_probe(file: &Path) -> anyhow::Result<()> {
    let mut tried = Map::new();
    let mut said = |what: &str, word: String| tried.insert(what.to_owned(), Value::from(word));
    said("exec", outcome_word(Command::new("/bin/true").spawn()));
    said("program_in_memory", outcome_word(memfd_create("probe", MFdFlags::empty())));
    said("signal", outcome_word(kill(getppid(), None)));
    said("unlisted_call", outcome_word(sched_setaffinity(Pid::this(), &CpuSet::new())));
    said("thread", outcome_word(thread::Builder::new().spawn(|| ()).map(drop)));
    probe_files(file, &mut said);
    probe_sockets(&file.with_extension("sock"), &mut said);
    Ok(writeln!(io::stdout(), "{}", Value::Object(tried))?)
}

fn probe_files(file: &Path, said: &mut impl FnMut(&str, String) -> Option<Value>) {
    said("write", outcome_word(File::create(file.with_extension("probe"))));
    said("write_in_place", outcome_word(File::options().append(true).open(file)));
    said("chmod", outcome_word(fs::set_permissions(file, Permissions::from_mode(0o666))));
    said("remove", outcome_word(fs::remove_file(file)));
    said("read", outcome_word(fs::read(file)));
    said("list", outcome_word(file.parent().map_or(Ok(()), |dir| fs::read_dir(dir).map(drop))));
}

fn probe_sockets(theirs: &Path, said: &mut impl FnMut(&str, String) -> Option<Value>) {
    let foreign = SocketAddr::from((Ipv4Addr::LOCALHOST, FOREIGN_PORT));
    let stream = |domain: Domain, protocol: Option<i32>| {
        Socket::new(domain, Type::STREAM, protocol.map(Protocol::from))
    };
    let tcp = || stream(Domain::IPV4, None);
    let early =
        |socket: Socket| socket.send_to_with_flags(b"GET / ", &foreign.into(), libc::MSG_FASTOPEN);
    let nameless = UnixAddress::from_abstract_name(b"probe");
    said("connect", outcome_word(TcpStream::connect(foreign)));
    said("connect_early", outcome_word(tcp().and_then(early)));
    said("connect_multipath", outcome_word(stream(Domain::IPV4, Some(libc::IPPROTO_MPTCP))));
    said("connect_unix", outcome_word(UnixStream::connect(theirs)));
    said("connect_abstract", outcome_word(nameless.and_then(|at| UnixStream::connect_addr(&at))));
    said("unix_datagrams", outcome_word(UnixDatagram::pair()));
    said("udp", outcome_word(UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))));
    said("netlink", outcome_word(stream(Domain::from(libc::AF_NETLINK), None)));
    said("vsock", outcome_word(stream(Domain::VSOCK, None)));
    said("listen", outcome_word(tcp().and_then(|socket| socket.listen(1))));
    said("pair", outcome_word(UnixStream::pair()));
}

fn outcome_word<T, E: Into<io::Error>>(outcome: Result<T, E>) -> String {
    match outcome {
        Ok(_) => "done".to_owned(),
        Err(error) => error.into().kind().to_string(),
    }
}
