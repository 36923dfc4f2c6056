//! Providers of models, and the models they offer.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use cynode_domain::ids::UserId;
use cynode_domain::model::{ProviderKind, ProviderUse};
use serde::{Deserialize, Serialize};

/// What a model costs, in US dollars for a million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// Of what is sent.
    pub input: f64,
    /// Of what comes back.
    pub output: f64,
}

/// `PUT /v1/model-providers/{name}`
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PutProvider {
    /// What it speaks.
    pub kind: ProviderKind,
    /// Where it is, such as `https://api.openai.com/v1`. Absent for the usual place of its kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// Whether it is one's own: what is sent stays here, and costs nothing. Absent: if it is on this
    /// machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_local: Option<bool>,
    /// Whether it is used; it is unless this says otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_enabled: Option<bool>,
    /// Who may use it; those whom a rule allows unless this says otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allow: Option<ProviderUse>,
    /// The models it offers. Empty: the provider is asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<String>,
    /// How many calls it answers at the same time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<u32>,
    /// What its models cost, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub prices: BTreeMap<String, Price>,
}

/// A provider of models.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct ProviderView {
    /// Its name: what stands before the slash in the name of a model.
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
    /// The models it was said to offer; empty if it is asked.
    pub models: Vec<String>,
    /// How many calls it answers at the same time.
    pub concurrency: u32,
    /// What its models cost, by name.
    pub prices: BTreeMap<String, Price>,
    /// Grows with every change.
    pub version: i64,
    /// Who wrote it.
    pub updated_by: Option<UserId>,
    /// When.
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
    /// Whether it is one's own.
    pub is_local: bool,
    /// The hints that mean it, such as `fast`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hints: Vec<String>,
}

/// A provider that did not say which models it offers, and why.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct SilentProvider {
    /// The provider.
    pub provider: String,
    /// Why.
    pub reason: String,
}

/// `GET /v1/brain/models`
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct ModelsView {
    /// What the caller may use.
    pub models: Vec<ModelView>,
    /// Providers that could not be asked.
    pub silent: Vec<SilentProvider>,
}

/// What came of a test of a provider.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct ProviderTestView {
    /// Whether it answered and took the credential.
    pub is_ok: bool,
    /// What it said, or what went wrong.
    pub detail: String,
    /// The models it offers.
    pub models: Vec<String>,
    /// How long it took.
    pub latency_ms: i64,
}
