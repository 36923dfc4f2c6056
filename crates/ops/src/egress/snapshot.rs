//! What calls are decided by, as of one moment: read again only when it has changed.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, PoisonError};

use cynode_domain::ids::{GroupId, UserId};
use cynode_domain::policy::rules::Rule;
use cynode_store::{
    Credential, CredentialStore, GroupStore, ModelProvider, ModelProviderStore, RuleStore,
    SettingStore, Tx, UserStore,
};
use serde_json::Value;

use super::budget::Budget;
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
    /// The groups of every user who is in one, ascending.
    groups: HashMap<UserId, Vec<GroupId>>,
}

impl Snapshot {
    /// The groups of a user, ascending.
    pub(super) fn groups_of(&self, user: UserId) -> &[GroupId] {
        self.groups.get(&user).map_or(&[], Vec::as_slice)
    }
}

/// What a call is decided by, beside the request itself.
pub(super) struct Standing {
    /// What holds for all calls.
    pub(super) known: Arc<Snapshot>,
    /// What may be spent.
    pub(super) budget: Budget,
    /// Whether the user behind the call administers this installation; an agent's powers do not
    /// show it.
    is_admin: bool,
}

impl Standing {
    /// What the user is allowed by, beside rules about the user: groups, and whether they administer.
    pub(super) fn powers(&self, inference: &Inference) -> (&[GroupId], bool) {
        (self.known.groups_of(inference.caller.user), self.is_admin)
    }

    /// Whose credentials count: the user's and those of the user's groups.
    pub(super) fn who(&self, inference: &Inference) -> (UserId, &[GroupId]) {
        let user = inference.caller.user;
        (user, self.known.groups_of(user))
    }
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
        let asks = inference.clone();
        let standing = self
            .store
            .read(move |tx| Box::pin(async move { standing(tx, cached, &asks).await }))
            .await?;
        self.remember(&standing.known);
        Ok(standing)
    }

    /// The same, where nothing has changed since `known` was read.
    async fn unchanged(
        &self,
        inference: &Inference,
        known: &Arc<Snapshot>,
    ) -> Result<Option<Standing>, EgressError> {
        let (revision, is_admin) = match (inference.revision, inference.agent) {
            (Some(seen), None) => (seen, inference.caller.is_admin),
            (None, _) | (_, Some(_)) => self.looked_up(inference).await?,
        };
        Ok((revision == known.revision).then(|| {
            let budget = Budget::new(&known.settings, &inference.routing);
            Standing { known: Arc::clone(known), budget, is_admin }
        }))
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
) -> Result<Standing, EgressError> {
    let known = current(tx, cached).await?;
    let budget = Budget::new(&known.settings, &asks.routing);
    let is_admin = is_admin(tx, asks).await?;
    Ok(Standing { known, budget, is_admin })
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
    let mut groups: HashMap<UserId, Vec<GroupId>> = HashMap::new();
    for (user, group) in tx.membership_list().await? {
        groups.entry(user).or_default().push(group);
    }
    Ok(Arc::new(Snapshot {
        revision,
        providers,
        rules: tx.rule_list_enforced().await?,
        settings: settings.into_iter().map(|setting| (setting.key, setting.value)).collect(),
        credentials: tx.credential_list().await?,
        groups,
    }))
}
