//! Credentials for model providers, encrypted. The keys are not in the database.

use chrono::{DateTime, Utc};
use cynode_domain::ids::{CredentialId, UserId};
use cynode_domain::model::{CredentialKind, CredentialOwner};
use uuid::Uuid;

use crate::quarantine::tables;
use crate::{Error, Tx};
use cynode_sql::Row;
use cynode_sql::params;

/// A credential.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Credential {
    pub id: CredentialId,
    pub owner: CredentialOwner,
    /// The user or group; `None` for credentials of the installation.
    pub owner_id: Option<Uuid>,
    pub provider: String,
    pub kind: CredentialKind,
    /// Unique among the credentials of its owner for the provider.
    pub name: String,
    /// The encrypted secret.
    pub sealed: Vec<u8>,
    /// The id of the encryption key.
    pub key: String,
    pub is_active: bool,
    /// When it expires.
    pub expires_at: Option<DateTime<Utc>>,
    /// Incremented by every change; starts at 1.
    pub version: i64,
    pub created_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
    pub updated_by: Option<UserId>,
}

/// Credentials. Names are unique per owner and provider.
impl Tx {
    pub async fn credential_get(&mut self, id: CredentialId) -> Result<Option<Credential>, Error> {
        let sql = "SELECT * FROM api_credentials WHERE id = $1";
        self.one(&tables::CREDENTIALS, sql, params![id], credential).await
    }

    /// Lists all credentials, by provider, owner and name.
    pub async fn credential_list(&mut self) -> Result<Vec<Credential>, Error> {
        let sql = "SELECT * FROM api_credentials
                   ORDER BY provider, owner_type, owner_id, credential_name";
        self.list(&tables::CREDENTIALS, sql, &[], credential).await
    }

    /// Adds a credential; returns false if the owner has one of that name for the provider.
    pub async fn credential_insert(&mut self, new: &Credential) -> Result<bool, Error> {
        let sql = "INSERT INTO api_credentials (id, owner_type, owner_id, provider,
                   credential_type, credential_name, credential_ciphertext, credential_kid,
                   is_active, expires_at, version, created_at, updated_at, updated_by)
                   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
                   ON CONFLICT DO NOTHING";
        let params = params![
            new.id,
            new.owner.as_str(),
            new.owner_id,
            &new.provider,
            new.kind.as_str(),
            &new.name,
            &*new.sealed,
            &new.key,
            new.is_active,
            new.expires_at,
            new.version,
            new.created_at,
            new.updated_at,
            new.updated_by,
        ];
        Ok(self.execute(sql, params).await? == 1)
    }

    /// Updates a credential whose version was `version - 1`; returns false if the version differs. Owner,
    /// provider and name are not changed.
    pub async fn credential_update(&mut self, changed: &Credential) -> Result<bool, Error> {
        let sql = "UPDATE api_credentials SET credential_type = $3, credential_ciphertext = $4,
                   credential_kid = $5, is_active = $6, expires_at = $7, version = $2,
                   updated_at = $8, updated_by = $9 WHERE id = $1 AND version + 1 = $2";
        let params = params![
            changed.id,
            changed.version,
            changed.kind.as_str(),
            &*changed.sealed,
            &changed.key,
            changed.is_active,
            changed.expires_at,
            changed.updated_at,
            changed.updated_by,
        ];
        Ok(self.execute(sql, params).await? == 1)
    }

    /// Removes a credential; returns false if it does not exist.
    pub async fn credential_delete(&mut self, id: CredentialId) -> Result<bool, Error> {
        let sql = "DELETE FROM api_credentials WHERE id = $1";
        Ok(self.execute(sql, params![id]).await? == 1)
    }
}

pub(crate) fn credential(row: &Row) -> Result<Credential, Error> {
    Ok(Credential {
        id: row.id("id")?,
        owner: row.keyword("owner_type")?,
        owner_id: row.get("owner_id")?,
        provider: row.get("provider")?,
        kind: row.keyword("credential_type")?,
        name: row.get("credential_name")?,
        sealed: row.get("credential_ciphertext")?,
        key: row.get("credential_kid")?,
        is_active: row.get("is_active")?,
        expires_at: row.get("expires_at")?,
        version: row.get("version")?,
        created_at: row.get("created_at")?,
        updated_at: row.get("updated_at")?,
        updated_by: row.id_opt("updated_by")?,
    })
}
