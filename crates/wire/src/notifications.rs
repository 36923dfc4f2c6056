//! Notifications: channels, deliveries, and the mail server.

use chrono::{DateTime, Utc};
use cynode_domain::ids::{NoticeChannelId, NoticeDeliveryId, ProjectId, TaskId};
use cynode_domain::notice::{ChannelKind, DeliveryStatus, NoticeKind};
use serde::{Deserialize, Serialize};

use crate::credentials::GivenSecret;
use crate::page::PageQuery;

/// `POST /v1/notifications/channels`
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateChannel {
    /// Lowercase letters, digits and dashes; unique among the channels of the caller.
    pub name: String,
    pub target: ChannelTarget,
    /// Only events of this project, by id or slug; all projects when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// What the channel delivers; everything when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notices: Vec<NoticeKind>,
}

/// Where a channel delivers to.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum ChannelTarget {
    /// A signed HTTP request.
    Webhook {
        url: GivenSecret,
        /// The key of the signature, as `whsec_` and base64 of 24 to 64 bytes; generated when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        secret: Option<GivenSecret>,
    },
    Email {
        address: String,
    },
    /// An incoming webhook of Slack, or of a server that is compatible with it.
    Slack {
        url: GivenSecret,
    },
}

/// A channel, without its address and secret.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct ChannelView {
    pub id: NoticeChannelId,
    pub name: String,
    pub kind: ChannelKind,
    /// The host or the mail address that it delivers to.
    pub target: String,
    pub project_id: Option<ProjectId>,
    pub notices: Vec<NoticeKind>,
    pub is_enabled: bool,
    /// Failures since the last delivery that succeeded.
    pub failures: u32,
    pub failing_since: Option<DateTime<Utc>>,
    /// Why the last attempt failed.
    pub last_error: Option<String>,
    pub last_delivered_at: Option<DateTime<Utc>>,
    pub created_at: DateTime<Utc>,
}

/// A new channel.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct CreatedChannel {
    #[serde(flatten)]
    pub channel: ChannelView,
    /// The key of the signatures, if it was generated. It is returned only here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<GivenSecret>,
}

/// `GET /v1/notifications/channels`
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct ChannelList {
    pub items: Vec<ChannelView>,
}

/// `PATCH /v1/notifications/channels/{channel}`
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateChannel {
    /// A disabled channel keeps its pending deliveries and gets no further ones.
    pub is_enabled: bool,
}

/// `GET /v1/notifications/deliveries`
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct DeliveryQuery {
    /// Page size, 1 to 200; 50 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// The `next_cursor` of the previous page; absent for the first page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Only deliveries of this channel, by id or name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<DeliveryStatus>,
}

impl DeliveryQuery {
    /// Paging parameters of the query.
    pub fn page(&self) -> PageQuery {
        PageQuery { limit: self.limit, cursor: self.cursor.clone() }
    }
}

/// One notification on its way through one channel.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct DeliveryView {
    /// The same for every attempt.
    pub id: NoticeDeliveryId,
    pub channel_id: NoticeChannelId,
    /// The name of the channel.
    pub channel: String,
    pub kind: NoticeKind,
    pub title: String,
    pub task_id: Option<TaskId>,
    pub task_name: Option<String>,
    pub status: DeliveryStatus,
    /// Attempts that failed.
    pub attempts: u32,
    pub last_error: Option<String>,
    pub created_at: DateTime<Utc>,
    /// The next attempt, while it is pending.
    pub due_at: DateTime<Utc>,
    pub finished_at: Option<DateTime<Utc>>,
}

/// `POST /v1/notifications/deliveries/purge`: deletes dead deliveries.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PurgeDeliveries {
    /// Only those of this channel, by id or name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
}

/// The number of deleted deliveries.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct PurgedDeliveries {
    pub deleted: u64,
}

/// How the connection to a mail server is encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SmtpTls {
    /// The connection must be upgraded with STARTTLS.
    Starttls,
    /// TLS from the first byte.
    Tls,
    /// Not encrypted; only for a mail server on this machine.
    None,
}

/// `PUT /v1/notifications/smtp`: the mail server. Administrators only.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SmtpSettings {
    pub host: String,
    pub port: u16,
    pub tls: SmtpTls,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub username: Option<String>,
    /// It is never returned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password: Option<GivenSecret>,
    /// The sender, such as `CyNode <cynode@example.com>`.
    pub from: String,
    /// Channels may have addresses of these domains only; of every domain when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allowed_domains: Vec<String>,
    /// A certificate authority that is trusted besides those of the system, in PEM.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca_pem: Option<String>,
}

/// The mail server, without its password.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct SmtpView {
    pub host: String,
    pub port: u16,
    pub tls: SmtpTls,
    pub username: Option<String>,
    pub has_password: bool,
    pub from: String,
    pub allowed_domains: Vec<String>,
}
