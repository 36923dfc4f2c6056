//! Sends one message through one channel, once.

pub(crate) mod email;
pub(crate) mod slack;
pub(crate) mod webhook;

use std::time::Duration;

use chrono::{DateTime, Utc};
use cynode_domain::ids::NoticeDeliveryId;
use cynode_domain::notice::NoticeMessage;
use cynode_domain::policy::network::ALLOWED_NETWORKS_SETTING;
use cynode_network::{NetworkReach, is_internal, parse_openings};
use cynode_resources::sealed_values::open_value;
use cynode_resources::servers::SecretSealer;
use cynode_store::{NoticeChannel, SealedValue, Store, Tx};
use http::header::RETRY_AFTER;
use reqwest::{Client, Response};
use secrecy::ExposeSecret as _;

use crate::NotificationError;
use crate::mail_server::{self, MailServer, load_mail_server};
use crate::target::{SealedTarget, TargetAddress, sealed_name};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// The timeout of one attempt as a whole.
pub(crate) const SEND_TIMEOUT: Duration = Duration::from_secs(15);
/// The longest delay that a receiver can ask for.
const MAX_RETRY_AFTER: Duration = Duration::from_hours(1);

/// Why an attempt failed. The reason has no address, no secret and no text of the receiver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SendFailure {
    pub(crate) reason: String,
    /// The receiver wants no attempt before.
    pub(crate) retry_after: Option<Duration>,
}

impl SendFailure {
    pub(crate) fn new(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), retry_after: None }
    }
}

/// What is needed to send through one channel.
pub(crate) struct SendContext {
    /// The reason if the channel cannot be used.
    transport: Result<ChannelTransport, SendFailure>,
    timeout: Duration,
}

enum ChannelTransport {
    Http { client: Client, reach: NetworkReach, address: TargetAddress },
    Mail { server: Box<MailServer>, address: lettre::Address },
}

struct StoredContext {
    target: Option<SealedValue>,
    mail_server: Option<SealedValue>,
    reach: NetworkReach,
}

impl SendContext {
    /// Loads and opens the target of a channel. A channel that cannot be used fails when it sends.
    pub(crate) async fn load(
        store: &Store,
        sealer: &dyn SecretSealer,
        channel: &NoticeChannel,
    ) -> Result<Self, NotificationError> {
        let name = sealed_name(channel.id);
        let stored = store
            .read(move |tx| {
                Box::pin(async move {
                    Ok::<_, NotificationError>(StoredContext {
                        target: tx.sealed_value_get(&name).await?,
                        mail_server: load_mail_server(tx).await?,
                        reach: load_reach(tx).await?,
                    })
                })
            })
            .await?;
        let transport = open_transport(sealer, channel, stored);
        Ok(Self { transport, timeout: SEND_TIMEOUT })
    }

    #[must_use]
    pub(crate) fn with_timeout(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }

    pub(crate) async fn send(
        &self,
        id: NoticeDeliveryId,
        message: &NoticeMessage,
        now: DateTime<Utc>,
    ) -> Result<(), SendFailure> {
        let sending = async {
            match self.transport.as_ref().map_err(Clone::clone)? {
                ChannelTransport::Http { client, reach, address } => {
                    send_http(client, reach, address, id, message, now).await
                }
                ChannelTransport::Mail { server, address } => {
                    email::send(server, address, id, message, self.timeout).await
                }
            }
        };
        let late = || Err(SendFailure::new("the receiver did not answer in time"));
        tokio::time::timeout(self.timeout, sending).await.unwrap_or_else(|_| late())
    }
}

/// The networks that webhooks reach.
pub(crate) async fn load_reach(tx: &mut Tx) -> Result<NetworkReach, NotificationError> {
    let setting = tx.setting_get(ALLOWED_NETWORKS_SETTING).await?;
    Ok(NetworkReach::Public(parse_openings(setting.as_ref().map(|setting| &setting.value))))
}

fn open_transport(
    sealer: &dyn SecretSealer,
    channel: &NoticeChannel,
    stored: StoredContext,
) -> Result<ChannelTransport, SendFailure> {
    let damaged = || {
        SendFailure::new("the stored address of the channel is damaged: create the channel again")
    };
    let value = stored.target.ok_or_else(damaged)?;
    let opened = open_value(sealer, &value).map_err(|error| SendFailure::new(error.to_string()))?;
    let target: SealedTarget =
        serde_json::from_str(opened.expose_secret()).map_err(|_| damaged())?;
    if target.owner != channel.owner {
        return Err(damaged());
    }
    match target.address {
        TargetAddress::Email { address } => {
            let missing = || SendFailure::new("no mail server is configured: ask an administrator");
            let server = mail_server::open(sealer, &stored.mail_server.ok_or_else(missing)?)
                .and_then(|server| server.check_recipient(&address).map(|()| server))
                .map_err(|error| SendFailure::new(error.to_string()))?;
            Ok(ChannelTransport::Mail { server: Box::new(server), address })
        }
        address @ (TargetAddress::Webhook { .. } | TargetAddress::Slack { .. }) => {
            let client = stored.reach.client(CONNECT_TIMEOUT).build();
            let client = client.map_err(|_| SendFailure::new("no HTTP client can be built"))?;
            Ok(ChannelTransport::Http { client, reach: stored.reach, address })
        }
    }
}

async fn send_http(
    client: &Client,
    reach: &NetworkReach,
    address: &TargetAddress,
    id: NoticeDeliveryId,
    message: &NoticeMessage,
    now: DateTime<Utc>,
) -> Result<(), SendFailure> {
    let (url, request) = match address {
        TargetAddress::Webhook { url, secret } => {
            (url, webhook::request(client, url, secret, id, message, now)?)
        }
        TargetAddress::Slack { url } => (url, slack::request(client, url, message)),
        TargetAddress::Email { .. } => return Err(SendFailure::new("not an HTTP address")),
    };
    let internal = || SendFailure::new("the address is in an internal network that is not opened");
    reach.check(url).map_err(|_| internal())?;
    let response = request.send().await.map_err(|error| {
        if is_internal(&error) {
            internal()
        } else if error.is_timeout() {
            SendFailure::new("the receiver did not answer in time")
        } else if error.is_connect() {
            SendFailure::new("no connection can be made")
        } else {
            SendFailure::new("the receiver closed the connection")
        }
    })?;
    check_status(&response)
}

/// The body of the answer is not read.
fn check_status(response: &Response) -> Result<(), SendFailure> {
    let status = response.status();
    if status.is_success() {
        return Ok(());
    }
    if status.is_redirection() {
        return Err(SendFailure::new("the receiver redirects: add a channel with the new URL"));
    }
    let seconds = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok());
    let seconds = seconds.and_then(|seconds| seconds.trim().parse().ok());
    Err(SendFailure {
        reason: format!("the receiver answered with status {}", status.as_u16()),
        retry_after: seconds.map(|seconds| Duration::from_secs(seconds).min(MAX_RETRY_AFTER)),
    })
}
