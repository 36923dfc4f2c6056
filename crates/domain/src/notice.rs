//! Notifications of people: what they are about, where they are delivered, and what they contain.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::ids::{ProjectId, TaskId};

words! {
    /// What a notification is about.
    NoticeKind("kind of notification") {
        /// A run, a request or an agent asks a question.
        Question = "question",
        /// Something continues once a person approves it.
        Approval = "approval",
        /// Work failed, or makes no progress, and a person decides.
        Escalation = "escalation",
        /// A tool of an installed server waits for approval.
        ToolChanged = "tool_changed",
        /// A request has spent its budget.
        BudgetStop = "budget_stop",
        /// A request has ended.
        RequestEnded = "request_ended",
        /// A person tries a channel.
        Test = "test",
    }

    /// How a channel delivers notifications.
    ChannelKind("kind of channel") {
        /// A signed HTTP request.
        Webhook = "webhook",
        Email = "email",
        /// An incoming webhook of Slack, or of a server that is compatible with it.
        Slack = "slack",
    }

    /// The state of a delivery.
    DeliveryStatus("status of a delivery") {
        Pending = "pending",
        Delivered = "delivered",
        /// Every attempt failed.
        Dead = "dead",
    }
}

impl NoticeKind {
    /// What a channel delivers unless it is limited: everything but tests, which are sent on demand.
    pub fn subscribable() -> impl Iterator<Item = Self> {
        Self::ALL.iter().copied().filter(|kind| *kind != Self::Test)
    }
}

/// The content of a notification. Every text is bounded and free of secrets and control characters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct NoticeMessage {
    pub kind: NoticeKind,
    /// One line, written by this program.
    pub title: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
    /// The name of the task or request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_id: Option<ProjectId>,
    /// What was asked, or how it ended. Written by agents, models or people: not to be trusted.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// More lines of the same origin.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub details: Vec<String>,
    /// The command that shows or answers it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    pub occurred_at: DateTime<Utc>,
}
