//! Threads, as their owner sees and begins them.

use cynode_domain::ids::{ChatMessageId, ThreadId};
use cynode_store::{Thread, ThreadMessage, ThreadStore, Tx};
use cynode_wire::page::{Page, PageQuery};
use cynode_wire::threads::{
    AppendMessage, CreateThread, ThreadMessageView, ThreadQuery, ThreadView,
};
use serde_json::json;

use super::Chat;
use super::gather::kept;
use crate::paging::PageRequest;
use crate::projects::{self, ProjectError};
use crate::{BadCursor, Caller};

const MAX_TITLE_CHARS: usize = 200;
const MAX_CONTENT_BYTES: usize = 1024 * 1024;
/// How often a number is looked for that nobody else takes at the same moment.
const NUMBER_TRIES: u32 = 10;

/// Why something could not be done with a thread.
#[derive(Debug, thiserror::Error)]
pub enum ThreadError {
    /// There is no such thread, or it is somebody else's.
    #[error("there is no thread {0}")]
    NotFound(ThreadId),
    /// The request breaks rules.
    #[error("{0}")]
    Invalid(String),
    /// The project was not found.
    #[error(transparent)]
    Project(#[from] ProjectError),
    /// The page asked for cannot be given.
    #[error(transparent)]
    Page(#[from] BadCursor),
    /// The database does not answer.
    #[error(transparent)]
    Store(#[from] cynode_store::Error),
}

impl Chat {
    /// Begins a thread, which is the one that goes on from now.
    pub async fn thread_create(
        &self,
        caller: &Caller,
        request: CreateThread,
    ) -> Result<ThreadView, ThreadError> {
        let title = request.title.map(|title| kept(title.trim())).filter(|title| !title.is_empty());
        if title.as_ref().is_some_and(|title| title.chars().count() > MAX_TITLE_CHARS) {
            let fault = format!("title is longer than {MAX_TITLE_CHARS} characters");
            return Err(ThreadError::Invalid(fault));
        }
        let (caller, now) = (caller.clone(), self.clock.now());
        self.store
            .write(move |tx| {
                Box::pin(async move {
                    let project = match &request.project {
                        Some(wanted) => projects::find(tx, &caller, wanted).await?.id,
                        None => projects::default_of(tx, caller.user, now).await?.id,
                    };
                    for _ in 0..NUMBER_TRIES {
                        let latest = tx.thread_latest(caller.user, project).await?;
                        let thread = Thread {
                            id: ThreadId::generate(),
                            user: caller.user,
                            project,
                            number: latest.map_or(1, |latest| latest.number + 1),
                            title: title.clone(),
                            created_at: now,
                            updated_at: now,
                        };
                        if tx.thread_insert(&thread).await? {
                            return Ok(view(thread));
                        }
                    }
                    Err(ThreadError::Invalid("others begin threads too: try again".to_owned()))
                })
            })
            .await
    }

    /// A page of the caller's own threads, newest first.
    pub async fn thread_list(
        &self,
        caller: &Caller,
        query: ThreadQuery,
    ) -> Result<Page<ThreadView>, ThreadError> {
        let page = PageQuery { limit: query.limit, cursor: query.cursor };
        let request = PageRequest::<ThreadId>::check(&page)?;
        let (caller, before, fetch) = (caller.clone(), request.before, request.fetch);
        let found = self
            .store
            .read(move |tx| {
                Box::pin(async move {
                    let project = match &query.project {
                        Some(wanted) => Some(projects::find(tx, &caller, wanted).await?.id),
                        None => None,
                    };
                    let found = tx.thread_list(caller.user, project, before, fetch).await?;
                    Ok::<_, ThreadError>(found)
                })
            })
            .await?;
        Ok(request.page(found, |thread| thread.id.to_string(), view))
    }

    /// One of the caller's own threads.
    pub async fn thread_get(
        &self,
        caller: &Caller,
        thread: ThreadId,
    ) -> Result<ThreadView, ThreadError> {
        let caller = caller.clone();
        self.store
            .read(move |tx| Box::pin(async move { Ok(view(own(tx, &caller, thread).await?)) }))
            .await
    }

    /// A page of what was said in a thread, oldest first.
    pub async fn thread_messages(
        &self,
        caller: &Caller,
        thread: ThreadId,
        query: &PageQuery,
    ) -> Result<Page<ThreadMessageView>, ThreadError> {
        let request = PageRequest::<ChatMessageId>::check(query)?;
        let (caller, after, fetch) = (caller.clone(), request.before, request.fetch);
        let found = self
            .store
            .read(move |tx| {
                Box::pin(async move {
                    own(tx, &caller, thread).await?;
                    Ok::<_, ThreadError>(tx.thread_messages(thread, after, fetch).await?)
                })
            })
            .await?;
        Ok(request.page(found, |message| message.id.to_string(), message_view))
    }

    /// Keeps something that the user says, without asking anybody for an answer.
    pub async fn thread_append(
        &self,
        caller: &Caller,
        thread: ThreadId,
        request: AppendMessage,
    ) -> Result<ThreadMessageView, ThreadError> {
        if request.role != "user" {
            return Err(ThreadError::Invalid("role must be \"user\"".to_owned()));
        }
        if request.content.trim().is_empty() || request.content.len() > MAX_CONTENT_BYTES {
            let fault = format!("content must hold 1 to {MAX_CONTENT_BYTES} bytes of text");
            return Err(ThreadError::Invalid(fault));
        }
        let (caller, created_at) = (caller.clone(), self.clock.now());
        self.store
            .write(move |tx| {
                Box::pin(async move {
                    own(tx, &caller, thread).await?;
                    let message = ThreadMessage {
                        id: ChatMessageId::generate(),
                        thread,
                        role: request.role,
                        content: kept(&request.content),
                        is_partial: false,
                        metadata: json!({}),
                        turn: None,
                        created_at,
                    };
                    tx.thread_say(&message).await?;
                    Ok(message_view(message))
                })
            })
            .await
    }
}

/// The thread, if it is the caller's own. Nobody reads the conversations of others, administrators
/// included.
async fn own(tx: &mut Tx, caller: &Caller, thread: ThreadId) -> Result<Thread, ThreadError> {
    let found = tx.thread_get(thread).await?;
    found.filter(|found| found.user == caller.user).ok_or(ThreadError::NotFound(thread))
}

fn view(thread: Thread) -> ThreadView {
    ThreadView {
        id: thread.id,
        project_id: thread.project,
        title: thread.title,
        created_at: thread.created_at,
        updated_at: thread.updated_at,
    }
}

fn message_view(message: ThreadMessage) -> ThreadMessageView {
    ThreadMessageView {
        id: message.id,
        role: message.role,
        content: message.content,
        is_partial: message.is_partial,
        metadata: message.metadata,
        created_at: message.created_at,
    }
}
