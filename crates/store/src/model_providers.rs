//! Providers of models.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use cynode_domain::ids::UserId;
use cynode_domain::model::{ProviderKind, ProviderUse};
use serde_json::{Value, json};

use crate::column::Row;
use crate::param::params;
use crate::quarantine::tables;
use crate::{Error, Tx};

/// A provider of models.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelProvider {
    /// Its name.
    pub name: String,
    /// What it speaks.
    pub kind: ProviderKind,
    /// Where it is.
    pub base_url: String,
    /// Whether it is one's own.
    pub is_local: bool,
    /// Whether it is used.
    pub is_enabled: bool,
    /// Who may use it.
    pub allow: ProviderUse,
    /// The models it offers; empty if it is asked.
    pub models: Vec<String>,
    /// How many calls it answers at the same time.
    pub concurrency: u32,
    /// What its models cost, by name.
    pub prices: Value,
    /// Grows with every change; 1 at first.
    pub version: i64,
    /// When it was written.
    pub updated_at: DateTime<Utc>,
    /// Who wrote it.
    pub updated_by: Option<UserId>,
}

/// Providers of models.
#[async_trait]
pub trait ModelProviderStore {
    /// Every provider, by name.
    async fn provider_list(&mut self) -> Result<Vec<ModelProvider>, Error>;
    /// The provider with this name.
    async fn provider_get(&mut self, name: &str) -> Result<Option<ModelProvider>, Error>;
    /// Writes a provider whose version was `version - 1`, or is new with 1; false if it is not that.
    async fn provider_put(&mut self, provider: &ModelProvider) -> Result<bool, Error>;
    /// Removes a provider; false if there is none.
    async fn provider_delete(&mut self, name: &str) -> Result<bool, Error>;
}

#[async_trait]
impl ModelProviderStore for Tx {
    async fn provider_list(&mut self) -> Result<Vec<ModelProvider>, Error> {
        let sql = "SELECT * FROM model_providers ORDER BY name";
        self.list(&tables::PROVIDERS, sql, &[], provider).await
    }

    async fn provider_get(&mut self, name: &str) -> Result<Option<ModelProvider>, Error> {
        let sql = "SELECT * FROM model_providers WHERE name = $1";
        self.one(&tables::PROVIDERS, sql, params![name], provider).await
    }

    async fn provider_put(&mut self, provider: &ModelProvider) -> Result<bool, Error> {
        let sql = "INSERT INTO model_providers (name, kind, base_url, is_local, is_enabled,
                   allow_use, models, concurrency, prices, version, updated_at, updated_by)
                   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
                   ON CONFLICT (name) DO UPDATE SET kind = excluded.kind,
                       base_url = excluded.base_url, is_local = excluded.is_local,
                       is_enabled = excluded.is_enabled, allow_use = excluded.allow_use,
                       models = excluded.models, concurrency = excluded.concurrency,
                       prices = excluded.prices, version = excluded.version,
                       updated_at = excluded.updated_at, updated_by = excluded.updated_by
                   WHERE model_providers.version = excluded.version - 1";
        let params = params![
            &provider.name,
            provider.kind.as_str(),
            &provider.base_url,
            provider.is_local,
            provider.is_enabled,
            provider.allow.as_str(),
            json!(provider.models),
            provider.concurrency,
            &provider.prices,
            provider.version,
            provider.updated_at,
            provider.updated_by,
        ];
        Ok(self.execute(sql, params).await? == 1)
    }

    async fn provider_delete(&mut self, name: &str) -> Result<bool, Error> {
        let sql = "DELETE FROM model_providers WHERE name = $1";
        Ok(self.execute(sql, params![name]).await? == 1)
    }
}

pub(crate) fn provider(row: &Row) -> Result<ModelProvider, Error> {
    Ok(ModelProvider {
        name: row.get("name")?,
        kind: row.word("kind")?,
        base_url: row.get("base_url")?,
        is_local: row.get("is_local")?,
        is_enabled: row.get("is_enabled")?,
        allow: row.word("allow_use")?,
        models: row.json("models")?,
        concurrency: row.count("concurrency")?,
        prices: row.get("prices")?,
        version: row.get("version")?,
        updated_at: row.get("updated_at")?,
        updated_by: row.id_opt("updated_by")?,
    })
}
