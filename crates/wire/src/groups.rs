//! Groups of users.

use chrono::{DateTime, Utc};
use cynode_domain::ids::{GroupId, UserId};
use serde::{Deserialize, Serialize};

/// `POST /v1/groups`
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateGroup {
    /// Its name in URLs and on the command line: lowercase letters, digits and single dashes.
    pub name: String,
    /// Display name; the name when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
}

/// A group of users.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct GroupView {
    /// Group id. If two groups of a user conflict, the later id wins.
    pub id: GroupId,
    /// Its name in URLs and on the command line.
    pub name: String,
    /// Display name.
    pub display_name: String,
    /// Whether the caller is a member.
    pub is_member: bool,
    /// Creation time.
    pub created_at: DateTime<Utc>,
}

/// A user in a group.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct MemberView {
    /// The user.
    pub user_id: UserId,
    /// Handle.
    pub handle: String,
    /// When the user was added.
    pub added_at: DateTime<Utc>,
}
