//! Which network addresses may be reached on behalf of callers (SSRF protection).
//!
//! Start at [`AllowedNetworks::allows`]. A process that connects to caller-supplied addresses exposes its own
//! network position; only public addresses, and those an administrator allowed, are safe.
//!
//! Invariant: an address that is not known to be public is not public.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// The setting with the allowed internal destinations: a list of networks (`10.1.0.0/16`), addresses
/// and hosts (`wiki.corp.example`, `*.corp.example`).
pub const ALLOWED_NETWORKS_SETTING: &str = "network.internal.allowed";

const MAX_ALLOWED_NETWORKS: usize = 256;

/// Non-public, loopback and cloud metadata ranges.
const NON_PUBLIC_V4: [([u8; 4], u8); 17] = [
    ([0, 0, 0, 0], 8),
    ([10, 0, 0, 0], 8),
    ([100, 64, 0, 0], 10),
    ([127, 0, 0, 0], 8),
    ([168, 63, 129, 16], 32),
    ([169, 254, 0, 0], 16),
    ([172, 16, 0, 0], 12),
    ([192, 0, 0, 0], 24),
    ([192, 0, 2, 0], 24),
    ([192, 31, 196, 0], 24),
    ([192, 88, 99, 0], 24),
    ([192, 168, 0, 0], 16),
    ([198, 18, 0, 0], 15),
    ([198, 51, 100, 0], 24),
    ([203, 0, 113, 0], 24),
    ([224, 0, 0, 0], 4),
    ([240, 0, 0, 0], 4),
];

/// The global unicast range; excludes mapped and translated addresses.
const GLOBAL_V6: (u16, u8) = (0x2000, 3);

/// Parts of it for protocols, documentation and 6to4.
const NON_PUBLIC_V6: [([u16; 2], u8); 4] =
    [([0x2001, 0], 23), ([0x2001, 0xdb8], 32), ([0x2002, 0], 16), ([0x3fff, 0], 20)];

/// Whether an address belongs to the public internet.
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => !NON_PUBLIC_V4
            .iter()
            .any(|(start, bits)| IpNetwork::v4(*start, *bits).holds(address.into())),
        IpAddr::V6(address) => {
            let (start, bits) = GLOBAL_V6;
            IpNetwork::v6([start, 0], bits).holds(address.into())
                && !NON_PUBLIC_V6
                    .iter()
                    .any(|(start, bits)| IpNetwork::v6(*start, *bits).holds(address.into()))
        }
    }
}

/// Whether a host name is internal, regardless of its resolution.
pub fn is_internal_name(name: &str) -> bool {
    let name = normalize_host(name);
    let ends = [".localhost", ".local", ".internal", ".home.arpa", ".lan", ".intranet"];
    !name.contains('.') || ends.iter().any(|end| name.ends_with(end))
}

/// A range of addresses, such as `10.0.0.0/8`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IpNetwork {
    start: IpAddr,
    bits: u8,
}

impl IpNetwork {
    const fn v4(start: [u8; 4], bits: u8) -> Self {
        let [a, b, c, d] = start;
        Self { start: IpAddr::V4(Ipv4Addr::new(a, b, c, d)), bits }
    }

    const fn v6(start: [u16; 2], bits: u8) -> Self {
        let [a, b] = start;
        Self { start: IpAddr::V6(Ipv6Addr::new(a, b, 0, 0, 0, 0, 0, 0)), bits }
    }

    /// Whether the network contains an address.
    pub fn holds(&self, address: IpAddr) -> bool {
        match (self.start, address) {
            (IpAddr::V4(start), IpAddr::V4(address)) => {
                let rest = 32_u32.saturating_sub(self.bits.into());
                (start.to_bits() ^ address.to_bits()).checked_shr(rest).unwrap_or(0) == 0
            }
            (IpAddr::V6(start), IpAddr::V6(address)) => {
                let rest = 128_u32.saturating_sub(self.bits.into());
                (start.to_bits() ^ address.to_bits()).checked_shr(rest).unwrap_or(0) == 0
            }
            (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => false,
        }
    }
}

/// An invalid entry.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AllowedNetworkError {
    #[error("\"{0}\" is not a network, address or host")]
    Invalid(String),
    #[error("more than {MAX_ALLOWED_NETWORKS} entries")]
    TooMany,
}

impl FromStr for IpNetwork {
    type Err = AllowedNetworkError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let unreadable = || AllowedNetworkError::Invalid(text.chars().take(100).collect());
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits.parse::<u8>().map_err(|_| unreadable())?)),
            None => (text, None),
        };
        let start: IpAddr = address.parse().map_err(|_| unreadable())?;
        let most = if start.is_ipv4() { 32 } else { 128 };
        let bits = bits.unwrap_or(most);
        if bits <= most { Ok(Self { start, bits }) } else { Err(unreadable()) }
    }
}

/// A host, or every host below one: `docs.example` or `*.docs.example`. A single `*` is every host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPattern(String);

impl HostPattern {
    /// Whether it is every host.
    pub fn is_any(&self) -> bool {
        self.0 == "*"
    }

    /// Whether every host of `other` is one of this pattern.
    pub fn covers(&self, other: &Self) -> bool {
        match other.0.strip_prefix('*') {
            Some(end) => self.is_any() || self == other || (!end.is_empty() && self.matches(end)),
            None => self.matches(&other.0),
        }
    }

    pub fn matches(&self, host: &str) -> bool {
        let host = normalize_host(host);
        match self.0.strip_prefix('*') {
            Some(end) => host.len() > end.len() && host.ends_with(end),
            None => host == self.0,
        }
    }
}

