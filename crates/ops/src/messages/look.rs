//! Looking at messages, and being done with them.

use cynode_domain::ids::{MessageId, ProjectId, TaskId};
use cynode_store::{Message, MessageFilter, MessageOrder, MessageStore, Tx};
use cynode_wire::apmas::{MessageQuery, MessageView};
use cynode_wire::page::{Page, PageQuery};

use super::{
    MAX_LINE_BYTES, MessageError, Messages, at_most, brief_json, brief_text, message_view,
};
use crate::Caller;
use crate::paging::PageRequest;
use crate::tasks;

impl Messages {
    /// A page of the messages on tasks that the caller may see, long ones cut short.
    pub async fn list(
        &self,
        caller: &Caller,
        (project, task): (Option<ProjectId>, Option<TaskId>),
        query: MessageQuery,
    ) -> Result<Page<MessageView>, MessageError> {
        at_most("role", query.role.as_deref().unwrap_or_default(), MAX_LINE_BYTES)?;
        let page = PageQuery { limit: query.limit, cursor: query.cursor };
        let request = PageRequest::<MessageId>::check(&page)?;
        let filter = MessageFilter {
            owner: caller.own(),
            project,
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
            beyond: request.before,
            limit: request.fetch,
        };
        let found = self
            .store
            .read(move |tx| {
                Box::pin(async move { Ok::<_, MessageError>(tx.message_list(&filter).await?) })
            })
            .await?;
        Ok(request.page(found, |message| message.sent.id.to_string(), brief))
    }

    /// One message.
    pub async fn get(
        &self,
        caller: &Caller,
        task: TaskId,
        id: MessageId,
    ) -> Result<MessageView, MessageError> {
        let caller = caller.clone();
        let found = self
            .store
            .read(move |tx| Box::pin(async move { find(tx, &caller, task, id).await }))
            .await?;
        Ok(message_view(found))
    }

    /// The project manager is done with a message. Saying so twice changes nothing.
    pub async fn process(
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
                    find(tx, &caller, task, id).await?;
                    tx.message_process(id, now).await?;
                    find(tx, &caller, task, id).await
                })
            })
            .await?;
        Ok(message_view(found))
    }
}

pub(super) fn brief(message: Message) -> MessageView {
    let view = message_view(message);
    MessageView { content: brief_text(view.content), payload: brief_json(view.payload), ..view }
}

async fn find(
    tx: &mut Tx,
    caller: &Caller,
    task: TaskId,
    id: MessageId,
) -> Result<Message, MessageError> {
    tasks::find(tx, caller, &task.to_string()).await?;
    let found = tx.message_get(id).await?.filter(|message| message.sent.task == task);
    found.ok_or(MessageError::NotFound(id))
}
