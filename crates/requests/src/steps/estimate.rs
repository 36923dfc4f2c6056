//! The agents of a plan, with their expected model calls and cost, before work starts.

use std::collections::{BTreeMap, BTreeSet};

use cynode_domain::estimate::WorkEstimate;
use cynode_domain::policy::{AgentType, Principal};
use cynode_domain::project_context::ProjectContext;
use cynode_domain::work::WorkComponent;
use cynode_domain::work_kind::WorkScope;
use cynode_models::egress::{Egress, EgressError, Inference};
use cynode_planning::estimate::{HintModel, PlannedUnit, TokenPrice, estimate_work};

use super::Step;
use crate::RequestError;

/// The purpose of the look-up; no call is made with it.
const PURPOSE: &str = "estimate";

impl Step<'_> {
    /// Estimates the work on components. A price that cannot be found is part of the estimate, and no reason to stop.
    pub(super) async fn estimate(
        &self,
        components: &[&WorkComponent],
        scope: WorkScope,
        context: &ProjectContext,
    ) -> Result<WorkEstimate, RequestError> {
        let roster = self.service.load_roster().await?;
        let mut units = vec![];
        for component in components {
            for kind in component.kinds() {
                let assignment = self.assign_kind(&roster, kind, scope, context.kind);
                units.push(PlannedUnit { component: component.name.clone(), kind, assignment });
            }
        }
        let calling = units.iter().filter(|unit| unit.calls_models());
        let hints: BTreeSet<&str> =
            calling.map(|unit| unit.assignment.model_hint.as_str()).collect();
        let mut models = BTreeMap::new();
        for hint in hints {
            models.insert(hint.to_owned(), self.find_hint_model(hint).await?);
        }
        let rounds = self.snapshot.request.settings.max_review_rounds;
        Ok(estimate_work(&units, scope, rounds, &models))
    }

    /// The model that an agent of the request would call by a hint.
    async fn find_hint_model(&self, hint: &str) -> Result<HintModel, RequestError> {
        let Some(egress) = &self.service.models else {
            return Ok(HintModel::Missing { reason: "no models are connected".to_owned() });
        };
        let task = &self.snapshot.task.spec;
        let agent = Inference {
            agent: Some(Principal::Agent(AgentType::Sandbox)),
            project: Some(task.project),
            profile: task.profile_id,
            task: Some(task.id),
            ..Inference::for_user(self.owner().await?, PURPOSE, &task.id.to_string())
        };
        Ok(look_up(egress, agent, hint)
            .await
            .unwrap_or_else(|error| HintModel::Missing { reason: error.to_string() }))
    }
}

async fn look_up(egress: &Egress, agent: Inference, hint: &str) -> Result<HintModel, EgressError> {
    let agent = egress.with_preferences(agent).await?;
    let found = egress.find_priced_model(&agent, hint).await?;
    Ok(match found.price {
        // Dollars per million tokens equal micro-dollars per token.
        Some(price) => HintModel::Priced {
            model: found.model,
            price: TokenPrice { input: price.input, output: price.output },
        },
        None => HintModel::Unpriced { model: found.model },
    })
}
