//! Chat threads of a user in a project, and their messages.

use chrono::{DateTime, Utc};
use cynode_domain::ids::{ChatMessageId, ProjectId, ThreadId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// `POST /v1/chat/threads`: creates a thread, which becomes the current one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateThread {
    /// The project, by id or slug; the default project when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Title.
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
    /// Page size, 1 to 200; 50 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// The `next_cursor` of the previous page; absent for the first page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// A conversation.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct ThreadView {
    /// The thread's id.
    pub id: ThreadId,
    /// Project.
    pub project_id: ProjectId,
    /// Title.
    pub title: Option<String>,
    /// Start time.
    pub created_at: DateTime<Utc>,
    /// Time of the last message.
    pub updated_at: DateTime<Utc>,
}

/// `POST /v1/chat/threads/{thread}/messages`: appends a message without requesting an answer.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AppendMessage {
    /// Role: `user`.
    pub role: String,
    /// Content; secrets are redacted before it is stored.
    pub content: String,
}

/// A message, with secrets redacted.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct ThreadMessageView {
    /// The message's id.
    pub id: ChatMessageId,
    /// Role: `user`, `assistant` or `tool`.
    pub role: String,
    /// Its messages.
    pub content: String,
    /// Whether it was cut off: by its reader, a timeout or a fault.
    pub is_partial: bool,
    /// Other metadata, such as the model.
    #[schema(value_type = Object)]
    pub metadata: Value,
    /// Creation time.
    pub created_at: DateTime<Utc>,
}
