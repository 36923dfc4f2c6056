//! Conversations: threads of a user in a project, and what was said in them.

use chrono::{DateTime, Utc};
use cynode_domain::ids::{ChatMessageId, ProjectId, ThreadId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// `POST /v1/chat/threads`: a new thread, which is the one that goes on from now.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateThread {
    /// The project, by id or slug; the default project when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// What people call it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
}

/// Which threads a list shows.
#[derive(Debug, Clone, Default, Deserialize, Serialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ThreadQuery {
    /// Of this project, by id or slug; of all projects when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// How many items, 1 to 200; 50 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// The `next_cursor` of the page before; absent for the first page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// A conversation.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct ThreadView {
    /// The thread's id.
    pub id: ThreadId,
    /// What it is about.
    pub project_id: ProjectId,
    /// What people call it.
    pub title: Option<String>,
    /// When it began.
    pub created_at: DateTime<Utc>,
    /// When something was last said in it.
    pub updated_at: DateTime<Utc>,
}

/// `POST /v1/chat/threads/{thread}/messages`: says something without asking for an answer.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AppendMessage {
    /// Who says it: `user`.
    pub role: String,
    /// What is said; secrets in it are not kept.
    pub content: String,
}

/// Something that was said, without secrets.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct ThreadMessageView {
    /// The message's id.
    pub id: ChatMessageId,
    /// By whom: `user`, `assistant` or `tool`.
    pub role: String,
    /// What was said.
    pub content: String,
    /// Whether it was cut off: by its reader, a timeout or a fault.
    pub is_partial: bool,
    /// What else is known, such as the model.
    #[schema(value_type = Object)]
    pub metadata: Value,
    /// When it was said.
    pub created_at: DateTime<Utc>,
}
