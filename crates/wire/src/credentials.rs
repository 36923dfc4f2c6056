//! Credentials for providers. A secret goes in and never comes out.

use std::fmt;

use chrono::{DateTime, Utc};
use cynode_domain::ids::{CredentialId, UserId};
use cynode_domain::model::{CredentialKind, CredentialOwner};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// A secret on its way in. It does not show itself in debug output.
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
    /// Whose it is: the caller's own unless this says otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner_type: Option<CredentialOwner>,
    /// The user or group; the caller unless this says otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner_id: Option<Uuid>,
    /// For which provider.
    pub provider: String,
    /// Its name among those of the same owner for the same provider; `default` unless this says
    /// otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What it is; a key of an API unless this says otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential_type: Option<CredentialKind>,
    /// The secret. It is never given back.
    pub secret: GivenSecret,
    /// From when on it is not used any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<DateTime<Utc>>,
}

/// `POST /v1/credentials/{credential}/rotate`
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RotateCredential {
    /// The secret that replaces the one there is.
    pub secret: GivenSecret,
    /// From when on it is not used any more: null for never. Absent to leave that as it is.
    #[serde(default, skip_serializing_if = "Expiry::is_kept")]
    #[schema(value_type = Option<DateTime<Utc>>)]
    pub expires_at: Expiry,
}

/// `PATCH /v1/credentials/{credential}`
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateCredential {
    /// Whether it is used. Absent to leave that as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_active: Option<bool>,
    /// From when on it is not used any more: null for never. Absent to leave that as it is.
    #[serde(default, skip_serializing_if = "Expiry::is_kept")]
    #[schema(value_type = Option<DateTime<Utc>>)]
    pub expires_at: Expiry,
}

/// What becomes of the end of a credential. On the wire null is never, and absent is as it was.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(from = "Option<DateTime<Utc>>", into = "Option<DateTime<Utc>>")]
pub enum Expiry {
    /// It stays as it was.
    #[default]
    Kept,
    /// It does not end.
    Never,
    /// It ends then.
    At(DateTime<Utc>),
}

impl Expiry {
    /// Whether it stays as it was.
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
    /// Whose it is.
    pub owner_type: CredentialOwner,
    /// The user or group; nothing for the installation's own.
    pub owner_id: Option<Uuid>,
    /// For which provider.
    pub provider: String,
    /// Its name.
    pub name: String,
    /// What it is.
    pub credential_type: CredentialKind,
    /// The key it is encrypted with.
    pub key_id: String,
    /// Whether it is used.
    pub is_active: bool,
    /// From when on it is not used any more.
    pub expires_at: Option<DateTime<Utc>>,
    /// Grows with every change.
    pub version: i64,
    /// Who wrote it.
    pub updated_by: Option<UserId>,
    /// When.
    pub updated_at: DateTime<Utc>,
}

/// What a change of the key did.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct RotatedKeyView {
    /// The new key.
    pub key_id: String,
    /// How many credentials were encrypted anew.
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
