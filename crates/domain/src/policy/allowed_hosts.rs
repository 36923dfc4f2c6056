//! The hosts that a sandbox may connect to.

use super::network::HostPattern;

const MAX_ENTRIES: usize = 256;
/// The port of an entry without one.
const DEFAULT_PORT: u16 = 443;

/// Hosts and ports: `api.example.com`, `*.example.com`, `example.com:8443`, `[2001:db8::1]:443`. The port is 443 if an entry
/// names none. `*` is every host. Empty by default: nothing is allowed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AllowedHosts(Vec<AllowedHost>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct AllowedHost {
    host: HostPattern,
    port: u16,
}

/// An invalid list.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AllowedHostError {
    #[error("\"{0}\" is not a host or host:port, such as api.example.com or *.example.com:8443")]
    Invalid(String),
    #[error("more than {MAX_ENTRIES} hosts")]
    TooMany,
}

impl AllowedHosts {
    /// Every host, for HTTP and HTTPS.
    pub const ANY: [&str; 2] = ["*:80", "*:443"];

    /// Parses entries; one invalid entry rejects the list.
    pub fn parse<S: AsRef<str>>(entries: &[S]) -> Result<Self, AllowedHostError> {
        if entries.len() > MAX_ENTRIES {
            return Err(AllowedHostError::TooMany);
        }
        entries
            .iter()
            .map(|entry| AllowedHost::parse(entry.as_ref()))
            .collect::<Result<_, _>>()
            .map(Self)
    }

    /// The entries of either list that the other one covers; none if a list is invalid.
    pub fn intersect(one: &[String], other: &[String]) -> Vec<String> {
        let (Ok(first), Ok(second)) = (Self::parse(one), Self::parse(other)) else { return vec![] };
        let within = |entries: &[String], parsed: &Self, all: &Self| -> Vec<String> {
            let pairs = entries.iter().zip(&parsed.0);
            pairs.filter(|(_, host)| all.covers(host)).map(|(entry, _)| entry.clone()).collect()
        };
        let mut found = within(other, &second, &first);
        for entry in within(one, &first, &second) {
            if !found.contains(&entry) {
                found.push(entry);
            }
        }
        found
    }

    fn covers(&self, host: &AllowedHost) -> bool {
        self.0.iter().any(|own| own.port == host.port && own.host.covers(&host.host))
    }

    /// Whether an entry is every host, however it is written.
    pub fn has_any_host(&self) -> bool {
        self.0.iter().any(|allowed| allowed.host.is_any())
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a connection to `host`, a name or an address without brackets, is allowed.
    pub fn allows(&self, host: &str, port: u16) -> bool {
        self.0.iter().any(|allowed| allowed.port == port && allowed.host.matches(host))
    }
}

impl AllowedHost {
    fn parse(entry: &str) -> Result<Self, AllowedHostError> {
        let invalid = || AllowedHostError::Invalid(entry.chars().take(100).collect());
        let (host, port) = match entry.strip_prefix('[') {
            Some(rest) => {
                let (host, rest) = rest.split_once(']').ok_or_else(invalid)?;
                let port = match rest {
                    "" => None,
                    rest => Some(rest.strip_prefix(':').ok_or_else(invalid)?),
                };
                host.parse::<std::net::Ipv6Addr>().map_err(|_| invalid())?;
                (host, port)
            }
            None => match entry.split_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (entry, None),
            },
        };
        let port = match port {
            Some(port) => port.parse().ok().filter(|port| *port != 0).ok_or_else(invalid)?,
            None => DEFAULT_PORT,
        };
        Ok(Self { host: host.parse().map_err(|_| invalid())?, port })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_allows_its_host_and_port_and_nothing_beside_them() {
        let hosts = AllowedHosts::parse(&[
            "api.example.com",
            "*.docs.example",
            "git.example:22",
            "[2606:4700::1111]:8443",
        ])
        .unwrap();

        assert!(hosts.allows("API.example.com.", 443) && hosts.allows("a.b.docs.example", 443));
        assert!(hosts.allows("git.example", 22) && hosts.allows("2606:4700::1111", 8443));
        for (host, port) in [
            ("api.example.com", 80),
            ("evil-api.example.com", 443),
            ("api.example.com.evil.example", 443),
            ("docs.example", 443),
            ("git.example", 443),
            ("2606:4700::1111", 443),
        ] {
            assert!(!hosts.allows(host, port), "{host}:{port}");
        }
    }

    #[test]
    fn every_host_is_meant_for_web_ports_only() {
        let hosts = AllowedHosts::parse(&AllowedHosts::ANY).unwrap();

        assert!(hosts.allows("anything.example", 443) && hosts.allows("anything.example", 80));
        assert!(!hosts.allows("anything.example", 22));
        assert!(!AllowedHosts::default().allows("anything.example", 443));
        for every in ["*", "*:22", "*.", "*.:80", "*..:443"] {
            assert!(AllowedHosts::parse(&[every]).unwrap().has_any_host(), "{every}");
        }
        assert!(!AllowedHosts::parse(&["*.example"]).unwrap().has_any_host());
    }

    #[test]
    fn an_entry_that_cannot_be_read_rejects_the_list() {
        for entry in [
            "", ":443", "a:", "a:0", "a:65536", "a:b", "http://a", "a/b", "a b", "[::1", "[a]",
            "::1",
        ] {
            assert!(AllowedHosts::parse(&["a.example", entry]).is_err(), "{entry}");
        }
        assert_eq!(AllowedHosts::parse(&["a"; MAX_ENTRIES + 1]), Err(AllowedHostError::TooMany));
    }
}
