//! What calls are decided by, as of one moment: read again only when it has changed.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};

use chrono::{DateTime, Utc};
use cynode_domain::policy::rules::Rule;
use cynode_store::{
    Credential, CredentialStore, InferenceFilter, InferenceStore, ModelProvider,
    ModelProviderStore, RuleStore, SettingStore, Tx, UserStore,
};
use serde_json::Value;

use super::budget::{Budget, Spent};
use super::{Egress, EgressError, Inference};

/// What calls are decided by.
#[derive(Debug)]
pub(super) struct Snapshot {
    revision: i64,
    /// Providers that are turned on, by name.
    pub(super) providers: Vec<ModelProvider>,
    /// Every access rule.
    pub(super) rules: Vec<Rule>,
    /// Every setting.
    pub(super) settings: BTreeMap<String, Value>,
    /// Every credential, sealed.
    pub(super) credentials: Vec<Credential>,
}

/// What a call is decided by, beside the request itself.
pub(super) struct Standing {
    /// What holds for all calls.
    pub(super) known: Arc<Snapshot>,
    /// What may be spent.
    pub(super) budget: Budget,
    /// What was.
    pub(super) spent: Spent,
    /// Whether the user behind the call administers this installation; an agent's powers do not
    /// show it.
    pub(super) is_admin: bool,
}

impl Egress {
    /// What the call is decided by, as of now.
    pub(super) async fn standing(&self, inference: &Inference) -> Result<Standing, EgressError> {
        let cached = self.cached();
        if let Some(known) = &cached
            && let Some(standing) = self.unchanged(inference, known).await?
        {
            return Ok(standing);
        }
        let (asks, now) = (inference.clone(), self.clock.now());
        let standing = self
            .store
            .read(move |tx| Box::pin(async move { standing(tx, cached, &asks, now).await }))
            .await?;
        self.remember(&standing.known);
        Ok(standing)
    }

    /// The same, where no money is counted and nothing has changed since `known` was read.
    async fn unchanged(
        &self,
        inference: &Inference,
        known: &Arc<Snapshot>,
    ) -> Result<Option<Standing>, EgressError> {
        let budget = Budget::new(&known.settings, &inference.routing);
        if budget.is_set() {
            return Ok(None);
        }
        let (revision, is_admin) = match (inference.revision, inference.agent) {
            (Some(seen), None) => (seen, inference.caller.is_admin),
            (None, _) | (_, Some(_)) => self.looked_up(inference).await?,
        };
        let (known, spent) = (Arc::clone(known), Spent::default());
        let standing = Standing { known, budget, spent, is_admin };
        Ok((revision == standing.known.revision).then_some(standing))
    }

    async fn looked_up(&self, inference: &Inference) -> Result<(i64, bool), EgressError> {
        let asks = inference.clone();
        self.store
            .read_alone(move |tx| {
                Box::pin(async move {
                    let revision = tx.policy_revision().await?;
                    Ok((revision, is_admin(tx, &asks).await?))
                })
            })
            .await
    }

    /// What holds for all calls, as of now.
    pub(super) async fn known(&self) -> Result<Arc<Snapshot>, EgressError> {
        let cached = self.cached();
        let known =
            self.store.read(move |tx| Box::pin(async move { current(tx, cached).await })).await?;
        self.remember(&known);
        Ok(known)
    }

    fn cached(&self) -> Option<Arc<Snapshot>> {
        self.snapshot.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn remember(&self, known: &Arc<Snapshot>) {
        let mut place = self.snapshot.lock().unwrap_or_else(PoisonError::into_inner);
        if place.as_ref().is_none_or(|old| old.revision < known.revision) {
            *place = Some(Arc::clone(known));
        }
    }
}

async fn standing(
    tx: &mut Tx,
    cached: Option<Arc<Snapshot>>,
    asks: &Inference,
    now: DateTime<Utc>,
) -> Result<Standing, EgressError> {
    let known = current(tx, cached).await?;
    let budget = Budget::new(&known.settings, &asks.routing);
    let mut spent = Spent::default();
    if budget.is_set() {
        if asks.run.is_some() {
            let of_run = InferenceFilter { run: asks.run, ..InferenceFilter::default() };
            spent.run = Some(tx.inference_sums(&of_run).await?.cost_micro_usd);
        }
        let midnight = now.date_naive().and_time(chrono::NaiveTime::MIN).and_utc();
        let of_day = InferenceFilter { since: Some(midnight), ..InferenceFilter::default() };
        spent.day = tx.inference_sums(&of_day).await?.cost_micro_usd;
    }
    let is_admin = is_admin(tx, asks).await?;
    Ok(Standing { known, budget, spent, is_admin })
}

async fn is_admin(tx: &mut Tx, asks: &Inference) -> Result<bool, EgressError> {
    Ok(match asks.agent {
        Some(_) => tx.user_get(asks.caller.user).await?.is_some_and(|user| user.is_admin),
        None => asks.caller.is_admin,
    })
}

async fn current(tx: &mut Tx, cached: Option<Arc<Snapshot>>) -> Result<Arc<Snapshot>, EgressError> {
    let revision = tx.policy_revision().await?;
    if let Some(known) = cached.filter(|known| known.revision == revision) {
        return Ok(known);
    }
    let mut providers = tx.provider_list().await?;
    providers.retain(|provider| provider.is_enabled);
    let settings = tx.setting_list("", None, u32::MAX).await?;
    Ok(Arc::new(Snapshot {
        revision,
        providers,
        rules: tx.rule_list().await?.into_iter().map(|stored| stored.rule).collect(),
        settings: settings.into_iter().map(|setting| (setting.key, setting.value)).collect(),
        credentials: tx.credential_list().await?,
    }))
}
