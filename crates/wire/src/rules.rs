//! Access rules.

use chrono::{DateTime, Utc};
use cynode_domain::ids::{RuleId, UserId};
use cynode_domain::policy::Effect;
use cynode_domain::policy::pattern::Pattern;
use cynode_domain::policy::rules::{Conditions, Subject};
use serde::{Deserialize, Serialize};

/// `POST /v1/rules`
#[derive(Debug, Clone, Deserialize, Serialize, utoipa::ToSchema)]
pub struct CreateRule {
    /// Whom it is about.
    #[serde(flatten)]
    pub subject: Subject,
    /// What they do; `mcp.tool.invoke` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<Pattern>,
    /// What kind of thing they do it to; `mcp.tool` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_type: Option<Pattern>,
    /// Which of those, such as `db.*`.
    pub resource_pattern: Pattern,
    /// What then happens.
    pub effect: Effect,
    /// Which of several matching rules is named as the reason: the highest.
    #[serde(default)]
    pub priority: i64,
    /// What must hold beside the subject.
    #[serde(default)]
    pub conditions: Conditions,
}

/// An access rule.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct RuleView {
    /// The rule's id.
    pub id: RuleId,
    /// Whom it is about.
    #[serde(flatten)]
    pub subject: Subject,
    /// What they do.
    pub action: Pattern,
    /// What kind of thing they do it to.
    pub resource_type: Pattern,
    /// Which of those.
    pub resource_pattern: Pattern,
    /// What then happens.
    pub effect: Effect,
    /// Which of several matching rules is named as the reason: the highest.
    pub priority: i64,
    /// What must hold beside the subject.
    pub conditions: Conditions,
    /// Who wrote it; nobody if it came with the installation.
    pub updated_by: Option<UserId>,
    /// When it was made.
    pub created_at: DateTime<Utc>,
    /// When it last changed.
    pub updated_at: DateTime<Utc>,
}
