//! Connection pool: one lane per provider configuration, with its cached model list.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cynode_domain::model::ProviderKind;
use cynode_llm::resilience::{ResilienceOptions, ResilientProvider};
use cynode_llm::{
    InvalidEndpoint, Provider as _, ProviderCredential, ProviderEndpoint, ProviderError,
    ProviderLimits,
};
use cynode_store::ModelProvider;
use tokio::time::Instant;

use super::timeouts::{self, SettingValues};

/// Time to live of a model list.
const LIST_TTL: Duration = Duration::from_mins(1);
/// Delay before a failed listing is retried.
const LIST_RETRY_DELAY: Duration = Duration::from_secs(15);
/// Default timeout of a listing.
const LIST_TIMEOUT: Duration = Duration::from_secs(5);
/// Longer lists are truncated.
const MAX_MODELS: usize = 2000;
/// Idle time after which an outdated lane of the same provider is evicted.
const IDLE_TIMEOUT: Duration = Duration::from_mins(1);

pub(super) struct LanePool {
    open: Mutex<HashMap<LaneKey, OpenLane>>,
    /// Timeout of a listing.
    listing_timeout: Duration,
}

impl Default for LanePool {
    fn default() -> Self {
        Self::with_listing_timeout(LIST_TIMEOUT)
    }
}

/// The key of a lane. While a provider is reconfigured, calls with the old snapshot keep the old
/// lane, and no call evicts a lane in use.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct LaneKey {
    name: String,
    kind: ProviderKind,
    base_url: String,
    concurrency: u32,
    limits: ProviderLimits,
}

impl LaneKey {
    fn new(row: &ModelProvider, settings: &SettingValues) -> Self {
        let (name, base_url) = (row.name.clone(), row.base_url.clone());
        let limits = timeouts::provider_limits(row, settings);
        Self { name, kind: row.kind, base_url, concurrency: row.concurrency, limits }
    }
}

struct OpenLane {
    lane: Arc<ResilientProvider>,
    /// Locked while the list is fetched: concurrent callers wait for the result.
    list: Arc<tokio::sync::Mutex<ModelListCache>>,
    used_at: Instant,
}

/// Cached model list of a provider.
#[derive(Default)]
struct ModelListCache {
    known: Option<Vec<String>>,
    listed_at: Option<Instant>,
    /// Time and cause of the latest failure.
    failed: Option<(Instant, ProviderError)>,
}

impl ModelListCache {
    /// Returns the cached result, if it is still valid.
    fn cached(&self, now: Instant) -> Option<Result<Vec<String>, ProviderError>> {
        let is_fresh = self.listed_at.is_some_and(|at| now - at < LIST_TTL);
        let failed = self.failed.as_ref().filter(|(at, _)| now - *at < LIST_RETRY_DELAY);
        match (&self.known, failed) {
            (Some(known), None) if is_fresh => Some(Ok(known.clone())),
            (Some(known), Some(_)) => Some(Ok(known.clone())),
            (None, Some((_, why))) => Some(Err(why.clone())),
            (Some(_) | None, None) => None,
        }
    }

    /// Caches the result of a fetch. After a failure, a stale list is returned if there is one.
    fn store(
        &mut self,
        answer: Result<Vec<String>, ProviderError>,
        now: Instant,
    ) -> Result<Vec<String>, ProviderError> {
        match answer {
            Ok(list) => {
                (self.listed_at, self.failed) = (Some(now), None);
                Ok(self.known.insert(list).clone())
            }
            Err(error) => {
                // A rejected credential says nothing about other credentials.
                if error.is_provider_failure() {
                    self.failed = Some((now, error.clone()));
                }
                self.known.clone().ok_or(error)
            }
        }
    }
}

impl LanePool {
    /// Creates a pool with this listing timeout.
    pub(super) fn with_listing_timeout(listing_timeout: Duration) -> Self {
        Self { open: Mutex::default(), listing_timeout }
    }

    /// Returns the lane to a provider; opens a new one if its configuration changed.
    pub(super) fn lane(
        &self,
        row: &ModelProvider,
        settings: &SettingValues,
    ) -> Result<Arc<ResilientProvider>, InvalidEndpoint> {
        self.get_or_open(row, settings, Instant::now()).map(|(lane, _)| lane)
    }

    fn get_or_open(
        &self,
        row: &ModelProvider,
        settings: &SettingValues,
        now: Instant,
    ) -> Result<(Arc<ResilientProvider>, Arc<tokio::sync::Mutex<ModelListCache>>), InvalidEndpoint>
    {
        let way = LaneKey::new(row, settings);
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = open.get_mut(&way) {
            known.used_at = now;
            return Ok((Arc::clone(&known.lane), Arc::clone(&known.list)));
        }
        let limits = way.limits.clone();
        let usual = ResilienceOptions::default();
        // A queued request waits until the prompts before it are processed.
        let turn = if row.is_local { limits.begin } else { usual.turn };
        let endpoint =
            ProviderEndpoint { limits, ..ProviderEndpoint::new(row.kind, &row.base_url) };
        let provider = cynode_llm::connect(&endpoint)?;
        let concurrency = row.concurrency as usize;
        let options = ResilienceOptions { concurrency, turn, ..usual };
        let (lane, list) = (Arc::new(ResilientProvider::new(provider, options)), Arc::default());
        open.retain(|old, known| old.name != way.name || now - known.used_at < IDLE_TIMEOUT);
        let made = OpenLane { lane: Arc::clone(&lane), list: Arc::clone(&list), used_at: now };
        open.insert(way, made);
        Ok((lane, list))
    }

    /// Returns the models of a provider: those in its row, or else those it lists.
    pub(super) async fn models(
        &self,
        row: &ModelProvider,
        settings: &SettingValues,
        secret: Option<&ProviderCredential>,
    ) -> Result<Vec<String>, ProviderError> {
        if !row.models.is_empty() {
            return Ok(row.models.clone());
        }
        let (_, list) = self
            .get_or_open(row, settings, Instant::now())
            .map_err(|error| invalid_address_error(&error))?;
        let mut list = list.lock().await;
        if let Some(cached) = list.cached(Instant::now()) {
            return cached;
        }
        let answer = self.fetch_models(row, settings, secret).await;
        list.store(answer, Instant::now())
    }

    /// Fetches the model list, bypassing the cache.
    pub(super) async fn fetch_models(
        &self,
        row: &ModelProvider,
        settings: &SettingValues,
        secret: Option<&ProviderCredential>,
    ) -> Result<Vec<String>, ProviderError> {
        let lane = self.lane(row, settings).map_err(|error| invalid_address_error(&error))?;
        let request = tokio::time::timeout(self.listing_timeout, lane.models(secret)).await;
        let phase = cynode_llm::TimeoutPhase::WholeAnswer;
        let mut list = request.unwrap_or(Err(ProviderError::Timeout { phase }))?;
        list.truncate(MAX_MODELS);
        Ok(list)
    }
}

/// Converts an invalid address into a provider error.
pub(super) fn invalid_address_error(error: &InvalidEndpoint) -> ProviderError {
    ProviderError::Connect { reason: error.to_string() }
}

#[cfg(test)]
mod tests;
