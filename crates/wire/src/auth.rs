//! Sign-in, tokens and users.

use chrono::{DateTime, Utc};
use cynode_domain::ids::{TokenId, UserId};
use serde::{Deserialize, Serialize};

/// `POST /v1/auth/login`
#[derive(Clone, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Login {
    /// The user's handle.
    pub handle: String,
    /// The user's password.
    pub password: String,
}

/// `POST /v1/auth/refresh` and `POST /v1/auth/logout`
#[derive(Clone, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RefreshToken {
    /// The newest refresh token of the session.
    pub refresh_token: String,
}

/// A signed-in session: a short access token and the refresh token that replaces both.
#[derive(Clone, Deserialize, Serialize, utoipa::ToSchema)]
pub struct SessionView {
    /// Send as `Authorization: Bearer …`.
    pub access_token: String,
    /// Valid for one refresh; the response carries the next one.
    pub refresh_token: String,
    /// Always `Bearer`.
    pub token_type: String,
    /// Lifetime of the access token in seconds.
    pub expires_in: u64,
}

/// A user.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct UserView {
    /// The user's id.
    pub id: UserId,
    /// The user's handle.
    pub handle: String,
    /// Whether the user is an administrator.
    pub is_admin: bool,
    /// Whether the user may sign in.
    pub is_active: bool,
    /// Creation time.
    pub created_at: DateTime<Utc>,
}

/// `POST /v1/users`
#[derive(Clone, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateUser {
    /// Lowercase letters, digits and dashes; `system` is reserved.
    pub handle: String,
    /// At least 12 characters.
    pub password: String,
    /// Whether the user is an administrator.
    #[serde(default)]
    pub is_admin: bool,
}

/// `PATCH /v1/users/{user}`. Absent fields stay as they are.
#[derive(Clone, Default, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateUser {
    /// Whether the user may sign in. False ends the user's sessions and suspends every token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_active: Option<bool>,
    /// Whether the user is an administrator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_admin: Option<bool>,
    /// A new password, at least 12 characters. It ends the user's sessions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password: Option<String>,
}

/// `POST /v1/users/me/password`
#[derive(Clone, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangePassword {
    /// The current password.
    pub current_password: String,
    /// The new password, at least 12 characters.
    pub new_password: String,
}

/// How many sessions or tokens a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct EndedCount {
    /// Number of sessions or tokens that were valid before.
    pub ended: u64,
}

/// `POST /v1/tokens`
#[derive(Debug, Clone, Default, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateToken {
    /// Purpose of the token.
    pub name: String,
    /// Lifetime in days; 90 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_in_days: Option<u32>,
    /// Whether the token never expires.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub never_expires: bool,
}

/// An API token without its secret.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct TokenView {
    /// The token's id.
    pub id: TokenId,
    /// Purpose of the token.
    pub name: String,
    /// Creation time.
    pub created_at: DateTime<Utc>,
    /// Expiry time; absent for no expiry.
    pub expires_at: Option<DateTime<Utc>>,
    /// When it was revoked.
    pub revoked_at: Option<DateTime<Utc>>,
    /// When it was last used, to within five minutes; absent if it never was.
    pub last_used_at: Option<DateTime<Utc>>,
}

/// A new API token; the only response with the secret.
#[derive(Clone, Deserialize, Serialize, utoipa::ToSchema)]
pub struct NewTokenView {
    /// The token without its secret.
    #[serde(flatten)]
    pub token: TokenView,
    /// The secret. It is not stored and cannot be shown again.
    pub secret: String,
}
