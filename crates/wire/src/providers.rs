//! Model providers and their models.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use cynode_domain::ids::UserId;
use cynode_domain::model::{ProviderKind, ProviderUse};
use serde::{Deserialize, Serialize};

/// Price of a model, in USD per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// Input tokens.
    pub input: f64,
    /// Output tokens.
    pub output: f64,
}

/// `PUT /v1/model-providers/{name}`
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PutProvider {
    /// API it speaks.
    pub kind: ProviderKind,
    /// Base URL, such as `https://api.openai.com/v1`; the public endpoint of its kind when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// Whether it is local: data stays on this machine and calls are free; derived from the URL when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_local: Option<bool>,
    /// Whether it is enabled; true when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_enabled: Option<bool>,
    /// Who may use it; `rules` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allow: Option<ProviderUse>,
    /// Model ids; if empty, they are requested from the provider.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<String>,
    /// Maximum concurrent calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<u32>,
    /// Prices by model.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub prices: BTreeMap<String, Price>,
}

/// A provider of models.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct ProviderView {
    /// Name: the part before the slash in model ids.
    pub name: String,
    /// API it speaks.
    pub kind: ProviderKind,
    /// Base URL.
    pub base_url: String,
    /// Whether it is local.
    pub is_local: bool,
    /// Whether it is enabled.
    pub is_enabled: bool,
    /// Who may use it.
    pub allow: ProviderUse,
    /// Configured model ids; empty if they are requested from the provider.
    pub models: Vec<String>,
    /// Maximum concurrent calls.
    pub concurrency: u32,
    /// Prices by model.
    pub prices: BTreeMap<String, Price>,
    /// Version, incremented by every change.
    pub version: i64,
    /// User who wrote it.
    pub updated_by: Option<UserId>,
    /// Timestamp.
    pub updated_at: DateTime<Utc>,
}

/// A model that the caller may use.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct ModelView {
    /// Its full name: `provider/model`.
    pub id: String,
    /// The provider.
    pub provider: String,
    /// The provider's own name for it.
    pub model: String,
    /// Whether it is local.
    pub is_local: bool,
    /// Hints that select it, such as `fast`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hints: Vec<String>,
}

/// A provider whose models could not be listed.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct SilentProvider {
    /// The provider.
    pub provider: String,
    /// Reason.
    pub reason: String,
}

/// `GET /v1/brain/models`
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct ModelsView {
    /// Models that the caller may use.
    pub models: Vec<ModelView>,
    /// Providers whose models could not be listed.
    pub silent: Vec<SilentProvider>,
}

/// Result of a provider test.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct ProviderTestView {
    /// Whether it responded and accepted the credential.
    pub is_ok: bool,
    /// Response, or error.
    pub detail: String,
    /// Its models.
    pub models: Vec<String>,
    /// Duration in milliseconds.
    pub latency_ms: i64,
}
