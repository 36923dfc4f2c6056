//! Webhooks: verification of a delivery, and the events that matter to the project manager.
//!
//! Start at [`receive`]. Nothing of a body is parsed before its signature or token was verified. A delivery is a hint to
//! read the forge again: signatures cover no time, so a copied delivery can be repeated.

mod event;
mod gitea;
mod github;
mod gitlab;
mod signature;

use http::HeaderMap;
use secrecy::SecretString;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

pub use event::{ForgeEvent, IssueChange, PullRequestChange};

use crate::address::{ForgeKind, RepositoryPath};
use crate::text::{MAX_NAME_BYTES, clean_line};

/// GitHub sends at most 25 MB.
pub const MAX_WEBHOOK_BYTES: usize = 25 << 20;

/// A verified delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookDelivery {
    /// The same for every repetition of a delivery. The signature does not cover it: compare `body_digest` too.
    pub delivery_id: String,
    /// SHA-256 of the body, in hexadecimal digits.
    pub body_digest: String,
    /// `None` for events without a repository, such as a ping of an organization.
    pub repository: Option<RepositoryPath>,
    /// The login name of the user whose action caused the event; empty if the forge does not name one.
    pub sender: String,
    pub event: ForgeEvent,
}

/// Why a delivery is rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WebhookError {
    #[error("the delivery has no signature")]
    Unsigned,
    #[error("the signature of the delivery is wrong")]
    WrongSignature,
    #[error("the webhook has no secret: set one here and on the forge")]
    NoSecret,
    #[error("the delivery is invalid: {0}")]
    Invalid(&'static str),
}

/// Verifies a delivery and parses its event. `body` is the exact bytes that were received, of the content type
/// `application/json`.
pub fn receive(
    kind: ForgeKind,
    headers: &HeaderMap,
    body: &[u8],
    secret: &SecretString,
) -> Result<WebhookDelivery, WebhookError> {
    if body.len() > MAX_WEBHOOK_BYTES {
        return Err(WebhookError::Invalid("it is too large"));
    }
    signature::verify(kind, headers, body, secret)?;
    let body_digest = hex::encode(Sha256::digest(body));
    let payload: Value = serde_json::from_slice(body)
        .map_err(|_| WebhookError::Invalid("it is not JSON: set the content type to JSON"))?;
    let header = |name: &str| {
        let value = headers.get(name)?.to_str().ok()?;
        let value = clean_line(value, MAX_NAME_BYTES);
        (!value.is_empty()).then_some(value)
    };
    let missing = || WebhookError::Invalid("it names no event");
    let (event, id, repository, sender) = match kind {
        ForgeKind::Github => (
            github::parse(&header("x-github-event").ok_or_else(missing)?, &payload),
            header("x-github-delivery"),
            &payload["repository"]["full_name"],
            &payload["sender"]["login"],
        ),
        ForgeKind::Gitea => {
            let name = header("x-gitea-event-type").or_else(|| header("x-forgejo-event-type"));
            let name = name.or_else(|| header("x-gitea-event"));
            let id = header("x-gitea-delivery").or_else(|| header("x-forgejo-delivery"));
            (
                gitea::parse(&name.ok_or_else(missing)?, &payload),
                id,
                &payload["repository"]["full_name"],
                &payload["sender"]["login"],
            )
        }
        ForgeKind::Gitlab => {
            let user = &payload["user"]["username"];
            let sender = if user.is_null() { &payload["user_username"] } else { user };
            // Since GitLab 17.4; the event id before is the same for all webhooks of one event.
            let id = header("idempotency-key").or_else(|| header("x-gitlab-event-uuid"));
            (gitlab::parse(&payload), id, &payload["project"]["path_with_namespace"], sender)
        }
    };
    Ok(WebhookDelivery {
        delivery_id: id.unwrap_or_else(|| body_digest.clone()),
        body_digest,
        repository: repository.as_str().and_then(|path| path.parse().ok()),
        sender: clean_line(sender.as_str().unwrap_or_default(), MAX_NAME_BYTES),
        event: event.ok_or(WebhookError::Invalid("fields of its event are missing"))?,
    })
}
