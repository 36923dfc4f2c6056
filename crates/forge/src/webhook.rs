//! Webhooks: verification of a delivery, and the events that matter to the project manager.
//!
//! Start at [`receive`]. Nothing of a body is parsed before its signature or token was verified.

use http::HeaderMap;
use secrecy::SecretString;

use crate::address::{ForgeKind, RepositoryPath};
use crate::ci::CiState;
use crate::pull_request::{PullRequestState, ReviewState};

/// A verified delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookDelivery {
    /// The same for every repetition of a delivery. The signature does not cover it: compare `body_digest` too.
    pub delivery_id: String,
    /// SHA-256 of the body, in hexadecimal digits.
    pub body_digest: String,
    /// `None` for events without a repository, such as a ping of an organization.
    pub repository: Option<RepositoryPath>,
    /// The login name of the user whose action caused the event.
    pub sender: String,
    pub event: ForgeEvent,
}

/// What happened. Texts are left out: read them from the forge, with the write access of their author.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ForgeEvent {
    /// The forge tries the webhook out.
    Ping,
    IssueChanged {
        number: u64,
        change: IssueChange,
    },
    /// A comment in the conversation of an issue or pull request was created or edited.
    Commented {
        number: u64,
        is_pull_request: bool,
        comment_id: u64,
    },
    PullRequestChanged {
        number: u64,
        change: PullRequestChange,
        state: PullRequestState,
        head_commit: Option<String>,
    },
    /// A review was submitted or dismissed.
    Reviewed {
        number: u64,
        state: ReviewState,
    },
    /// A comment on a line of the changes.
    ReviewCommented {
        number: u64,
        comment_id: Option<u64>,
    },
    /// A check of a commit has a new state.
    CiUpdated {
        commit: String,
        state: CiState,
    },
    /// Verified, but of no interest.
    Ignored {
        name: String,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IssueChange {
    Opened,
    Edited,
    Closed,
    Reopened,
    Labeled,
    Assigned,
    Other,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PullRequestChange {
    Opened,
    Edited,
    /// New commits.
    Pushed,
    Ready,
    Merged,
    Closed,
    Reopened,
    Other,
}

/// Why a delivery is rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WebhookError {
    #[error("the delivery has no signature")]
    Unsigned,
    #[error("the signature of the delivery is wrong")]
    WrongSignature,
    #[error("the delivery is invalid: {0}")]
    Invalid(&'static str),
}

/// Verifies a delivery and parses its event. `body` is the exact bytes that were received.
pub fn receive(
    kind: ForgeKind,
    headers: &HeaderMap,
    body: &[u8],
    secret: &SecretString,
) -> Result<WebhookDelivery, WebhookError> {
    let _ = (kind, headers, body, secret);
    unimplemented!()
}
