//! Which networks outbound connections reach.
//!
//! A name is resolved once, every resolved address is checked, and the connection is made to those same addresses. A
//! literal address in a URL never reaches the resolver of a client, so it is checked first.

use std::net::SocketAddr;
use std::time::Duration;

use cynode_domain::policy::network::{ALLOWED_NETWORKS_SETTING, AllowedNetworks};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::redirect::Policy;
use reqwest::{ClientBuilder, Url};
use serde_json::Value;

/// The `User-Agent` header.
pub const USER_AGENT: &str = concat!("cynode/", env!("CARGO_PKG_VERSION"));

/// The networks that outbound requests may connect to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NetworkReach {
    /// Every network, with the proxies of this process: for configuration by an administrator.
    Anywhere,
    /// The public internet, plus explicitly opened networks and hosts.
    Public(AllowedNetworks),
}

/// The address is in an internal network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the address is in an internal network that is not opened")]
pub struct InternalAddress;

impl NetworkReach {
    /// A client that can connect to nothing else, and follows no redirect.
    pub fn client(&self, connect_timeout: Duration) -> ClientBuilder {
        let builder = reqwest::Client::builder()
            .connect_timeout(connect_timeout)
            .redirect(Policy::none())
            .user_agent(USER_AGENT);
        match self {
            Self::Anywhere => builder,
            // A proxy would resolve names itself, and could reach internal addresses.
            Self::Public(openings) => {
                builder.no_proxy().dns_resolver(GuardedResolver(Self::Public(openings.clone())))
            }
        }
    }

    /// Resolves a host; fails unless every address is allowed.
    pub async fn resolve(
        &self,
        host: &str,
        port: u16,
    ) -> Result<Vec<SocketAddr>, Box<dyn std::error::Error + Send + Sync>> {
        let found: Vec<SocketAddr> = tokio::net::lookup_host((host, port)).await?.collect();
        match self {
            Self::Public(openings) if !found.iter().all(|it| openings.allows(host, it.ip())) => {
                Err(InternalAddress.into())
            }
            Self::Anywhere | Self::Public(_) => Ok(found),
        }
    }

    /// Checks a literal address in a URL; names are checked when they are resolved.
    pub fn check(&self, url: &Url) -> Result<(), InternalAddress> {
        let Self::Public(openings) = self else { return Ok(()) };
        let Some(host) = url.host_str() else { return Err(InternalAddress) };
        let literal = host.trim_start_matches('[').trim_end_matches(']').parse();
        match literal {
            Ok(address) if !openings.allows(host, address) => Err(InternalAddress),
            Ok(_) | Err(_) => Ok(()),
        }
    }
}

/// The networks that a setting opens; an invalid setting opens nothing.
pub fn parse_openings(setting: Option<&Value>) -> AllowedNetworks {
    let Some(setting) = setting else { return AllowedNetworks::default() };
    let entries: Option<Vec<&str>> =
        setting.as_array().and_then(|entries| entries.iter().map(Value::as_str).collect());
    let parsed = entries.map(AllowedNetworks::parse);
    parsed.and_then(Result::ok).unwrap_or_else(|| {
        tracing::warn!(
            "invalid setting {ALLOWED_NETWORKS_SETTING}: not a list of networks and hosts; nothing is opened"
        );
        AllowedNetworks::default()
    })
}

/// A resolver that rejects a name if any of its addresses is internal.
struct GuardedResolver(NetworkReach);

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let reach = self.0.clone();
        Box::pin(async move {
            let found = reach.resolve(name.as_str(), 0).await?;
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

/// Whether a request failed because its address is internal.
pub fn is_internal(error: &reqwest::Error) -> bool {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if error.is::<InternalAddress>() {
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

    fn check(reach: &NetworkReach, url: &str) -> Result<(), InternalAddress> {
        reach.check(&Url::parse(url).unwrap())
    }

    #[test]
    fn addresses_in_urls_are_judged_however_they_are_written() {
        let reach = NetworkReach::Public(AllowedNetworks::default());

        for url in [
            "http://127.0.0.1/",
            "http://2130706433/",
            "http://0x7f.1/",
            "http://0177.0.0.1/",
            "http://[::1]/",
            "http://[::ffff:10.0.0.1]/",
            "http://169.254.169.254/latest/meta-data",
        ] {
            assert_eq!(check(&reach, url), Err(InternalAddress), "{url}");
        }
        assert_eq!(check(&reach, "http://93.184.216.34/"), Ok(()));
        assert_eq!(check(&NetworkReach::Anywhere, "http://127.0.0.1/"), Ok(()));
    }

    #[tokio::test]
    async fn a_name_that_leads_to_this_machine_is_refused_before_anything_is_sent() {
        let client =
            NetworkReach::Public(AllowedNetworks::default()).client(Duration::from_secs(5));

        let refused = client.build().unwrap().get("http://localhost:1/").send().await.unwrap_err();

        assert!(is_internal(&refused), "{refused:?}");
    }

    #[test]
    fn a_setting_that_cannot_be_read_opens_nothing() {
        let opened = parse_openings(Some(&json!(["127.0.0.0/8"])));

        assert!(opened.allows("x", "127.0.0.1".parse().unwrap()));
        for setting in [json!("127.0.0.0/8"), json!(["127.0.0.0/8", 7]), json!(["127.0.0.0/99"])] {
            assert_eq!(parse_openings(Some(&setting)), AllowedNetworks::default());
        }
    }
}
