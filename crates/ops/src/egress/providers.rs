//! Providers: adding, removing and trying them. Administrators only.

use std::collections::BTreeMap;

use cynode_domain::model::ProviderUse;
use cynode_llm::{BadEndpoint, Endpoint, ProviderError, connect, usual_address};
use cynode_store::{AccessChange, ModelProvider, ModelProviderStore, RuleStore, SettingStore, Tx};
use cynode_wire::changes::ChangeView;
use cynode_wire::page::{Page, PageQuery};
use cynode_wire::providers::{Price, ProviderTestView, ProviderView, PutProvider};
use serde_json::json;
use tokio::time::Instant;
use url::{Host, Url};

use super::{Egress, EgressError};
use crate::signals::Topic;
use crate::{BadCursor, Caller, changes};

/// What the record of changes calls a provider.
const PROVIDER: &str = "model_provider";
const MAX_NAME_BYTES: usize = 64;
const MAX_MODELS: usize = 500;
const MAX_MODEL_BYTES: usize = 200;
const MAX_CONCURRENCY: u32 = 1024;
const USUAL_CONCURRENCY: u32 = 16;

/// Why an operation on providers was refused.
#[derive(Debug, thiserror::Error)]
pub enum ProviderAdminError {
    /// There is no such provider.
    #[error("there is no model provider \"{0}\"")]
    NotFound(String),
    /// Only administrators may do this.
    #[error("only an administrator may do this")]
    NotAdmin,
    /// Somebody else wrote it at the same time.
    #[error("the provider was changed by somebody else: look again")]
    Conflict,
    /// The request breaks rules.
    #[error("{0}")]
    Invalid(String),
    /// The address cannot be used.
    #[error(transparent)]
    Address(#[from] BadEndpoint),
    /// The provider could not be tried.
    #[error(transparent)]
    Egress(#[from] EgressError),
    /// The page asked for cannot be given.
    #[error(transparent)]
    Page(#[from] BadCursor),
    /// The database does not answer.
    #[error(transparent)]
    Store(#[from] cynode_store::Error),
}

impl Egress {
    /// Every provider, by name.
    pub async fn providers(
        &self,
        caller: &Caller,
    ) -> Result<Vec<ProviderView>, ProviderAdminError> {
        admin(caller)?;
        let rows = self
            .store
            .read(|tx| {
                Box::pin(async move { Ok::<_, ProviderAdminError>(tx.provider_list().await?) })
            })
            .await?;
        Ok(rows.into_iter().map(view).collect())
    }

    /// Adds a provider, or replaces the one of that name.
    pub async fn put_provider(
        &self,
        caller: &Caller,
        name: &str,
        request: PutProvider,
    ) -> Result<ProviderView, ProviderAdminError> {
        admin(caller)?;
        let mut row = checked(name, request)?;
        (row.updated_at, row.updated_by) = (self.clock.now(), Some(caller.user));
        let written = self
            .store
            .write(move |tx| {
                Box::pin(async move {
                    let old = tx.provider_get(&row.name).await?;
                    row.version = old.map_or(1, |old| old.version + 1);
                    if !tx.provider_put(&row).await? {
                        return Err(ProviderAdminError::Conflict);
                    }
                    record(tx, "provider.put", &row).await?;
                    Ok(row)
                })
            })
            .await?;
        self.signals.send(Topic::Policy);
        Ok(view(written))
    }

    /// Removes a provider. Credentials for it stay.
    pub async fn remove_provider(
        &self,
        caller: &Caller,
        name: &str,
    ) -> Result<(), ProviderAdminError> {
        admin(caller)?;
        let (name, now, by) = (name.to_owned(), self.clock.now(), caller.user);
        self.store
            .write(move |tx| {
                Box::pin(async move {
                    let row = tx.provider_get(&name).await?.ok_or_else(|| not_found(&name))?;
                    tx.provider_delete(&name).await?;
                    let row = ModelProvider { updated_at: now, updated_by: Some(by), ..row };
                    record(tx, "provider.remove", &row).await
                })
            })
            .await?;
        self.signals.send(Topic::Policy);
        Ok(())
    }

    /// Who added, replaced and removed a provider, newest first. One that is gone keeps its history.
    pub async fn provider_changes(
        &self,
        caller: &Caller,
        name: &str,
        query: &PageQuery,
    ) -> Result<Page<ChangeView>, ProviderAdminError> {
        admin(caller)?;
        changes::of_access(&self.store, changes::of_one(PROVIDER, name), query).await
    }

    /// Asks a provider what it offers, with the credential that a call of the caller would use.
    pub async fn test_provider(
        &self,
        caller: &Caller,
        name: &str,
    ) -> Result<ProviderTestView, ProviderAdminError> {
        admin(caller)?;
        let known = self.known().await?;
        let row = known.providers.iter().find(|row| row.name == name);
        let row = row.ok_or_else(|| not_found(name))?;
        let secret = self.credentials.pick(&known.credentials, name, (caller.user, &[]));
        let secret = secret.map_err(EgressError::Credential)?.map(|(_, secret)| secret);
        let began = Instant::now();
        let asked = self.lanes.ask(row, &known.settings, secret.as_ref()).await;
        let latency_ms = i64::try_from(began.elapsed().as_millis()).unwrap_or(i64::MAX);
        Ok(match asked {
            Ok(models) => {
                let detail = format!("it answers; models offered: {}", models.len());
                ProviderTestView { is_ok: true, detail, models, latency_ms }
            }
            Err(error) => {
                let detail = advice(&error, secret.is_some());
                ProviderTestView { is_ok: false, detail, models: vec![], latency_ms }
            }
        })
    }
}

fn advice(error: &ProviderError, has_secret: bool) -> String {
    if matches!(error, ProviderError::Unauthorized { .. }) && !has_secret {
        return format!("{error}; there is no credential for it yet, see: cynork creds set");
    }
    error.to_string()
}

fn admin(caller: &Caller) -> Result<(), ProviderAdminError> {
    if caller.is_admin { Ok(()) } else { Err(ProviderAdminError::NotAdmin) }
}

fn not_found(name: &str) -> ProviderAdminError {
    ProviderAdminError::NotFound(name.chars().take(100).collect())
}

fn checked(name: &str, request: PutProvider) -> Result<ModelProvider, ProviderAdminError> {
    let is_known = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let concurrency = request.concurrency.unwrap_or(USUAL_CONCURRENCY);
    let is_price = |price: &Price| {
        [price.input, price.output].iter().all(|usd| usd.is_finite() && *usd >= 0.0)
    };
    let is_name = |model: &String| (1..=MAX_MODEL_BYTES).contains(&model.len());
    let fault = if !(1..=MAX_NAME_BYTES).contains(&name.len()) || !name.chars().all(is_known) {
        format!("a provider's name has 1 to {MAX_NAME_BYTES} letters, digits, and . _ -")
    } else if request.models.len() > MAX_MODELS || !request.models.iter().all(is_name) {
        format!(
            "a provider has {MAX_MODELS} models at most, with names of up to {MAX_MODEL_BYTES} bytes"
        )
    } else if !(1..=MAX_CONCURRENCY).contains(&concurrency) {
        format!("concurrency is 1 to {MAX_CONCURRENCY}")
    } else if !request.prices.values().all(is_price) {
        "a price is a number of US dollars, not negative".to_owned()
    } else {
        String::new()
    };
    if !fault.is_empty() {
        return Err(ProviderAdminError::Invalid(fault));
    }
    let base_url = request.base_url.unwrap_or_else(|| usual_address(request.kind).to_owned());
    connect(&Endpoint::new(request.kind, &base_url))?;
    Ok(ModelProvider {
        name: name.to_owned(),
        kind: request.kind,
        is_local: request.is_local.unwrap_or_else(|| is_loopback(&base_url)),
        base_url,
        is_enabled: request.is_enabled.unwrap_or(true),
        allow: request.allow.unwrap_or(ProviderUse::Rules),
        models: request.models,
        concurrency,
        prices: json!(request.prices),
        version: 1,
        updated_at: chrono::DateTime::UNIX_EPOCH,
        updated_by: None,
    })
}

fn is_loopback(base_url: &str) -> bool {
    let url = Url::parse(base_url);
    match url.as_ref().ok().and_then(Url::host) {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

async fn record(
    tx: &mut Tx,
    action: &'static str,
    row: &ModelProvider,
) -> Result<(), ProviderAdminError> {
    tx.policy_touch().await?;
    let change = AccessChange {
        by: row.updated_by,
        action,
        resource_type: PROVIDER,
        resource: row.name.clone(),
        allowed: true,
        reason: Some(format!("{} at {}, allows {}", row.kind, row.base_url, row.allow)),
        task: None,
        at: row.updated_at,
    };
    Ok(tx.access_change_append(&change).await?)
}

fn view(row: ModelProvider) -> ProviderView {
    let prices: BTreeMap<String, Price> = serde_json::from_value(row.prices).unwrap_or_default();
    ProviderView {
        name: row.name,
        kind: row.kind,
        base_url: row.base_url,
        is_local: row.is_local,
        is_enabled: row.is_enabled,
        allow: row.allow,
        models: row.models,
        concurrency: row.concurrency,
        prices,
        version: row.version,
        updated_by: row.updated_by,
        updated_at: row.updated_at,
    }
}
