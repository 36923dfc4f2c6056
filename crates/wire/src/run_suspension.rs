//! What suspends a run: a pause that a checkpoint announces, and a question to a person. The rest of the runner API is in
//! [`crate::workflow`].

use cynode_domain::question::Question;
use serde::{Deserialize, Serialize};

use crate::workflow::LeaseToken;

/// Response to a checkpoint: it is stored.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct CheckpointAckView {
    /// Whether the run shall pause: the runner suspends it now.
    #[serde(default)]
    pub pause: bool,
}

/// `POST /v1/workflow/ask`: suspends the run until a person has answered the question. The answer is an effect of the run,
/// with the same key.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SuspendForQuestion {
    /// Lease that authorises the write; it is released by this call.
    #[serde(rename = "hold")]
    pub lease: LeaseToken,
    /// Unique in the run.
    pub key: String,
    /// The node that asks.
    pub node: String,
    /// The question.
    pub question: Question,
}
