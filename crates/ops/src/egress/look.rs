//! Looking at what was asked and spent.

use cynode_domain::ids::InferenceId;
use cynode_store::{EgressDecision, InferenceCall, InferenceFilter, InferenceStore};
use cynode_wire::inferences::{
    EgressDecisionView, InferenceDetailView, InferenceQuery, InferenceTotals, InferenceView,
    InferencesView,
};
use cynode_wire::page::PageQuery;

use super::Egress;
use crate::paging::PageRequest;
use crate::{BadCursor, Caller};

/// Why the record was not shown.
#[derive(Debug, thiserror::Error)]
pub enum CallsError {
    /// There is no such call, or the caller may not see it.
    #[error("there is no such call to a model")]
    NotFound,
    /// The page asked for cannot be given.
    #[error(transparent)]
    Page(#[from] BadCursor),
    /// The database does not answer.
    #[error(transparent)]
    Store(#[from] cynode_store::Error),
}

impl Egress {
    /// A page of the caller's calls, newest first, and sums over all of them; everybody's for an
    /// administrator.
    pub async fn calls(
        &self,
        caller: &Caller,
        query: InferenceQuery,
    ) -> Result<InferencesView, CallsError> {
        let InferenceQuery { run, task, purpose, limit, cursor } = query;
        let request = PageRequest::<InferenceId>::check(&PageQuery { limit, cursor })?;
        let (before, fetch) = (request.before, request.fetch);
        let filter = InferenceFilter { user: caller.own(), run, task, purpose, since: None };
        let (found, sums) = self
            .store
            .read(move |tx| {
                Box::pin(async move {
                    let found = tx.inference_list(&filter, before, fetch).await?;
                    Ok::<_, CallsError>((found, tx.inference_sums(&filter).await?))
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
        let calls = request.page(found, |call| call.id.to_string(), view);
        Ok(InferencesView { calls, totals })
    }

    /// One call, and what was decided about it: by which rule, and with which credential.
    pub async fn call(
        &self,
        caller: &Caller,
        id: InferenceId,
    ) -> Result<InferenceDetailView, CallsError> {
        let caller = caller.clone();
        self.store
            .read(move |tx| {
                Box::pin(async move {
                    let found = tx.inference_get(id).await?;
                    let found = found.filter(|call| caller.may_see(call.user));
                    let call = view(found.ok_or(CallsError::NotFound)?);
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

fn view(call: InferenceCall) -> InferenceView {
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
        first_ms: call.first_ms,
        outcome: call.outcome,
        error: call.error,
    }
}
