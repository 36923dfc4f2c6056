//! Listing and reading messages, and marking them as processed.

use cynode_domain::agent::MAX_ROLE_CHARS;
use cynode_domain::ids::{MessageId, ProjectId, TaskId};
use cynode_store::{AgentMessage, ListedProfiles, MessageFilter, MessageOrder, Tx};
use cynode_wire::apmas::{MessageQuery, MessageView};
use cynode_wire::page::{Page, PageQuery};

use super::{
    AgentMessages, MessageError, check_max_bytes, message_view, omit_long_json, truncate_text,
};
use cynode_execution::tasks;
use cynode_resources::Caller;
use cynode_resources::paging::PageRequest;

impl AgentMessages {
    /// Returns a page of the messages on tasks of these profiles that the caller may see, with long texts truncated.
    pub async fn list(
        &self,
        caller: &Caller,
        project: Option<ProjectId>,
        task: Option<TaskId>,
        profiles: ListedProfiles,
        query: MessageQuery,
    ) -> Result<Page<MessageView>, MessageError> {
        check_max_bytes("role", query.role.as_deref().unwrap_or_default(), MAX_ROLE_CHARS)?;
        let page = PageQuery { limit: query.limit, cursor: query.cursor };
        let request = PageRequest::<MessageId>::parse(&page)?;
        let filter = MessageFilter {
            owner: caller.own(),
            project,
            profiles,
            task,
            role: query.role,
            kind: query.kind,
            is_unprocessed: query.unprocessed,
            waits_for_person: query.waiting_for_person,
            order: if query.oldest_first {
                MessageOrder::OldestFirst
            } else {
                MessageOrder::NewestFirst
            },
            after: request.before,
            limit: request.fetch,
        };
        let found = self
            .store
            .read(move |tx| {
                Box::pin(async move { Ok::<_, MessageError>(tx.message_list(&filter).await?) })
            })
            .await?;
        Ok(request.page(found, |message| message.sent.id.to_string(), brief_message_view))
    }

    pub async fn get(
        &self,
        caller: &Caller,
        task: TaskId,
        id: MessageId,
    ) -> Result<MessageView, MessageError> {
        let caller = caller.clone();
        let found = self
            .store
            .read(move |tx| Box::pin(async move { find_message(tx, &caller, task, id).await }))
            .await?;
        Ok(message_view(found))
    }

    /// Marks a message as processed by the project manager. Idempotent.
    pub async fn mark_processed(
        &self,
        caller: &Caller,
        task: TaskId,
        id: MessageId,
    ) -> Result<MessageView, MessageError> {
        let (caller, now) = (caller.clone(), self.clock.now());
        let found = self
            .store
            .write(move |tx| {
                Box::pin(async move {
                    find_message(tx, &caller, task, id).await?;
                    tx.message_mark_processed(id, now).await?;
                    find_message(tx, &caller, task, id).await
                })
            })
            .await?;
        Ok(message_view(found))
    }
}

pub(super) fn brief_message_view(message: AgentMessage) -> MessageView {
    let view = message_view(message);
    MessageView {
        content: truncate_text(&view.content),
        payload: omit_long_json(view.payload),
        ..view
    }
}

async fn find_message(
    tx: &mut Tx,
    caller: &Caller,
    task: TaskId,
    id: MessageId,
) -> Result<AgentMessage, MessageError> {
    tasks::find(tx, caller, &task.into()).await?;
    let found = tx.message_get(id).await?.filter(|message| message.sent.task == task);
    found.ok_or(MessageError::NotFound(id))
}
