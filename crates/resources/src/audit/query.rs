//! Reading the audit log of tool calls.

use chrono::DateTime;
use cynode_domain::ids::CallId;
use cynode_store::{AuditCursor, AuditFilter, StoredCall};
use cynode_wire::audit::{AuditQuery, CallView};
use cynode_wire::page::{Page, PageQuery};

use super::{AuditError, AuditLog, parse_server};
use crate::paging::PageRequest;
use crate::{Caller, PageError};

impl AuditLog {
    /// Lists calls, newest first: those made for the caller, or all for administrators.
    pub async fn list(
        &self,
        caller: &Caller,
        query: AuditQuery,
    ) -> Result<Page<CallView>, AuditError> {
        let page = PageQuery { limit: query.limit, cursor: None };
        let request = PageRequest::<CallId>::parse(&page)?;
        let before = query.cursor.as_deref().map(parse_cursor).transpose()?;
        let user = match (caller.own(), query.user_id) {
            // Users cannot see other users' calls.
            (Some(own), Some(wanted)) if own != wanted => {
                return Ok(Page { items: vec![], next_cursor: None });
            }
            (Some(own), _) => Some(own),
            (None, wanted) => wanted,
        };
        let filter = AuditFilter {
            user,
            task: query.task_id,
            project: query.project_id,
            tool: query.tool,
            decision: query.decision,
            since: query.since,
            until: query.until,
            before,
        };
        let fetch = request.fetch;
        let calls = self
            .store
            .read(move |tx| {
                Box::pin(async move { Ok::<_, AuditError>(tx.call_list(&filter, fetch).await?) })
            })
            .await?;
        let place = |call: &StoredCall| {
            format!("{}.{}", call.call.created_at.timestamp_micros(), call.call.id)
        };
        Ok(request.page(calls, place, call_view))
    }

    pub async fn get(&self, caller: &Caller, id: CallId) -> Result<CallView, AuditError> {
        let found = self
            .store
            .read(move |tx| Box::pin(async move { Ok::<_, AuditError>(tx.call_get(id).await?) }))
            .await?;
        let is_seen =
            |found: &StoredCall| caller.is_admin || found.call.caller.user == Some(caller.user);
        found.filter(is_seen).map(call_view).ok_or(AuditError::NotFound)
    }
}

fn parse_cursor(text: &str) -> Result<AuditCursor, PageError> {
    let parts = text.split_once('.').and_then(|(time, id)| {
        let created_at = DateTime::from_timestamp_micros(time.parse().ok()?)?;
        Some(AuditCursor { created_at, id: id.parse().ok()? })
    });
    parts.ok_or_else(|| PageError::InvalidCursor(text.chars().take(40).collect()))
}

fn call_view(stored: StoredCall) -> CallView {
    let StoredCall { call, chain, seq, hash, outcome } = stored;
    let (status, error_type, duration_ms) = match outcome {
        Some(outcome) => (outcome.status, outcome.error_type, outcome.duration_ms),
        None => (call.status, call.error_type, call.duration_ms),
    };
    let (server, server_id) = parse_server(&call.server);
    CallView {
        id: call.id,
        chain_id: chain,
        seq,
        created_at: call.created_at,
        agent_type: call.caller.kind,
        token_id: call.caller.token,
        user_id: call.caller.user,
        group_ids: call.caller.groups,
        role_names: call.caller.roles,
        project_id: call.binding.project,
        task_id: call.binding.task,
        run_id: call.binding.run,
        job_id: call.binding.job,
        tool_name: call.tool,
        server: server.to_owned(),
        server_id,
        decision: call.decision,
        stage: call.stage,
        status,
        error_type,
        duration_ms,
        origin: call.origin,
        request_id: call.request_id,
        hash: hex::encode(hash),
    }
}
