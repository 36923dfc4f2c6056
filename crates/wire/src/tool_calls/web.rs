//! `web.*`

use cynode_domain::ids::TaskId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::tool_calls;

/// Limit and default of the text of a document, in characters.
pub const MAX_FETCHED_CHARS: usize = 200_000;
pub const DEFAULT_FETCHED_CHARS: usize = 20_000;
pub(super) const MAX_URL_CHARS: usize = 2048;

tool_calls! {
    WebFetch => "web.fetch",
}

#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WebFetch {
    /// The id of the task.
    pub task_id: TaskId,
    /// The address, with `http://` or `https://`.
    #[schemars(length(min = 1, max = MAX_URL_CHARS))]
    pub url: String,
    /// Limit in characters of text; 20000 when absent.
    #[schemars(range(min = 1, max = MAX_FETCHED_CHARS))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_chars: Option<usize>,
}