impl FromStr for HostPattern {
    type Err = AllowedNetworkError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let name = normalize_host(text);
        let rest = if name == "*" { "any" } else { name.strip_prefix("*.").unwrap_or(&name) };
        let is_known = |c: char| c.is_ascii_alphanumeric() || ".-_:".contains(c);
        if rest.is_empty() || rest.len() > 253 || !rest.chars().all(is_known) {
            return Err(AllowedNetworkError::Invalid(text.chars().take(100).collect()));
        }
        Ok(Self(name))
    }
}

/// Internal destinations that an administrator allowed. Empty by default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AllowedNetworks {
    networks: Vec<IpNetwork>,
    hosts: Vec<HostPattern>,
}

impl AllowedNetworks {
    /// Parses the entries of a setting; one invalid entry rejects the list.
    pub fn parse<'a>(
        entries: impl IntoIterator<Item = &'a str>,
    ) -> Result<Self, AllowedNetworkError> {
        let mut openings = Self::default();
        for (count, entry) in entries.into_iter().enumerate() {
            if count >= MAX_ALLOWED_NETWORKS {
                return Err(AllowedNetworkError::TooMany);
            }
            match entry.parse() {
                Ok(network) => openings.networks.push(network),
                Err(unreadable) if entry.contains('/') || normalize_host(entry) == "*" => {
                    // `*` would allow every internal host.
                    return Err(unreadable);
                }
                Err(_) => openings.hosts.push(entry.parse()?),
            }
        }
        Ok(openings)
    }

    /// Whether a connection to `address`, resolved from `host`, is allowed.
    pub fn allows(&self, host: &str, address: IpAddr) -> bool {
        is_public(address) || self.allows_address(address) || self.names(host)
    }

    /// Whether a host is allowed by name.
    pub fn names(&self, host: &str) -> bool {
        self.hosts.iter().any(|opened| opened.matches(host))
    }

    fn allows_address(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.networks.iter().any(|network| network.holds(address))
    }
}

/// Normalises a host name for comparison.
fn normalize_host(name: &str) -> String {
    name.trim_end_matches('.').to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_that_are_not_of_the_public_internet_are_told_apart() {
        for address in [
            "0.0.0.0",
            "10.1.2.3",
            "100.64.0.1",
            "100.100.100.200",
            "127.0.0.1",
            "127.255.0.1",
            "168.63.129.16",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.192",
            "192.0.2.1",
            "192.168.1.1",
            "198.18.0.1",
            "198.19.255.255",
            "198.51.100.7",
            "203.0.113.9",
            "224.0.0.1",
            "239.255.255.250",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:8.8.8.8",
            "::ffff:127.0.0.1",
            "::127.0.0.1",
            "64:ff9b::a00:1",
            "64:ff9b:1::1",
            "100::1",
            "2001::1",
            "2001:db8::1",
            "2002:7f00:1::",
            "3fff::1",
            "5f00::1",
            "fc00::1",
            "fd00:ec2::254",
            "fe80::1",
            "fec0::1",
            "ff02::1",
        ] {
            assert!(!is_public(address.parse().unwrap()), "{address}");
        }
        for address in [
            "1.1.1.1",
            "8.8.8.8",
            "93.184.216.34",
            "172.15.255.255",
            "172.32.0.1",
            "100.63.255.255",
            "100.128.0.1",
            "192.0.1.1",
            "198.20.0.1",
            "223.255.255.255",
            "2606:4700::1111",
            "2a00:1450:4001::1",
            "2001:4860:4860::8888",
        ] {
            assert!(is_public(address.parse().unwrap()), "{address}");
        }
    }

    #[test]
    fn what_is_opened_is_admitted_and_what_lies_beside_it_is_not() {
        let openings = AllowedNetworks::parse([
            "10.1.0.0/16",
            "192.168.0.7",
            "fd00::/8",
            "*.corp.example",
            "wiki",
        ])
        .unwrap();
        let admits = |host: &str, address: &str| openings.allows(host, address.parse().unwrap());

        assert!(admits("x", "10.1.255.1") && admits("x", "::ffff:10.1.2.3"));
        assert!(admits("x", "192.168.0.7") && admits("x", "fd12::1"));
        assert!(admits("git.CORP.example.", "127.0.0.1") && admits("wiki", "10.9.9.9"));
        assert!(!admits("x", "10.2.0.1") && !admits("x", "192.168.0.8"));
        assert!(!admits("corp.example", "10.2.0.1") && !admits("evilcorp.example", "10.2.0.1"));
        assert!(admits("anything.example", "8.8.8.8"));
        assert!(!AllowedNetworks::default().allows("localhost", "127.0.0.1".parse().unwrap()));
    }

    #[test]
    fn an_opening_that_cannot_be_read_spoils_the_list() {
        for entry in ["", "10.0.0.0/33", "::/129", "10.0.0/8", "a b", "http://x", "*", "*x", "x/y"]
        {
            assert!(AllowedNetworks::parse(["10.0.0.0/8", entry]).is_err(), "{entry}");
        }
        assert_eq!(
            AllowedNetworks::parse(vec!["a"; MAX_ALLOWED_NETWORKS + 1]),
            Err(AllowedNetworkError::TooMany)
        );
        assert!("0.0.0.0/0".parse::<IpNetwork>().unwrap().holds("9.9.9.9".parse().unwrap()));
    }

    #[test]
    fn names_of_internal_networks_are_known_by_their_look() {
        for name in ["localhost", "database", "vault.internal", "printer.local.", "a.localhost"] {
            assert!(is_internal_name(name), "{name}");
        }
        assert!(!is_internal_name("mcp.example.com"));
    }
}
