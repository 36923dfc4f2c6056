//! Credentials for providers, sealed. What opens them is not in the database.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use cynode_domain::ids::{CredentialId, UserId};
use cynode_domain::model::{CredentialKind, CredentialOwner};
use uuid::Uuid;

use crate::column::Row;
use crate::param::params;
use crate::quarantine::tables;
use crate::{Error, Tx};

/// A credential.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Credential {
    /// Its id.
    pub id: CredentialId,
    /// Whose it is.
    pub owner: CredentialOwner,
    /// The user or group; nothing for the installation's own.
    pub owner_id: Option<Uuid>,
    /// For which provider.
    pub provider: String,
    /// What it is.
    pub kind: CredentialKind,
    /// Its name among those of the same owner for the same provider.
    pub name: String,
    /// The sealed secret.
    pub sealed: Vec<u8>,
    /// The key that opens it.
    pub key: String,
    /// Whether it is used.
    pub is_active: bool,
    /// From when on it is not used any more.
    pub expires_at: Option<DateTime<Utc>>,
    /// Grows with every change; 1 at first.
    pub version: i64,
    /// When it was made.
    pub created_at: DateTime<Utc>,
    /// When it was written.
    pub updated_at: DateTime<Utc>,
    /// Who wrote it.
    pub updated_by: Option<UserId>,
}

/// Credentials. An owner has at most one of a name for a provider.
#[async_trait]
pub trait CredentialStore {
    /// The credential with this id.
    async fn credential_get(&mut self, id: CredentialId) -> Result<Option<Credential>, Error>;
    /// Every credential, by provider, owner and name.
    async fn credential_list(&mut self) -> Result<Vec<Credential>, Error>;
    /// Adds a credential; false if its owner has one of that name for that provider.
    async fn credential_insert(&mut self, new: &Credential) -> Result<bool, Error>;
    /// Writes a credential whose version was `version - 1`; false if it is not that. Owner, provider
    /// and name stay.
    async fn credential_update(&mut self, changed: &Credential) -> Result<bool, Error>;
    /// Removes a credential; false if there is none.
    async fn credential_delete(&mut self, id: CredentialId) -> Result<bool, Error>;
}

#[async_trait]
impl CredentialStore for Tx {
    async fn credential_get(&mut self, id: CredentialId) -> Result<Option<Credential>, Error> {
        let sql = "SELECT * FROM api_credentials WHERE id = $1";
        self.one(&tables::CREDENTIALS, sql, params![id], credential).await
    }

    async fn credential_list(&mut self) -> Result<Vec<Credential>, Error> {
        let sql = "SELECT * FROM api_credentials
                   ORDER BY provider, owner_type, owner_id, credential_name";
        self.list(&tables::CREDENTIALS, sql, &[], credential).await
    }

    async fn credential_insert(&mut self, new: &Credential) -> Result<bool, Error> {
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

    async fn credential_update(&mut self, changed: &Credential) -> Result<bool, Error> {
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

    async fn credential_delete(&mut self, id: CredentialId) -> Result<bool, Error> {
        let sql = "DELETE FROM api_credentials WHERE id = $1";
        Ok(self.execute(sql, params![id]).await? == 1)
    }
}

pub(crate) fn credential(row: &Row) -> Result<Credential, Error> {
    Ok(Credential {
        id: row.id("id")?,
        owner: row.word("owner_type")?,
        owner_id: row.get("owner_id")?,
        provider: row.get("provider")?,
        kind: row.word("credential_type")?,
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
