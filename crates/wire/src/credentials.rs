//! Credentials for providers. Secrets are write-only.

use std::fmt;

use chrono::{DateTime, Utc};
use cynode_domain::ids::{CredentialId, UserId};
use cynode_domain::model::{CredentialKind, CredentialOwner};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// A secret in a request. Debug output redacts it.
#[derive(Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(transparent)]
pub struct GivenSecret(pub String);

impl fmt::Debug for GivenSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

/// `POST /v1/credentials`
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SetCredential {
    /// Owner type; `user` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner_type: Option<CredentialOwner>,
    /// User or group; the caller when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner_id: Option<Uuid>,
    /// Provider name.
    pub provider: String,
    /// Name among the owner's credentials for the provider; `default` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Credential type; `api_key` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential_type: Option<CredentialKind>,
    /// The secret. It is never returned.
    pub secret: GivenSecret,
    /// Expiry time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<DateTime<Utc>>,
}

/// `POST /v1/credentials/{credential}/rotate`
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RotateCredential {
    /// The new secret.
    pub secret: GivenSecret,
    /// New expiry time; null for no expiry, unchanged when absent.
    #[serde(default, skip_serializing_if = "Expiry::is_kept")]
    #[schema(value_type = Option<DateTime<Utc>>)]
    pub expires_at: Expiry,
}

/// `PATCH /v1/credentials/{credential}`
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateCredential {
    /// Whether it is enabled; unchanged when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_active: Option<bool>,
    /// New expiry time; null for no expiry, unchanged when absent.
    #[serde(default, skip_serializing_if = "Expiry::is_kept")]
    #[schema(value_type = Option<DateTime<Utc>>)]
    pub expires_at: Expiry,
}

/// New expiry of a credential. In JSON, null means never and absent means unchanged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(from = "Option<DateTime<Utc>>", into = "Option<DateTime<Utc>>")]
pub enum Expiry {
    /// Unchanged.
    #[default]
    Kept,
    /// No expiry.
    Never,
    /// Expires at this time.
    At(DateTime<Utc>),
}

impl Expiry {
    /// Whether the expiry is unchanged.
    pub fn is_kept(&self) -> bool {
        *self == Self::Kept
    }
}

impl From<Option<DateTime<Utc>>> for Expiry {
    fn from(end: Option<DateTime<Utc>>) -> Self {
        end.map_or(Self::Never, Self::At)
    }
}

impl From<Expiry> for Option<DateTime<Utc>> {
    fn from(expiry: Expiry) -> Self {
        match expiry {
            Expiry::At(end) => Some(end),
            Expiry::Kept | Expiry::Never => None,
        }
    }
}

/// A credential, without its secret.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct CredentialView {
    /// Its id.
    pub id: CredentialId,
    /// Owner.
    pub owner_type: CredentialOwner,
    /// User or group; null for a system credential.
    pub owner_id: Option<Uuid>,
    /// Provider name.
    pub provider: String,
    /// Its name.
    pub name: String,
    /// Type.
    pub credential_type: CredentialKind,
    /// The key it is encrypted with.
    pub key_id: String,
    /// Whether it is enabled.
    pub is_active: bool,
    /// Expiry time.
    pub expires_at: Option<DateTime<Utc>>,
    /// Version, incremented by every change.
    pub version: i64,
    /// User who wrote it.
    pub updated_by: Option<UserId>,
    /// Timestamp.
    pub updated_at: DateTime<Utc>,
}

/// Result of a key rotation.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct RotatedKeyView {
    /// The new key.
    pub key_id: String,
    /// Number of re-encrypted credentials.
    pub credentials: u64,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_end_that_is_not_said_stays_and_null_takes_it_away() {
        let read = |text: &str| serde_json::from_str::<UpdateCredential>(text).unwrap().expires_at;
        let end = "2026-01-31T00:00:00Z".parse().unwrap();

        assert_eq!(read("{}"), Expiry::Kept);
        assert_eq!(read(r#"{"expires_at": null}"#), Expiry::Never);
        assert_eq!(read(r#"{"expires_at": "2026-01-31T00:00:00Z"}"#), Expiry::At(end));
        for (expiry, text) in [
            (Expiry::Kept, json!({})),
            (Expiry::Never, json!({"expires_at": null})),
            (Expiry::At(end), json!({"expires_at": "2026-01-31T00:00:00Z"})),
        ] {
            let update = UpdateCredential { is_active: None, expires_at: expiry };
            assert_eq!(serde_json::to_value(&update).unwrap(), text);
        }
    }
}
