//! The model that a name stands for, and its price, before a call is made.

use cynode_wire::providers::Price;

use super::access::{ProviderAccess, decide_access, profile_denial};
use super::prices::find_price;
use super::resolve::parse_model_name;
use super::{Egress, EgressError, Inference};

/// A model, and what it costs.
#[derive(Debug, Clone, PartialEq)]
pub struct PricedModel {
    /// As `provider/model`.
    pub model: String,
    /// Absent if it is not known.
    pub price: Option<Price>,
}

impl Egress {
    /// Returns the model that a call with this name or hint would go to first, among those that the caller may use. Calls no
    /// model; a provider that does not configure its models may be asked for their list.
    pub async fn find_priced_model(
        &self,
        inference: &Inference,
        name: &str,
    ) -> Result<PricedModel, EgressError> {
        let policy = self.load_call_policy(inference).await?;
        let known = &policy.snapshot;
        let candidates = self.load_candidates(inference, &policy, Some(name)).await?;
        let asked = parse_model_name(Some(name), &known.providers);
        let profile = known.profile_of(inference);
        let (groups, is_admin) = (policy.groups(inference), policy.is_admin);
        let mut denied = None;
        for candidate in candidates {
            let (provider, model) = (&candidate.provider, &candidate.model);
            let by_profile = profile_denial(profile, &provider.name, model, &asked);
            let reason = by_profile.or_else(|| {
                match decide_access(inference, groups, is_admin, provider, &known.rules) {
                    ProviderAccess::Allow(_) => None,
                    ProviderAccess::Deny(reason) => Some(reason),
                }
            });
            if reason.is_none() {
                let price = find_price(provider, model, &known.settings);
                return Ok(PricedModel { model: format!("{}/{model}", provider.name), price });
            }
            denied = denied.or(reason);
        }
        Err(EgressError::Denied(denied.unwrap_or_default()))
    }
}
