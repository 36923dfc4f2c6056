//! Probes that nothing but the listener is reachable from a sandbox.

use std::fs;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::time::Duration;

use cynode_wire::agent_jobs::CanaryObservation;
use futures_util::future::join_all;
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::{met, unmet};

/// Public resolvers, private networks, the metadata of clouds, and the bridge of containers.
const ADDRESSES: [&str; 8] = [
    "1.1.1.1:443",
    "8.8.8.8:53",
    "10.0.0.1:80",
    "172.17.0.1:80",
    "192.168.0.1:80",
    "192.168.1.1:80",
    "169.254.169.254:80",
    "[2606:4700:4700::1111]:443",
];
/// A name that every resolver knows.
const NAME: &str = "example.com:443";
/// Without a network, every attempt fails at once.
const TIMEOUT: Duration = Duration::from_secs(2);

/// Looks for a way out of the sandbox. Runs before the program starts.
pub(super) async fn probe_network() -> CanaryObservation {
    let mut found: Vec<String> = join_all(ADDRESSES.iter().map(|address| try_address(address)))
        .await
        .into_iter()
        .flatten()
        .collect();
    if let Ok(Ok(mut addresses)) = timeout(TIMEOUT, tokio::net::lookup_host(NAME)).await
        && let Some(address) = addresses.next()
    {
        found.push(format!("{NAME} resolves to {}", address.ip()));
    }
    found.extend(list_kernel_entries());
    if found.is_empty() {
        let tried = ADDRESSES.len();
        met(format!("{tried} addresses and a name were tried; none is reachable from the sandbox"))
    } else {
        unmet(format!("the sandbox has a network: {}", found.join(", ")))
    }
}

/// What the kernel lists for this network namespace.
fn list_kernel_entries() -> Vec<String> {
    let interfaces = list_interfaces(&fs::read_to_string("/proc/net/dev").unwrap_or_default());
    let mut found: Vec<String> =
        interfaces.into_iter().map(|name| format!("the network interface {name}")).collect();
    let sockets = fs::read_to_string("/proc/net/unix").unwrap_or_default();
    let count = count_abstract_sockets(&sockets);
    if count > 0 {
        found.push(format!("{count} abstract unix sockets"));
    }
    found
}

/// Returns what is reachable. A host that refuses the connection is reachable.
async fn try_address(address: &str) -> Option<String> {
    let parsed: SocketAddr = address.parse().ok()?;
    match timeout(TIMEOUT, TcpStream::connect(parsed)).await {
        Ok(Ok(_)) => Some(address.to_owned()),
        Ok(Err(error)) if error.kind() == ErrorKind::ConnectionRefused => Some(address.to_owned()),
        Ok(Err(_)) | Err(_) => None,
    }
}

/// Names of network interfaces other than the loopback interface.
fn list_interfaces(table: &str) -> Vec<String> {
    let names = table.lines().filter_map(|line| Some(line.split_once(':')?.0.trim()));
    names.filter(|name| *name != "lo").map(str::to_owned).collect()
}

/// Abstract sockets belong to a network namespace, so those of the host are not visible in one of its own.
fn count_abstract_sockets(table: &str) -> usize {
    let path = |line: &str| line.split_whitespace().nth(7).map(str::to_owned);
    table.lines().filter_map(path).filter(|path| path.starts_with('@')).count()
}

#[cfg(test)]
mod tests {
    use std::os::linux::net::SocketAddrExt as _;
    use std::os::unix::net::{SocketAddr as UnixAddress, UnixListener};

    use super::*;

    #[test]
    fn an_abstract_socket_of_this_namespace_is_seen() {
        let name = format!("cynode-canary-{}", std::process::id());
        let address = UnixAddress::from_abstract_name(name).unwrap();
        let _listener = UnixListener::bind_addr(&address).unwrap();

        let found = list_kernel_entries();

        assert!(found.iter().any(|it| it.contains("abstract unix sockets")), "{found:?}");
    }

    #[test]
    fn interfaces_and_abstract_sockets_are_found() {
        let devices = "Inter-|   Receive\n face |bytes\n    lo: 0 0\n  eth0: 1 2\n";
        assert_eq!(list_interfaces(devices), ["eth0"]);
        let sockets = "Num RefCount Protocol Flags Type St Inode Path\n\
            0: 2 0 00010000 0001 01 1 @/tmp/x\n0: 2 0 00010000 0001 01 2 /run/x\n0: 3 0 0 1 3 4\n";
        assert_eq!(count_abstract_sockets(sockets), 1);
    }
}
