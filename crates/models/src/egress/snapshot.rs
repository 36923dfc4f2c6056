//! The policy snapshot that decides calls, reloaded only when its revision changed.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, PoisonError};

use cynode_domain::ids::{GroupId, ProfileId, UserId};
use cynode_domain::policy::rules::AccessRule;
use cynode_store::{CallerFacts, Credential, ModelProvider, NarrowingProfile, Tx};
use serde_json::Value;

use super::budget::SpendingBudget;
use super::{Egress, EgressError, Inference};

/// Immutable policy for all calls, as of one revision.
#[derive(Debug)]
pub(super) struct EgressSnapshot {
    revision: i64,
    /// Enabled providers, by name.
    pub(super) providers: Vec<ModelProvider>,
    pub(super) rules: Vec<AccessRule>,
    pub(super) settings: BTreeMap<String, Value>,
    /// Still sealed.
    pub(super) credentials: Vec<Credential>,
    /// Groups by user, ascending; users without groups are absent.
    groups: HashMap<UserId, Vec<GroupId>>,
    /// The profiles that narrow something.
    profiles: HashMap<ProfileId, NarrowingProfile>,
}

impl EgressSnapshot {
    /// Returns the groups of a user, ascending.
    pub(super) fn groups_of(&self, user: UserId) -> &[GroupId] {
        self.groups.get(&user).map_or(&[], Vec::as_slice)
    }
}

impl EgressSnapshot {
    /// Returns the profile of an agent's call, if it narrows something.
    pub(super) fn profile_of(&self, inference: &Inference) -> Option<&NarrowingProfile> {
        self.profiles.get(&inference.profile?)
    }
}

/// The policy for one call.
pub(super) struct CallPolicy {
    pub(super) snapshot: Arc<EgressSnapshot>,
    pub(super) budget: SpendingBudget,
    /// Whether the user behind the call is an administrator; an agent's token does not show it.
    pub(super) is_admin: bool,
}

impl CallPolicy {
    fn new(snapshot: Arc<EgressSnapshot>, inference: &Inference, facts: &CallerFacts) -> Self {
        let budget = SpendingBudget::new(&snapshot.settings, &inference.routing)
            .with_request(facts.request.as_ref(), inference.agent)
            .with_profile(snapshot.profile_of(inference));
        Self { snapshot, budget, is_admin: facts.is_admin }
    }

    /// Returns the groups of the user behind the call.
    pub(super) fn groups(&self, inference: &Inference) -> &[GroupId] {
        self.snapshot.groups_of(inference.caller.user)
    }
}

impl Egress {
    /// Loads the current policy for a call.
    pub(super) async fn load_call_policy(
        &self,
        inference: &Inference,
    ) -> Result<CallPolicy, EgressError> {
        let cached = self.cached_snapshot();
        if let Some(known) = &cached
            && let Some(policy) = self.load_unchanged_policy(inference, known).await?
        {
            return Ok(policy);
        }
        let asks = inference.clone();
        let policy = self
            .store
            .read(move |tx| Box::pin(async move { read_call_policy(tx, cached, &asks).await }))
            .await?;
        self.cache_snapshot(&policy.snapshot);
        Ok(policy)
    }

    /// Returns the policy from the cache if `known` is still current.
    async fn load_unchanged_policy(
        &self,
        inference: &Inference,
        known: &Arc<EgressSnapshot>,
    ) -> Result<Option<CallPolicy>, EgressError> {
        let (revision, facts) = match (inference.revision, inference.agent) {
            (Some(seen), None) => (seen, person_facts(inference)),
            (None, _) | (_, Some(_)) => self.load_revision_and_facts(inference).await?,
        };
        Ok((revision == known.revision)
            .then(|| CallPolicy::new(Arc::clone(known), inference, &facts)))
    }

    async fn load_revision_and_facts(
        &self,
        inference: &Inference,
    ) -> Result<(i64, CallerFacts), EgressError> {
        let asks = inference.clone();
        self.store
            .read(move |tx| {
                Box::pin(async move {
                    let revision = tx.policy_revision().await?;
                    Ok((revision, load_facts(tx, &asks).await?))
                })
            })
            .await
    }

    /// Loads the current snapshot.
    pub(super) async fn load_snapshot(&self) -> Result<Arc<EgressSnapshot>, EgressError> {
        let cached = self.cached_snapshot();
        let known = self
            .store
            .read(move |tx| Box::pin(async move { read_snapshot(tx, cached).await }))
            .await?;
        self.cache_snapshot(&known);
        Ok(known)
    }

    fn cached_snapshot(&self) -> Option<Arc<EgressSnapshot>> {
        self.snapshot.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn cache_snapshot(&self, known: &Arc<EgressSnapshot>) {
        let mut place = self.snapshot.lock().unwrap_or_else(PoisonError::into_inner);
        if place.as_ref().is_none_or(|old| old.revision < known.revision) {
            *place = Some(Arc::clone(known));
        }
    }
}

async fn read_call_policy(
    tx: &mut Tx,
    cached: Option<Arc<EgressSnapshot>>,
    asks: &Inference,
) -> Result<CallPolicy, EgressError> {
    let known = read_snapshot(tx, cached).await?;
    let facts = load_facts(tx, asks).await?;
    Ok(CallPolicy::new(known, asks, &facts))
}

/// Loads whether the user is an administrator, and the request of the task, with one statement.
async fn load_facts(tx: &mut Tx, asks: &Inference) -> Result<CallerFacts, EgressError> {
    Ok(match asks.agent {
        Some(_) => tx.caller_facts(asks.caller.user, asks.task).await?,
        None => person_facts(asks),
    })
}

/// A person calls models for no task.
fn person_facts(asks: &Inference) -> CallerFacts {
    CallerFacts { is_admin: asks.caller.is_admin, request: None }
}

async fn read_snapshot(
    tx: &mut Tx,
    cached: Option<Arc<EgressSnapshot>>,
) -> Result<Arc<EgressSnapshot>, EgressError> {
    let revision = tx.policy_revision().await?;
    if let Some(known) = cached.filter(|known| known.revision == revision) {
        return Ok(known);
    }
    let mut providers = tx.provider_list().await?;
    providers.retain(|provider| provider.is_enabled);
    let settings = tx.setting_list("", None, u32::MAX).await?;
    let mut groups: HashMap<UserId, Vec<GroupId>> = HashMap::new();
    for (user, group) in tx.membership_list().await? {
        groups.entry(user).or_default().push(group);
    }
    let profiles = tx.profile_list_narrowing().await?;
    Ok(Arc::new(EgressSnapshot {
        revision,
        providers,
        rules: tx.rule_list_enforced().await?,
        settings: settings.into_iter().map(|setting| (setting.key, setting.value)).collect(),
        credentials: tx.credential_list().await?,
        groups,
        profiles: profiles.into_iter().map(|profile| (profile.id, profile)).collect(),
    }))
}
