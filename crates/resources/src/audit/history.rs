//! Reading access changes and chat records.

use cynode_domain::ids::ChatTurnId;
use cynode_store::{AccessChangeFilter, ChatRecord};
use cynode_wire::audit::{ChatRecordQuery, ChatRecordView};
use cynode_wire::changes::{ChangeQuery, ChangeView};
use cynode_wire::page::{Page, PageQuery};

use super::{AuditError, AuditLog};
use crate::paging::PageRequest;
use crate::{Caller, changes};

impl AuditLog {
    /// Lists changes of rules, credentials, providers, servers, tools and groups, newest first.
    /// Administrators only.
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
        changes::list_access_changes(&self.store, filter, &PageQuery { limit, cursor }).await
    }

    /// Lists the outcomes of chat requests, newest first: the caller's own, or all for administrators.
    /// Message contents are not recorded.
    pub async fn list_chats(
        &self,
        caller: &Caller,
        query: ChatRecordQuery,
    ) -> Result<Page<ChatRecordView>, AuditError> {
        let ChatRecordQuery { user_id, limit, cursor } = query;
        let request = PageRequest::<ChatTurnId>::parse(&PageQuery { limit, cursor })?;
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
        Ok(request.page(found, |record| record.id.to_string(), chat_record_view))
    }
}

fn chat_record_view(record: ChatRecord) -> ChatRecordView {
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
