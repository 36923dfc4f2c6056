//! Where a channel delivers to: validation, and the sealed form.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cynode_domain::ids::{NoticeChannelId, UserId};
use cynode_domain::notice::ChannelKind;
use cynode_network::NetworkReach;
use cynode_wire::credentials::GivenSecret;
use cynode_wire::notifications::ChannelTarget;
use lettre::Address;
use serde::{Deserialize, Serialize};
use url::{Host, Url};

use crate::NotificationError;

/// The prefix of the keys of webhooks.
const SECRET_PREFIX: &str = "whsec_";
const MAX_URL_BYTES: usize = 2_000;
/// The length of a generated key.
const SECRET_BYTES: usize = 32;

/// The sealed part of a channel.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SealedTarget {
    /// The owner of the channel. If the row is changed to name another user, the target cannot be opened.
    pub(crate) owner: UserId,
    #[serde(flatten)]
    pub(crate) address: TargetAddress,
}

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum TargetAddress {
    Webhook { url: Url, secret: String },
    Email { address: Address },
    Slack { url: Url },
}

/// The name under which the target of a channel is sealed.
pub(crate) fn sealed_name(channel: NoticeChannelId) -> String {
    format!("notice_channel/{channel}")
}

impl TargetAddress {
    /// Validates a target. Returns the key of signatures too if it was generated.
    pub(crate) fn parse(
        target: ChannelTarget,
        reach: &NetworkReach,
    ) -> Result<(Self, Option<String>), NotificationError> {
        Ok(match target {
            ChannelTarget::Webhook { url, secret } => {
                let url = parse_url(&url.0, reach)?;
                if let Some(GivenSecret(secret)) = secret {
                    let rule = "the secret of a webhook is `whsec_` and base64 of 24 to 64 bytes";
                    decode_secret(&secret).ok_or_else(|| NotificationError::invalid(rule))?;
                    (Self::Webhook { url, secret }, None)
                } else {
                    let secret = generate_secret()?;
                    (Self::Webhook { url, secret: secret.clone() }, Some(secret))
                }
            }
            ChannelTarget::Slack { url } => (Self::Slack { url: parse_url(&url.0, reach)? }, None),
            ChannelTarget::Email { address } => {
                let fault = || NotificationError::invalid("this is not a mail address");
                let address: Address = address.trim().parse().map_err(|_| fault())?;
                (Self::Email { address }, None)
            }
        })
    }

    pub(crate) fn kind(&self) -> ChannelKind {
        match self {
            Self::Webhook { .. } => ChannelKind::Webhook,
            Self::Email { .. } => ChannelKind::Email,
            Self::Slack { .. } => ChannelKind::Slack,
        }
    }

    /// The address without its secret parts.
    pub(crate) fn shown(&self) -> String {
        match self {
            Self::Webhook { url, .. } | Self::Slack { url } => url.origin().ascii_serialization(),
            Self::Email { address } => address.to_string(),
        }
    }
}

/// The bytes of the key of signatures.
pub(crate) fn decode_secret(secret: &str) -> Option<Vec<u8>> {
    let bytes = STANDARD.decode(secret.strip_prefix(SECRET_PREFIX)?).ok()?;
    (24..=64).contains(&bytes.len()).then_some(bytes)
}

fn generate_secret() -> Result<String, NotificationError> {
    let mut bytes = [0; SECRET_BYTES];
    getrandom::fill(&mut bytes)
        .map_err(|_| NotificationError::invalid("this machine has no random numbers"))?;
    Ok(format!("{SECRET_PREFIX}{}", STANDARD.encode(bytes)))
}

/// Plain http does not encrypt the message, so it is accepted only for this machine.
fn parse_url(text: &str, reach: &NetworkReach) -> Result<Url, NotificationError> {
    let fault = |text: &str| NotificationError::invalid(text);
    if text.len() > MAX_URL_BYTES {
        return Err(fault("the URL is too long"));
    }
    let mut url = Url::parse(text.trim()).map_err(|_| fault("this is not a URL"))?;
    let is_loopback = match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => return Err(fault("the URL has no host")),
    };
    if !(url.scheme() == "https" || (url.scheme() == "http" && is_loopback)) {
        return Err(fault("the URL must start with https://"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(fault("the URL must not contain a user name or password"));
    }
    reach.check(&url).map_err(|_| {
        fault("the address is in an internal network; an administrator can open it with the setting network.internal.allowed")
    })?;
    url.set_fragment(None);
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;
    use cynode_domain::policy::network::AllowedNetworks;

    fn parse(target: ChannelTarget) -> Result<(TargetAddress, Option<String>), NotificationError> {
        TargetAddress::parse(target, &NetworkReach::Public(AllowedNetworks::default()))
    }

    fn webhook(url: &str) -> ChannelTarget {
        ChannelTarget::Webhook { url: GivenSecret(url.to_owned()), secret: None }
    }

    #[test]
    fn internal_and_readable_addresses_are_rejected() {
        for url in [
            "https://127.0.0.1/",
            "https://2130706433/",
            "https://[::1]/",
            "https://169.254.169.254/latest",
            "http://localhost/",
            "http://example.com/",
            "ftp://example.com/",
            "https://user:password@example.com/",
            "example.com",
        ] {
            // A host name is checked when it is resolved.
            let is_name = url == "http://localhost/";
            assert_eq!(parse(webhook(url)).is_ok(), is_name, "{url}");
        }
        let (address, secret) = parse(webhook("https://example.com/a?token=b#c")).ok().unwrap();
        assert_eq!(address.shown(), "https://example.com");
        assert_eq!(decode_secret(&secret.unwrap()).unwrap().len(), SECRET_BYTES);
    }

    #[test]
    fn an_address_that_ends_a_header_is_no_mail_address() {
        for address in ["a@b.example\r\nBcc: c@d.example", "a@b.example, c@d.example", "a", ""] {
            let target = ChannelTarget::Email { address: address.to_owned() };
            assert!(parse(target).is_err(), "{address}");
        }
    }

    #[test]
    fn a_given_key_has_enough_bytes() {
        for (secret, is_valid) in [
            ("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", true),
            ("whsec_short", false),
            ("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", false),
        ] {
            assert_eq!(decode_secret(secret).is_some(), is_valid, "{secret}");
        }
    }
}
