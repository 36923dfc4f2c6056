//! Where connections to remotes go: the caller resolves names, and git connects only to what it returned.

use std::fmt;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;

use cynode_domain::git::RepositoryUrl;

use crate::error::GitError;

/// The future of [`HostResolver::resolve`]. An error is a sentence for people.
pub type ResolvedHost<'a> = Pin<Box<dyn Future<Output = Result<Vec<IpAddr>, String>> + Send + 'a>>;

/// Decides which addresses a remote may have.
pub trait HostResolver: Send + Sync {
    /// The addresses of a host; an error if it must not be reached.
    fn resolve<'a>(&'a self, url: &'a RepositoryUrl, host: &'a str, port: u16) -> ResolvedHost<'a>;
}

/// A resolver of the caller; without one git resolves names itself.
#[derive(Clone, Default)]
pub struct SharedResolver(Option<Arc<dyn HostResolver>>);

impl SharedResolver {
    pub fn new(resolver: Arc<dyn HostResolver>) -> Self {
        Self(Some(resolver))
    }
}

impl fmt::Debug for SharedResolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "SharedResolver(set)" } else { "SharedResolver(none)" })
    }
}

/// A host with the addresses that one operation connects to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PinnedHost {
    host: String,
    port: u16,
    addresses: Vec<IpAddr>,
}

impl PinnedHost {
    /// Resolves the host of `url`; `None` for a path of this machine, or without a resolver.
    pub(crate) async fn resolve(
        resolver: &SharedResolver,
        url: &RepositoryUrl,
    ) -> Result<Option<Self>, GitError> {
        let (Some(resolver), Some((host, port))) = (&resolver.0, url.host_and_port()) else {
            return Ok(None);
        };
        let refused = |message| GitError::Unreachable { url: url.to_string(), message };
        let addresses = resolver.resolve(url, &host, port).await.map_err(refused)?;
        if addresses.is_empty() {
            return Err(refused("the host has no address".to_owned()));
        }
        Ok(Some(Self { host, port, addresses }))
    }

    /// The value of `http.curloptResolve`.
    pub(crate) fn http_resolve(&self) -> String {
        let address = |address: &IpAddr| match address {
            IpAddr::V4(address) => address.to_string(),
            IpAddr::V6(address) => format!("[{address}]"),
        };
        let all: Vec<String> = self.addresses.iter().map(address).collect();
        format!("{}:{}:{}", self.host, self.port, all.join(","))
    }

    /// Options of ssh. The host key is still that of the name.
    pub(crate) fn ssh_options(&self) -> String {
        let first = self.addresses.first().map(ToString::to_string).unwrap_or_default();
        let alias = match self.port {
            22 => self.host.clone(),
            port => format!("[{}]:{port}", self.host),
        };
        format!(" -o HostName={first} -o 'HostKeyAlias={alias}'")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn git_and_ssh_are_told_the_addresses() {
        let addresses = vec!["192.0.2.7".parse().unwrap(), "2001:db8::1".parse().unwrap()];
        let pinned = PinnedHost { host: "git.example".to_owned(), port: 8443, addresses };

        assert_eq!(pinned.http_resolve(), "git.example:8443:192.0.2.7,[2001:db8::1]");
        assert_eq!(
            pinned.ssh_options(),
            " -o HostName=192.0.2.7 -o 'HostKeyAlias=[git.example]:8443'"
        );
    }
}
