//! Connections to providers: one lane for each, and what each lists.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cynode_domain::model::ProviderKind;
use cynode_llm::lane::{Lane, LaneOptions};
use cynode_llm::{BadEndpoint, Endpoint, Key, Limits, Provider as _, ProviderError};
use cynode_store::ModelProvider;
use tokio::time::Instant;

use super::timeouts::{self, Settings};

/// How long the list of a provider is believed.
const LIST_LIFE: Duration = Duration::from_mins(1);
/// How long a provider that did not say what it offers is not asked again.
const LIST_REST: Duration = Duration::from_secs(15);
/// How long a provider may take to say what it offers, unless somebody is more patient.
const LIST_PATIENCE: Duration = Duration::from_secs(5);
/// The most models that are taken from a provider.
const MAX_MODELS: usize = 2000;
/// How long a lane that nobody uses is kept beside a newer one of the same provider.
const IDLE: Duration = Duration::from_mins(1);

/// Connections to providers.
pub(super) struct Lanes {
    open: Mutex<HashMap<Way, Open>>,
    /// How long a provider may take to say what it offers.
    patience: Duration,
}

impl Default for Lanes {
    fn default() -> Self {
        Self::listing_within(LIST_PATIENCE)
    }
}

/// What a lane is made from. While a provider is changed, whoever still knows it as it was goes the old
/// way, and nobody takes another's lane away.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Way {
    name: String,
    kind: ProviderKind,
    base_url: String,
    concurrency: u32,
    limits: Limits,
}

impl Way {
    fn of(row: &ModelProvider, settings: &Settings) -> Self {
        let (name, base_url) = (row.name.clone(), row.base_url.clone());
        let limits = timeouts::limits(row, settings);
        Self { name, kind: row.kind, base_url, concurrency: row.concurrency, limits }
    }
}

struct Open {
    lane: Arc<Lane>,
    /// Held by whoever asks for the list: others wait for what comes of it.
    list: Arc<tokio::sync::Mutex<List>>,
    used_at: Instant,
}

/// What a provider listed.
#[derive(Default)]
struct List {
    known: Option<Vec<String>>,
    /// When that was.
    listed_at: Option<Instant>,
    /// When it last failed to, and why.
    failed: Option<(Instant, ProviderError)>,
}

impl List {
    /// What can be told without asking.
    fn told(&self, now: Instant) -> Option<Result<Vec<String>, ProviderError>> {
        let is_fresh = self.listed_at.is_some_and(|at| now - at < LIST_LIFE);
        let failed = self.failed.as_ref().filter(|(at, _)| now - *at < LIST_REST);
        match (&self.known, failed) {
            (Some(known), None) if is_fresh => Some(Ok(known.clone())),
            (Some(known), Some(_)) => Some(Ok(known.clone())),
            (None, Some((_, why))) => Some(Err(why.clone())),
            (Some(_) | None, None) => None,
        }
    }

    /// Remembers what came of asking. An old list is better than none.
    fn learn(
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
                // What is wrong with one credential is not with the next.
                if error.is_failure_of_provider() {
                    self.failed = Some((now, error.clone()));
                }
                self.known.clone().ok_or(error)
            }
        }
    }
}

impl Lanes {
    /// Connections to providers, each of which may take so long to say what it offers.
    pub(super) fn listing_within(patience: Duration) -> Self {
        Self { open: Mutex::default(), patience }
    }

    /// The lane to a provider; a new one if it is reached in another way than before.
    pub(super) fn lane(
        &self,
        row: &ModelProvider,
        settings: &Settings,
    ) -> Result<Arc<Lane>, BadEndpoint> {
        self.open(row, settings, Instant::now()).map(|(lane, _)| lane)
    }

    fn open(
        &self,
        row: &ModelProvider,
        settings: &Settings,
        now: Instant,
    ) -> Result<(Arc<Lane>, Arc<tokio::sync::Mutex<List>>), BadEndpoint> {
        let way = Way::of(row, settings);
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = open.get_mut(&way) {
            known.used_at = now;
            return Ok((Arc::clone(&known.lane), Arc::clone(&known.list)));
        }
        let limits = way.limits.clone();
        let usual = LaneOptions::default();
        // A queued request waits until the prompts before it are read.
        let turn = if row.is_local { limits.begin } else { usual.turn };
        let endpoint = Endpoint { limits, ..Endpoint::new(row.kind, &row.base_url) };
        let provider = cynode_llm::connect(&endpoint)?;
        let concurrency = row.concurrency as usize;
        let options = LaneOptions { concurrency, turn, ..usual };
        let (lane, list) = (Arc::new(Lane::new(provider, options)), Arc::default());
        open.retain(|old, known| old.name != way.name || now - known.used_at < IDLE);
        let made = Open { lane: Arc::clone(&lane), list: Arc::clone(&list), used_at: now };
        open.insert(way, made);
        Ok((lane, list))
    }

    /// The models that a provider offers: those its row names, or those it lists itself.
    pub(super) async fn models(
        &self,
        row: &ModelProvider,
        settings: &Settings,
        secret: Option<&Key>,
    ) -> Result<Vec<String>, ProviderError> {
        if !row.models.is_empty() {
            return Ok(row.models.clone());
        }
        let (_, list) =
            self.open(row, settings, Instant::now()).map_err(|error| unreachable(&error))?;
        let mut list = list.lock().await;
        if let Some(told) = list.told(Instant::now()) {
            return told;
        }
        let answer = self.ask(row, settings, secret).await;
        list.learn(answer, Instant::now())
    }

    /// Asks a provider what it offers.
    pub(super) async fn ask(
        &self,
        row: &ModelProvider,
        settings: &Settings,
        secret: Option<&Key>,
    ) -> Result<Vec<String>, ProviderError> {
        let lane = self.lane(row, settings).map_err(|error| unreachable(&error))?;
        let asked = tokio::time::timeout(self.patience, lane.models(secret)).await;
        let phase = cynode_llm::Phase::Finish;
        let mut list = asked.unwrap_or(Err(ProviderError::Timeout { phase }))?;
        list.truncate(MAX_MODELS);
        Ok(list)
    }
}

/// A row with an address that cannot be used.
pub(super) fn unreachable(error: &BadEndpoint) -> ProviderError {
    ProviderError::Connect { reason: error.to_string() }
}

#[cfg(test)]
mod tests;
