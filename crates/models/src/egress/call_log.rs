//! Reading recorded model calls and their cost.

use cynode_domain::error_class::{Classification, Classified, ErrorClass};
use cynode_domain::ids::InferenceId;
use cynode_store::{EgressDecision, InferenceCall, InferenceFilter};
use cynode_wire::inferences::{
    EgressDecisionView, InferenceDetailView, InferenceQuery, InferenceTotals, InferenceView,
    InferencesView,
};
use cynode_wire::page::PageQuery;

use super::Egress;
use cynode_resources::paging::PageRequest;
use cynode_resources::{Caller, PageError};

#[derive(Debug, thiserror::Error)]
pub enum CallLogError {
    /// Also returned if the caller may not see the call.
    #[error("model call not found")]
    NotFound,
    #[error(transparent)]
    Page(#[from] PageError),
    #[error(transparent)]
    Store(#[from] cynode_store::Error),
}

impl Classified for CallLogError {
    fn classify(&self) -> Classification<'_> {
        match self {
            Self::NotFound => Classification::new(ErrorClass::NotFound, self),
            Self::Page(error) => error.classify(),
            Self::Store(error) => error.classify(),
        }
    }
}

impl Egress {
    /// Returns a page of the caller's calls, newest first, and totals over all of them; of all
    /// users for an administrator.
    pub async fn list_calls(
        &self,
        caller: &Caller,
        query: InferenceQuery,
    ) -> Result<InferencesView, CallLogError> {
        let InferenceQuery { run, task, purpose, limit, cursor } = query;
        let request = PageRequest::<InferenceId>::parse(&PageQuery { limit, cursor })?;
        let (before, fetch) = (request.before, request.fetch);
        let filter = InferenceFilter { user: caller.own(), run, task, purpose, since: None };
        let (found, sums) = self
            .store
            .read(move |tx| {
                Box::pin(async move {
                    let found = tx.inference_list(&filter, before, fetch).await?;
                    Ok::<_, CallLogError>((found, tx.inference_sums(&filter).await?))
                })
            })
            .await?;
        let totals = InferenceTotals {
            calls: sums.calls,
            input_tokens: sums.input_tokens,
            output_tokens: sums.output_tokens,
            cost_micro_usd: sums.cost_micro_usd,
            unpriced: sums.unpriced,
        };
        let calls = request.page(found, |call| call.id.to_string(), call_view);
        Ok(InferencesView { calls, totals })
    }

    /// Returns one call with its access decisions: which rule, which credential.
    pub async fn call(
        &self,
        caller: &Caller,
        id: InferenceId,
    ) -> Result<InferenceDetailView, CallLogError> {
        let caller = caller.clone();
        self.store
            .read(move |tx| {
                Box::pin(async move {
                    let found = tx.inference_get(id).await?;
                    let found = found.filter(|call| caller.may_see(call.user));
                    let call = call_view(found.ok_or(CallLogError::NotFound)?);
                    let decided = tx.egress_decision_list(id).await?;
                    let decisions = decided.into_iter().map(decision_view).collect();
                    Ok(InferenceDetailView { call, decisions })
                })
            })
            .await
    }
}

fn decision_view(decision: EgressDecision) -> EgressDecisionView {
    EgressDecisionView {
        decided_at: decision.at,
        resource: decision.resource,
        decision: decision.decision,
        reason: decision.reason,
        credential_id: decision.credential,
    }
}

fn call_view(call: InferenceCall) -> InferenceView {
    InferenceView {
        id: call.id,
        created_at: call.created_at,
        purpose: call.purpose,
        agent: call.agent,
        user: call.user,
        project: call.project,
        task: call.task,
        run: call.run,
        thread: call.thread,
        trace_id: call.trace_id,
        provider: call.provider,
        model: call.model,
        prompt_hash: call.prompt_hash,
        input_tokens: call.input_tokens,
        output_tokens: call.output_tokens,
        cost_micro_usd: call.cost_micro_usd,
        is_estimate: call.is_estimate,
        latency_ms: call.latency_ms,
        first_ms: call.first_chunk_ms,
        outcome: call.outcome,
        error: call.error,
    }
}
