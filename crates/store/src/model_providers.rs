//! Model providers.

use chrono::{DateTime, Utc};
use cynode_domain::ids::UserId;
use cynode_domain::model::{ProviderKind, ProviderUse};
use serde_json::{Value, json};

use crate::quarantine::tables;
use crate::{Error, Tx};
use cynode_sql::Row;
use cynode_sql::params;

/// A model provider.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelProvider {
    pub name: String,
    /// The API it implements.
    pub kind: ProviderKind,
    pub base_url: String,
    /// Whether it is self-hosted.
    pub is_local: bool,
    pub is_enabled: bool,
    /// Which callers may use it.
    pub allow: ProviderUse,
    /// The offered models; empty if the provider is queried for them.
    pub models: Vec<String>,
    /// The most concurrent calls.
    pub concurrency: u32,
    /// The prices of its models, by name.
    pub prices: Value,
    /// Incremented by every change; starts at 1.
    pub version: i64,
    pub updated_at: DateTime<Utc>,
    pub updated_by: Option<UserId>,
}

impl Tx {
    pub async fn provider_list(&mut self) -> Result<Vec<ModelProvider>, Error> {
        let sql = "SELECT * FROM model_providers ORDER BY name";
        self.list(&tables::PROVIDERS, sql, &[], provider).await
    }

    pub async fn provider_get(&mut self, name: &str) -> Result<Option<ModelProvider>, Error> {
        let sql = "SELECT * FROM model_providers WHERE name = $1";
        self.one(&tables::PROVIDERS, sql, params![name], provider).await
    }

    /// Inserts a provider (version 1), or updates one whose version was `version - 1`; returns false if the
    /// version differs.
    pub async fn provider_put(&mut self, provider: &ModelProvider) -> Result<bool, Error> {
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

    /// Removes a provider; returns false if it does not exist.
    pub async fn provider_delete(&mut self, name: &str) -> Result<bool, Error> {
        let sql = "DELETE FROM model_providers WHERE name = $1";
        Ok(self.execute(sql, params![name]).await? == 1)
    }
}

pub(crate) fn provider(row: &Row) -> Result<ModelProvider, Error> {
    Ok(ModelProvider {
        name: row.get("name")?,
        kind: row.keyword("kind")?,
        base_url: row.get("base_url")?,
        is_local: row.get("is_local")?,
        is_enabled: row.get("is_enabled")?,
        allow: row.keyword("allow_use")?,
        models: row.json("models")?,
        concurrency: row.count("concurrency")?,
        prices: row.get("prices")?,
        version: row.get("version")?,
        updated_at: row.get("updated_at")?,
        updated_by: row.id_opt("updated_by")?,
    })
}
