//! What a runner hears of people, and asks of them. The rest of its API is in [`crate::workflow`].

use cynode_domain::question::Question;
use serde::{Deserialize, Serialize};

use crate::workflow::Hold;

/// The answer to a checkpoint: it is stored.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct SavedView {
    /// Whether somebody asked the run to pause: the runner puts it down now.
    #[serde(default)]
    pub pause: bool,
}

/// `POST /v1/workflow/ask`: puts the run down until a person has answered. The answer is an effect of the
/// run, under the same key.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AskPerson {
    /// Proof of the right to write; it ends with this call.
    pub hold: Hold,
    /// Unique in the run.
    pub key: String,
    /// The node that asks.
    pub node: String,
    /// The question.
    pub question: Question,
}
