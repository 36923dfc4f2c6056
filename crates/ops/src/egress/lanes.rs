//! Connections to providers: one lane for each, and what each lists.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cynode_llm::lane::{Lane, LaneOptions};
use cynode_llm::{BadEndpoint, Endpoint, Provider as _, ProviderError};
use cynode_store::ModelProvider;
use secrecy::SecretString;
use tokio::time::Instant;

/// How long the list of a provider is believed.
const LIST_LIFE: Duration = Duration::from_mins(1);
/// How long a provider may take to say what it offers.
const LIST_PATIENCE: Duration = Duration::from_secs(5);
/// The most models that are taken from a provider.
const MAX_MODELS: usize = 2000;

/// Connections to providers.
#[derive(Default)]
pub(super) struct Lanes {
    open: Mutex<HashMap<String, Open>>,
}

struct Open {
    /// The row that the lane was made from.
    row: ModelProvider,
    lane: Arc<Lane>,
    /// What it listed, and when.
    list: Option<(Instant, Vec<String>)>,
}

impl Lanes {
    /// The lane to a provider; a new one if its row has changed.
    pub(super) fn lane(&self, row: &ModelProvider) -> Result<Arc<Lane>, BadEndpoint> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = open.get(&row.name).filter(|known| known.row == *row) {
            return Ok(Arc::clone(&known.lane));
        }
        let provider = cynode_llm::connect(&Endpoint::new(row.kind, &row.base_url))?;
        let concurrency = row.concurrency as usize;
        let options = LaneOptions { concurrency, ..LaneOptions::default() };
        let lane = Arc::new(Lane::new(provider, options));
        let made = Open { row: row.clone(), lane: Arc::clone(&lane), list: None };
        open.insert(row.name.clone(), made);
        Ok(lane)
    }

    /// The models that a provider offers: those its row names, or those it lists itself.
    pub(super) async fn models(
        &self,
        row: &ModelProvider,
        secret: Option<&SecretString>,
    ) -> Result<Vec<String>, ProviderError> {
        if !row.models.is_empty() {
            return Ok(row.models.clone());
        }
        if let Some(list) = self.known_list(row) {
            return Ok(list);
        }
        let list = self.ask(row, secret).await?;
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = open.get_mut(&row.name).filter(|known| known.row == *row) {
            known.list = Some((Instant::now(), list.clone()));
        }
        Ok(list)
    }

    /// Asks a provider what it offers.
    pub(super) async fn ask(
        &self,
        row: &ModelProvider,
        secret: Option<&SecretString>,
    ) -> Result<Vec<String>, ProviderError> {
        let lane = self.lane(row).map_err(|error| unreachable(&error))?;
        let asked = tokio::time::timeout(LIST_PATIENCE, lane.models(secret)).await;
        let phase = cynode_llm::Phase::Finish;
        let mut list = asked.unwrap_or(Err(ProviderError::Timeout { phase }))?;
        list.truncate(MAX_MODELS);
        Ok(list)
    }

    fn known_list(&self, row: &ModelProvider) -> Option<Vec<String>> {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let (at, list) = open.get(&row.name).filter(|known| known.row == *row)?.list.as_ref()?;
        (at.elapsed() < LIST_LIFE).then(|| list.clone())
    }
}

/// A row with an address that cannot be used.
pub(super) fn unreachable(error: &BadEndpoint) -> ProviderError {
    ProviderError::Connect { reason: error.to_string() }
}
