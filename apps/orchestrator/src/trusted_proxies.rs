//! Clients behind reverse proxies: limits and records name the client, not the proxy.

use std::net::{IpAddr, SocketAddr};

use http::{HeaderMap, HeaderName};
use ipnet::IpNet;

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// The networks of proxies whose `X-Forwarded-For` is believed. Every other client could write what it likes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TrustedProxies(Vec<IpNet>);

impl TrustedProxies {
    /// Parses addresses and networks such as `10.0.0.7` and `10.0.0.0/8`; returns the first that is neither.
    pub(crate) fn parse(texts: &[String]) -> Result<Self, String> {
        let parse = |text: &String| {
            let network = text.parse::<IpNet>().ok();
            let network = network.or_else(|| text.parse::<IpAddr>().ok().map(IpNet::from));
            network.ok_or_else(|| text.clone())
        };
        texts.iter().map(parse).collect::<Result<_, _>>().map(Self)
    }

    pub(crate) fn contains(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.0.iter().any(|network| network.contains(&address))
    }

    /// The client of a request: the last address in the header that is not a trusted proxy. The peer itself if it is
    /// not trusted, or sends no header.
    pub(crate) fn client_address(&self, peer: SocketAddr, headers: &HeaderMap) -> SocketAddr {
        let mut client = peer;
        let values =
            headers.get_all(FORWARDED_FOR).iter().map(|value| value.to_str().unwrap_or("?"));
        let chain: Vec<&str> = values.flat_map(|value| value.split(',')).map(str::trim).collect();
        for entry in chain.into_iter().rev() {
            if !self.contains(client.ip()) {
                break;
            }
            match parse_entry(entry) {
                Some(address) => client = address,
                // A trusted proxy forwarded text that is no address; what is left of it is not trusted either.
                None => break,
            }
        }
        client
    }
}

/// An address, with a port or without.
fn parse_entry(entry: &str) -> Option<SocketAddr> {
    let address = entry.parse::<IpAddr>().map(|address| SocketAddr::new(address, 0));
    address.or_else(|_| entry.parse()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(trusted: &[&str], peer: &str, chain: &[&str]) -> String {
        let trusted: Vec<String> = trusted.iter().map(ToString::to_string).collect();
        let mut headers = HeaderMap::new();
        for value in chain {
            headers.append(FORWARDED_FOR, value.parse().unwrap());
        }
        let peer = SocketAddr::new(peer.parse().unwrap(), 9);
        TrustedProxies::parse(&trusted).unwrap().client_address(peer, &headers).ip().to_string()
    }

    #[test]
    fn the_header_counts_only_as_far_as_trusted_proxies_wrote_it() {
        let ours = ["127.0.0.1", "10.0.0.0/8", "fd00::/8"];
        for (trusted, peer, chain, expected) in [
            (&ours[..], "127.0.0.1", &["203.0.113.7"][..], "203.0.113.7"),
            (&ours, "127.0.0.1", &["6.6.6.6, 203.0.113.7", "10.1.2.3"], "203.0.113.7"),
            (&ours, "127.0.0.1", &["203.0.113.7:4711, 10.1.2.3"], "203.0.113.7"),
            (&ours, "fd00::1", &["[2001:db8::5]:443"], "2001:db8::5"),
            (&ours, "::ffff:10.0.0.1", &["203.0.113.7"], "203.0.113.7"),
            (&ours, "198.51.100.1", &["203.0.113.7"], "198.51.100.1"),
            (&ours, "127.0.0.1", &["6.6.6.6, unknown, 10.1.2.3"], "10.1.2.3"),
            (&ours, "127.0.0.1", &[], "127.0.0.1"),
            (&[], "127.0.0.1", &["203.0.113.7"], "127.0.0.1"),
        ] {
            assert_eq!(client(trusted, peer, chain), expected, "{peer} {chain:?}");
        }
    }

    #[test]
    fn what_is_no_network_is_named() {
        for text in ["10.0.0.0/33", "proxy.example", ""] {
            assert_eq!(TrustedProxies::parse(&[text.to_owned()]), Err(text.to_owned()));
        }
    }
}
