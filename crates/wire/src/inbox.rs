//! The inbox: messages of agents that need a person's answer.

use cynode_domain::agent::InstructionKind;
use serde::{Deserialize, Serialize};

use crate::apmas::MessageView;
use crate::page::PageQuery;

/// A message of an agent that waits for a person.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct InboxItem {
    /// The name of the task that it is about.
    pub task_name: String,
    /// The message.
    #[serde(flatten)]
    pub message: MessageView,
}

/// `GET /v1/inbox`
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct InboxQuery {
    /// Page size, 1 to 200; 50 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// The `next_cursor` of the previous page; absent for the first page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Only messages about this task, by id or name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
}

impl InboxQuery {
    /// Paging parameters of the query.
    pub fn page(&self) -> PageQuery {
        PageQuery { limit: self.limit, cursor: self.cursor.clone() }
    }
}

/// `POST /v1/inbox/{message}/answer`
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AnswerMessage {
    /// Answer for the agent.
    pub text: String,
    /// Instruction type; `continue` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instruction: Option<InstructionKind>,
}
