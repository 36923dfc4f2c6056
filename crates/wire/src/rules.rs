//! Access rules.

use chrono::{DateTime, Utc};
use cynode_domain::ids::{RuleId, ServerId, UserId};
use cynode_domain::policy::Effect;
use cynode_domain::policy::pattern::Pattern;
use cynode_domain::policy::rules::{Conditions, RuleSubject};
use serde::{Deserialize, Serialize};

/// `POST /v1/rules`
#[derive(Debug, Clone, Deserialize, Serialize, utoipa::ToSchema)]
pub struct CreateRule {
    /// Subject.
    #[serde(flatten)]
    pub subject: RuleSubject,
    /// Action; `mcp.tool.invoke` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<Pattern>,
    /// Resource type; `mcp.tool` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_type: Option<Pattern>,
    /// Resource pattern, such as `db.*`.
    pub resource_pattern: Pattern,
    /// The only server whose tools it is about, by id or name. When absent, an allow rule whose pattern begins with the
    /// name of a server is about that one; others are about no server of another user, deny rules about all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// Effect.
    pub effect: Effect,
    /// Priority: of several matching rules, the highest is reported as the reason.
    #[serde(default)]
    pub priority: i64,
    /// Additional conditions.
    #[serde(default)]
    pub conditions: Conditions,
}

/// An access rule.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct RuleView {
    /// The rule's id.
    pub id: RuleId,
    /// Subject.
    #[serde(flatten)]
    pub subject: RuleSubject,
    /// Action.
    pub action: Pattern,
    /// Resource type.
    pub resource_type: Pattern,
    /// Resource pattern.
    pub resource_pattern: Pattern,
    /// The only server whose tools it is about.
    #[serde(default)]
    pub server_id: Option<ServerId>,
    /// Effect.
    pub effect: Effect,
    /// Priority: of several matching rules, the highest is reported as the reason.
    pub priority: i64,
    /// Additional conditions.
    pub conditions: Conditions,
    /// User who wrote it; null for a built-in rule.
    pub updated_by: Option<UserId>,
    /// Creation time.
    pub created_at: DateTime<Utc>,
    /// When it last changed.
    pub updated_at: DateTime<Utc>,
}
