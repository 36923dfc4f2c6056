//! Adding, removing and testing providers. Administrators only.

use std::collections::BTreeMap;

use cynode_domain::error_class::{Classification, Classified, ErrorClass};
use cynode_domain::model::ProviderUse;
use cynode_llm::{InvalidEndpoint, ProviderEndpoint, ProviderError, connect, default_address};
use cynode_store::{AccessChange, ModelProvider, Tx};
use cynode_wire::changes::ChangeView;
use cynode_wire::page::{Page, PageQuery};
use cynode_wire::providers::{Price, ProviderTestView, ProviderView, PutProvider};
use serde_json::json;
use tokio::time::Instant;
use url::{Host, Url};

use super::{Egress, EgressError};
use cynode_resources::signals::Topic;
use cynode_resources::{Caller, PageError, changes};

/// Resource type in the change log.
const PROVIDER: &str = "model_provider";
const MAX_NAME_BYTES: usize = 64;
const MAX_MODELS: usize = 500;
const MAX_MODEL_BYTES: usize = 200;
const MAX_CONCURRENCY: u32 = 1024;
const DEFAULT_CONCURRENCY: u32 = 16;

#[derive(Debug, thiserror::Error)]
pub enum ProviderAdminError {
    #[error("model provider \"{0}\" not found; see `cynork models providers`")]
    NotFound(String),
    #[error("only an administrator may do this")]
    NotAdmin,
    /// Lost an optimistic-concurrency race.
    #[error("the provider was changed concurrently; reload it and try again")]
    Conflict,
    #[error("{0}")]
    Invalid(String),
    #[error(transparent)]
    Address(#[from] InvalidEndpoint),
    #[error(transparent)]
    Egress(#[from] EgressError),
    #[error(transparent)]
    Page(#[from] PageError),
    #[error(transparent)]
    Store(#[from] cynode_store::Error),
}

impl Classified for ProviderAdminError {
    fn classify(&self) -> Classification<'_> {
        match self {
            Self::NotFound(_) => Classification::new(ErrorClass::NotFound, self),
            Self::NotAdmin => Classification::new(ErrorClass::Forbidden, self),
            Self::Conflict => Classification::new(ErrorClass::Conflict, self),
            Self::Invalid(_) | Self::Address(_) => Classification::new(ErrorClass::Invalid, self),
            Self::Egress(error) => error.classify(),
            Self::Page(error) => error.classify(),
            Self::Store(error) => error.classify(),
        }
    }
}

impl Egress {
    /// Lists all providers by name.
    pub async fn list_providers(
        &self,
        caller: &Caller,
    ) -> Result<Vec<ProviderView>, ProviderAdminError> {
        require_admin(caller)?;
        let rows = self
            .store
            .read(|tx| {
                Box::pin(async move { Ok::<_, ProviderAdminError>(tx.provider_list().await?) })
            })
            .await?;
        Ok(rows.into_iter().map(provider_view).collect())
    }

    pub async fn put_provider(
        &self,
        caller: &Caller,
        name: &str,
        request: PutProvider,
    ) -> Result<ProviderView, ProviderAdminError> {
        require_admin(caller)?;
        let mut row = validate_provider(name, request)?;
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
                    append_change(tx, "provider.put", &row).await?;
                    Ok(row)
                })
            })
            .await?;
        self.signals.send(Topic::Policy);
        Ok(provider_view(written))
    }

    /// Removes a provider. Its credentials are kept.
    pub async fn remove_provider(
        &self,
        caller: &Caller,
        name: &str,
    ) -> Result<(), ProviderAdminError> {
        require_admin(caller)?;
        let (name, now, by) = (name.to_owned(), self.clock.now(), caller.user);
        self.store
            .write(move |tx| {
                Box::pin(async move {
                    let row = tx.provider_get(&name).await?.ok_or_else(|| not_found(&name))?;
                    tx.provider_delete(&name).await?;
                    let row = ModelProvider { updated_at: now, updated_by: Some(by), ..row };
                    append_change(tx, "provider.remove", &row).await
                })
            })
            .await?;
        self.signals.send(Topic::Policy);
        Ok(())
    }

    /// Returns the change history of a provider, newest first, also after its removal.
    pub async fn list_provider_changes(
        &self,
        caller: &Caller,
        name: &str,
        query: &PageQuery,
    ) -> Result<Page<ChangeView>, ProviderAdminError> {
        require_admin(caller)?;
        changes::list_access_changes(&self.store, changes::resource_filter(PROVIDER, name), query)
            .await
    }

    /// Fetches a provider's model list with the credential that a call of the caller would use.
    pub async fn test_provider(
        &self,
        caller: &Caller,
        name: &str,
    ) -> Result<ProviderTestView, ProviderAdminError> {
        require_admin(caller)?;
        let known = self.load_snapshot().await?;
        let row = known.providers.iter().find(|row| row.name == name);
        let row = row.ok_or_else(|| not_found(name))?;
        let secret = self.credentials.select(&known.credentials, name, caller.user, &[]);
        let secret = secret.map_err(EgressError::Credential)?.map(|(_, secret)| secret);
        let began = Instant::now();
        let request = self.lanes.fetch_models(row, &known.settings, secret.as_ref()).await;
        let latency_ms = i64::try_from(began.elapsed().as_millis()).unwrap_or(i64::MAX);
        Ok(match request {
            Ok(models) => {
                let detail = format!("connected; models offered: {}", models.len());
                ProviderTestView { is_ok: true, detail, models, latency_ms }
            }
            Err(error) => {
                let detail = render_failure(&error, secret.is_some());
                ProviderTestView { is_ok: false, detail, models: vec![], latency_ms }
            }
        })
    }
}

