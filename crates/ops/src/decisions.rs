//! Looking at what the project manager decided.

use cynode_domain::ids::DecisionId;
use cynode_store::{Decision, DecisionFilter, DecisionStore, Store};
use cynode_wire::decisions::{DecisionQuery, PastDecisionView};
use cynode_wire::page::{Page, PageQuery};

use crate::Caller;
use crate::egress::CallsError;
use crate::paging::PageRequest;

/// The record of decisions. Cheap to clone.
#[derive(Clone)]
pub struct Decisions {
    store: Store,
}

impl Decisions {
    /// The decisions on record in `store`.
    pub fn new(store: Store) -> Self {
        Self { store }
    }

    /// A page of the decisions made for the caller, newest first; of everybody's for an administrator.
    pub async fn list(
        &self,
        caller: &Caller,
        query: DecisionQuery,
    ) -> Result<Page<PastDecisionView>, CallsError> {
        let DecisionQuery { task, limit, cursor } = query;
        let request = PageRequest::<DecisionId>::check(&PageQuery { limit, cursor })?;
        let (before, fetch) = (request.before, request.fetch);
        let filter = DecisionFilter { user: caller.own(), task };
        let found = self
            .store
            .read(move |tx| {
                Box::pin(async move {
                    Ok::<_, CallsError>(tx.decision_page(filter, before, fetch).await?)
                })
            })
            .await?;
        Ok(request.page(found, |decision| decision.id.to_string(), view))
    }
}

fn view(decision: Decision) -> PastDecisionView {
    PastDecisionView {
        id: decision.id,
        created_at: decision.created_at,
        handoff: decision.handoff,
        purpose: decision.purpose,
        decided_by: decision.decided_by,
        reason: decision.reason,
        model: decision.model,
        input_hash: decision.input_hash,
        user: decision.user,
        project: decision.project,
        task: decision.task,
        run: decision.run,
        thread: decision.thread,
        trace_id: decision.trace_id,
    }
}
