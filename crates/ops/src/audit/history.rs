//! Reading what else is on record: changes of what access is decided by, and how chats went.

use cynode_domain::ids::ChatTurnId;
use cynode_store::{AccessChangeFilter, ChatRecord, ChatRecordStore};
use cynode_wire::audit::{ChatRecordQuery, ChatRecordView};
use cynode_wire::changes::{ChangeQuery, ChangeView};
use cynode_wire::page::{Page, PageQuery};

use super::{AuditError, AuditLog};
use crate::paging::PageRequest;
use crate::{Caller, changes};

impl AuditLog {
    /// Who changed what access is decided by, newest first: rules, credentials, providers, servers,
    /// tools and groups. Administrators only.
    pub async fn changes(
        &self,
        caller: &Caller,
        query: ChangeQuery,
    ) -> Result<Page<ChangeView>, AuditError> {
        if !caller.is_admin {
            return Err(AuditError::NotAdmin);
        }
        let ChangeQuery { resource_type, user_id, limit, cursor } = query;
        let filter = AccessChangeFilter { resource_type, resource: None, by: user_id };
        changes::of_access(&self.store, filter, &PageQuery { limit, cursor }).await
    }

    /// How requests to chat went, newest first: the caller's own, or everybody's for administrators.
    /// What was said is not there.
    pub async fn chats(
        &self,
        caller: &Caller,
        query: ChatRecordQuery,
    ) -> Result<Page<ChatRecordView>, AuditError> {
        let ChatRecordQuery { user_id, limit, cursor } = query;
        let request = PageRequest::<ChatTurnId>::check(&PageQuery { limit, cursor })?;
        let (before, fetch) = (request.before, request.fetch);
        if user_id.is_some_and(|user| !caller.may_see(user)) {
            return Ok(Page { items: vec![], next_cursor: None });
        }
        let user = user_id.or(caller.own());
        let found = self
            .store
            .read(move |tx| {
                Box::pin(async move {
                    let found = match user {
                        Some(user) => tx.chat_record_list(user, before, fetch).await?,
                        None => tx.chat_record_list_all(before, fetch).await?,
                    };
                    Ok::<_, AuditError>(found)
                })
            })
            .await?;
        Ok(request.page(found, |record| record.id.to_string(), view))
    }
}

fn view(record: ChatRecord) -> ChatRecordView {
    ChatRecordView {
        id: record.id,
        created_at: record.created_at,
        user_id: record.user,
        project_id: record.project,
        thread_id: record.thread,
        model: record.model,
        outcome: record.outcome,
        error_code: record.error_code,
        redaction_applied: !record.redaction_kinds.is_empty(),
        redaction_kinds: record.redaction_kinds,
        duration_ms: record.duration_ms,
        request_id: record.request_id,
    }
}