fn render_failure(error: &ProviderError, has_secret: bool) -> String {
    if matches!(error, ProviderError::Unauthorized { .. }) && !has_secret {
        return format!("{error}; no credential is set for it: `cynork creds set`");
    }
    error.to_string()
}

fn require_admin(caller: &Caller) -> Result<(), ProviderAdminError> {
    if caller.is_admin { Ok(()) } else { Err(ProviderAdminError::NotAdmin) }
}

fn not_found(name: &str) -> ProviderAdminError {
    ProviderAdminError::NotFound(name.chars().take(100).collect())
}

fn validate_provider(
    name: &str,
    request: PutProvider,
) -> Result<ModelProvider, ProviderAdminError> {
    let is_known = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let concurrency = request.concurrency.unwrap_or(DEFAULT_CONCURRENCY);
    let is_price = |price: &Price| {
        [price.input, price.output].iter().all(|usd| usd.is_finite() && *usd >= 0.0)
    };
    let is_name = |model: &String| (1..=MAX_MODEL_BYTES).contains(&model.len());
    let fault = if !(1..=MAX_NAME_BYTES).contains(&name.len()) || !name.chars().all(is_known) {
        format!(
            "a provider's name must have 1 to {MAX_NAME_BYTES} characters: letters, digits, and . _ -"
        )
    } else if request.models.len() > MAX_MODELS || !request.models.iter().all(is_name) {
        format!(
            "a provider may have up to {MAX_MODELS} models, with names of up to {MAX_MODEL_BYTES} bytes"
        )
    } else if !(1..=MAX_CONCURRENCY).contains(&concurrency) {
        format!("concurrency must be between 1 and {MAX_CONCURRENCY}")
    } else if !request.prices.values().all(is_price) {
        "a price must be a non-negative number of US dollars".to_owned()
    } else {
        String::new()
    };
    if !fault.is_empty() {
        return Err(ProviderAdminError::Invalid(fault));
    }
    let base_url = request.base_url.unwrap_or_else(|| default_address(request.kind).to_owned());
    connect(&ProviderEndpoint::new(request.kind, &base_url))?;
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

async fn append_change(
    tx: &mut Tx,
    action: &'static str,
    row: &ModelProvider,
) -> Result<(), ProviderAdminError> {
    tx.policy_bump_revision().await?;
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

fn provider_view(row: ModelProvider) -> ProviderView {
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
