//! Where a client of the proxy wants to connect.

use std::fmt;
use std::net::Ipv6Addr;

use http::header::HOST;
use http::uri::{Authority, Scheme};
use http::{HeaderMap, Request};
use url::Host;

/// A host in its normal form, and a port.
///
/// Two spellings of one host are equal: case, a trailing dot, and numbers such as `2130706433` and `0x7f.1` do not matter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Target {
    /// A name, or an address without brackets.
    pub(super) host: String,
    pub(super) port: u16,
}

impl Target {
    /// The target of a CONNECT request.
    pub(super) fn of_connect<B>(request: &Request<B>) -> Result<Self, &'static str> {
        let authority = request.uri().authority().ok_or("CONNECT needs host:port")?;
        let port = authority.port_u16().ok_or("CONNECT needs host:port")?;
        let target = Self::parse(authority, port)?;
        target.check_host_header(request.headers(), port)?;
        Ok(target)
    }

    /// The target of a request for a whole URL.
    pub(super) fn of_request<B>(request: &Request<B>) -> Result<Self, &'static str> {
        let uri = request.uri();
        let whole = "this is a proxy: send a whole URL, or CONNECT";
        if uri.scheme() != Some(&Scheme::HTTP) {
            return Err(if uri.scheme().is_some() { "only http URLs, or CONNECT" } else { whole });
        }
        let authority = uri.authority().ok_or(whole)?;
        let target = Self::parse(authority, authority.port_u16().unwrap_or(80))?;
        target.check_host_header(request.headers(), 80)?;
        Ok(target)
    }

    fn parse(authority: &Authority, port: u16) -> Result<Self, &'static str> {
        if authority.as_str().contains('@') {
            return Err("user names in addresses are not supported");
        }
        let host = Host::parse(authority.host()).map_err(|_| "the host is invalid")?;
        let host = match host {
            Host::Domain(name) => name.trim_end_matches('.').to_owned(),
            Host::Ipv4(address) => address.to_string(),
            Host::Ipv6(address) => address.to_string(),
        };
        // A name in the DNS has at most 253 bytes.
        if host.is_empty() || host.len() > 253 || port == 0 {
            return Err("the host or port is invalid");
        }
        Ok(Self { host, port })
    }

    /// A server that serves several hosts chooses by the header, so it must name the target too.
    fn check_host_header(&self, headers: &HeaderMap, default: u16) -> Result<(), &'static str> {
        let mut named = headers.get_all(HOST).iter();
        let Some(header) = named.next() else { return Ok(()) };
        let header = header.to_str().ok().and_then(|text| text.parse::<Authority>().ok());
        let header = header.and_then(|it| Self::parse(&it, it.port_u16().unwrap_or(default)).ok());
        if named.next().is_some() || header.as_ref() != Some(self) {
            return Err("the Host header names another host");
        }
        Ok(())
    }

    /// Whether it is an address, which has no name in TLS.
    pub(super) fn is_address(&self) -> bool {
        self.host.parse::<std::net::IpAddr>().is_ok()
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.parse::<Ipv6Addr>().is_ok() {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connect(uri: &str, host: Option<&str>) -> Result<Target, &'static str> {
        let mut request = Request::connect(uri);
        if let Some(host) = host {
            request = request.header(HOST, host);
        }
        Target::of_connect(&request.body(()).unwrap())
    }

    fn get(uri: &str, host: &str) -> Result<Target, &'static str> {
        Target::of_request(&Request::get(uri).header(HOST, host).body(()).unwrap())
    }

    #[test]
    fn spellings_of_one_host_are_one_target() {
        for (uri, expected) in [
            ("Example.COM:443", "example.com:443"),
            ("example.com.:443", "example.com:443"),
            ("2130706433:443", "127.0.0.1:443"),
            ("0x7f.1:443", "127.0.0.1:443"),
            ("[::ffff:127.0.0.1]:443", "[::ffff:127.0.0.1]:443"),
            ("[::1]:8443", "[::1]:8443"),
        ] {
            assert_eq!(connect(uri, None).unwrap().to_string(), expected, "{uri}");
        }
    }

    #[test]
    fn the_host_header_names_the_target() {
        assert!(connect("a.example:443", Some("A.example:443")).is_ok());
        assert!(connect("a.example:443", Some("a.example")).is_ok());
        assert!(connect("a.example:443", Some("b.example:443")).is_err());
        assert!(connect("a.example:443", Some("a.example:444")).is_err());
        assert!(get("http://a.example/x", "a.example").is_ok());
        assert!(get("http://a.example:8080/x", "a.example:8080").is_ok());
        assert!(get("http://a.example/x", "b.example").is_err());
        let twice = Request::get("http://a.example/")
            .header(HOST, "a.example")
            .header(HOST, "b.example")
            .body(())
            .unwrap();
        assert!(Target::of_request(&twice).is_err());
    }

    #[test]
    fn what_is_not_a_proxy_request_is_rejected() {
        assert!(connect("a.example", None).is_err());
        assert!(connect("a.example:0", None).is_err());
        assert!(connect("user@a.example:443", None).is_err());
        assert!(connect(&format!("{}.example:443", "a.".repeat(200)), None).is_err());
        for uri in ["/x", "https://a.example/", "ftp://a.example/", "http://u:p@a.example/"] {
            assert!(get(uri, "a.example").is_err(), "{uri}");
        }
    }
}
