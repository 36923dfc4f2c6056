//! Reading the recorded decisions of the project manager.

use cynode_domain::ids::DecisionId;
use cynode_store::{DecisionFilter, ManagerDecision, Store};
use cynode_wire::decisions::{DecisionQuery, PastDecisionView};
use cynode_wire::page::{Page, PageQuery};

use crate::egress::CallLogError;
use cynode_resources::Caller;
use cynode_resources::paging::PageRequest;

/// Reads recorded decisions. Cheap to clone.
#[derive(Clone)]
pub struct DecisionRecords {
    store: Store,
}

impl DecisionRecords {
    pub fn new(store: Store) -> Self {
        Self { store }
    }

    /// Returns a page of the caller's decisions, newest first; of all users for an administrator.
    pub async fn list(
        &self,
        caller: &Caller,
        query: DecisionQuery,
    ) -> Result<Page<PastDecisionView>, CallLogError> {
        let DecisionQuery { task, limit, cursor } = query;
        let request = PageRequest::<DecisionId>::parse(&PageQuery { limit, cursor })?;
        let (before, fetch) = (request.before, request.fetch);
        let filter = DecisionFilter { user: caller.own(), task };
        let found = self
            .store
            .read(move |tx| {
                Box::pin(async move {
                    Ok::<_, CallLogError>(tx.decision_page(filter, before, fetch).await?)
                })
            })
            .await?;
        Ok(request.page(found, |decision| decision.id.to_string(), decision_view))
    }
}

fn decision_view(decision: ManagerDecision) -> PastDecisionView {
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
