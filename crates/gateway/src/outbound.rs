//! Reaching out on behalf of others, safely.
//!
//! Start at [`Reach`]: how far somebody may reach. Requests go to addresses that were checked, and
//! to no others: a name is looked up once, every address it leads to is judged, and the connection
//! is made to those very addresses. An address in a URL never meets the resolver, so it is judged
//! before. `fetch` follows redirects by hand, because each hop is a new address.

pub(crate) mod fetch;

use std::net::SocketAddr;
use std::time::Duration;

use cynode_domain::policy::network::{OPENINGS, Openings};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::redirect::Policy;
use reqwest::{ClientBuilder, Url};
use serde_json::Value;

/// How we introduce ourselves.
pub(crate) const AGENT: &str = concat!("cynode/", env!("CARGO_PKG_VERSION"));

/// How far somebody may reach into the network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reach {
    /// Everywhere, with the proxies of this process: for what an administrator set up.
    Anywhere,
    /// The public internet, and what is opened beside it.
    Public(Openings),
}

/// The address is not one that may be reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the address belongs to an internal network, which is not opened")]
pub(crate) struct Internal;

impl Reach {
    /// A client that can connect to nothing else, and follows no redirect.
    pub(crate) fn client(&self, connect_timeout: Duration) -> ClientBuilder {
        let builder = reqwest::Client::builder()
            .connect_timeout(connect_timeout)
            .redirect(Policy::none())
            .user_agent(AGENT);
        match self {
            Self::Anywhere => builder,
            // A proxy would look names up by itself, and reach what we must not.
            Self::Public(openings) => {
                builder.no_proxy().dns_resolver(Guarded(Self::Public(openings.clone())))
            }
        }
    }

    /// The addresses of a host, if each of them may be reached.
    pub(crate) async fn resolve(
        &self,
        host: &str,
        port: u16,
    ) -> Result<Vec<SocketAddr>, Box<dyn std::error::Error + Send + Sync>> {
        let found: Vec<SocketAddr> = tokio::net::lookup_host((host, port)).await?.collect();
        match self {
            Self::Public(openings) if !found.iter().all(|it| openings.admits(host, it.ip())) => {
                Err(Internal.into())
            }
            Self::Anywhere | Self::Public(_) => Ok(found),
        }
    }

    /// Judges an address that stands in a URL; names are judged when they are looked up.
    pub(crate) fn check(&self, url: &Url) -> Result<(), Internal> {
        let Self::Public(openings) = self else { return Ok(()) };
        let Some(host) = url.host_str() else { return Err(Internal) };
        let literal = host.trim_start_matches('[').trim_end_matches(']').parse();
        match literal {
            Ok(address) if !openings.admits(host, address) => Err(Internal),
            Ok(_) | Err(_) => Ok(()),
        }
    }
}

/// What the settings of an installation open. What cannot be read opens nothing.
pub(crate) fn openings(setting: Option<&Value>) -> Openings {
    let Some(setting) = setting else { return Openings::default() };
    let entries: Option<Vec<&str>> =
        setting.as_array().and_then(|entries| entries.iter().map(Value::as_str).collect());
    let parsed = entries.map(Openings::parse);
    parsed.and_then(Result::ok).unwrap_or_else(|| {
        tracing::warn!(
            "the setting {OPENINGS} is no list of networks and hosts: nothing is opened"
        );
        Openings::default()
    })
}

/// Looks names up, and refuses those that lead anywhere internal, if only with one address.
struct Guarded(Reach);

impl Resolve for Guarded {
    fn resolve(&self, name: Name) -> Resolving {
        let reach = self.0.clone();
        Box::pin(async move {
            let found = reach.resolve(name.as_str(), 0).await?;
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

/// Whether a request failed because it led to an internal network.
pub(crate) fn is_internal(error: &reqwest::Error) -> bool {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if error.is::<Internal>() {
            return true;
        }
        cause = error.source();
    }
    false
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(reach: &Reach, url: &str) -> Result<(), Internal> {
        reach.check(&Url::parse(url).unwrap())
    }

    #[test]
    fn addresses_in_urls_are_judged_however_they_are_written() {
        let reach = Reach::Public(Openings::default());

        for url in [
            "http://127.0.0.1/",
            "http://2130706433/",
            "http://0x7f.1/",
            "http://0177.0.0.1/",
            "http://[::1]/",
            "http://[::ffff:10.0.0.1]/",
            "http://169.254.169.254/latest/meta-data",
        ] {
            assert_eq!(check(&reach, url), Err(Internal), "{url}");
        }
        assert_eq!(check(&reach, "http://93.184.216.34/"), Ok(()));
        assert_eq!(check(&Reach::Anywhere, "http://127.0.0.1/"), Ok(()));
    }

    #[tokio::test]
    async fn a_name_that_leads_to_this_machine_is_refused_before_anything_is_sent() {
        let client = Reach::Public(Openings::default()).client(Duration::from_secs(5));

        let refused = client.build().unwrap().get("http://localhost:1/").send().await.unwrap_err();

        assert!(is_internal(&refused), "{refused:?}");
    }

    #[test]
    fn a_setting_that_cannot_be_read_opens_nothing() {
        let opened = openings(Some(&json!(["127.0.0.0/8"])));

        assert!(opened.admits("x", "127.0.0.1".parse().unwrap()));
        for setting in [json!("127.0.0.0/8"), json!(["127.0.0.0/8", 7]), json!(["127.0.0.0/99"])] {
            assert_eq!(openings(Some(&setting)), Openings::default());
        }
    }
}
