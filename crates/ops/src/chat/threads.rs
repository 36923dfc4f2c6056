//! Threads of a user: create, list, read, append.

use cynode_domain::error_class::{Classification, Classified, ErrorClass};
use cynode_domain::ids::{ChatMessageId, ThreadId};
use cynode_store::{Thread, ThreadMessage, Tx};
use cynode_wire::page::{Page, PageQuery};
use cynode_wire::threads::{
    AppendMessage, CreateThread, ThreadMessageView, ThreadQuery, ThreadView,
};
use serde_json::json;

use super::Chat;
use super::answer_buffer::clean_for_storage;
use cynode_resources::paging::PageRequest;
use cynode_resources::{Caller, PageError};
use cynode_resources::{projects, projects::ProjectError};

const MAX_TITLE_CHARS: usize = 200;
const MAX_CONTENT_BYTES: usize = 1024 * 1024;
/// Attempts to allocate a thread number under concurrent inserts.
const NUMBER_TRIES: u32 = 10;

#[derive(Debug, thiserror::Error)]
pub enum ThreadError {
    /// Also returned for a thread of another user.
    #[error("there is no thread {0}")]
    NotFound(ThreadId),
    #[error("{0}")]
    Invalid(String),
    #[error(transparent)]
    Project(#[from] ProjectError),
    #[error(transparent)]
    Page(#[from] PageError),
    #[error(transparent)]
    Store(#[from] cynode_store::Error),
}

impl Classified for ThreadError {
    fn classify(&self) -> Classification<'_> {
        match self {
            Self::NotFound(_) => Classification::new(ErrorClass::NotFound, self),
            Self::Invalid(_) => Classification::new(ErrorClass::Invalid, self),
            Self::Project(error) => error.classify(),
            Self::Page(error) => error.classify(),
            Self::Store(error) => error.classify(),
        }
    }
}

impl Chat {
    /// Creates a thread, which becomes the current one.
    pub async fn thread_create(
        &self,
        caller: &Caller,
        request: CreateThread,
    ) -> Result<ThreadView, ThreadError> {
        let title = request
            .title
            .map(|title| clean_for_storage(title.trim()))
            .filter(|title| !title.is_empty());
        if title.as_ref().is_some_and(|title| title.chars().count() > MAX_TITLE_CHARS) {
            let fault = format!("title must have at most {MAX_TITLE_CHARS} characters");
            return Err(ThreadError::Invalid(fault));
        }
        let (caller, now) = (caller.clone(), self.clock.now());
        self.store
            .write(move |tx| {
                Box::pin(async move {
                    let project = match &request.project {
                        Some(name_or_id) => {
                            projects::find(tx, &caller, &name_or_id.into()).await?.id
                        }
                        None => {
                            projects::load_or_create_default_project(tx, caller.user, now).await?.id
                        }
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
                            return Ok(thread_view(thread));
                        }
                    }
                    Err(ThreadError::Invalid(
                        "too many threads are being created at once; try again".to_owned(),
                    ))
                })
            })
            .await
    }

    /// Returns a page of the caller's threads, newest first.
    pub async fn thread_list(
        &self,
        caller: &Caller,
        query: ThreadQuery,
    ) -> Result<Page<ThreadView>, ThreadError> {
        let page = PageQuery { limit: query.limit, cursor: query.cursor };
        let request = PageRequest::<ThreadId>::parse(&page)?;
        let (caller, before, fetch) = (caller.clone(), request.before, request.fetch);
        let found = self
            .store
            .read(move |tx| {
                Box::pin(async move {
                    let project = match &query.project {
                        Some(name_or_id) => {
                            Some(projects::find(tx, &caller, &name_or_id.into()).await?.id)
                        }
                        None => None,
                    };
                    let found = tx.thread_list(caller.user, project, before, fetch).await?;
                    Ok::<_, ThreadError>(found)
                })
            })
            .await?;
        Ok(request.page(found, |thread| thread.id.to_string(), thread_view))
    }

    /// Returns one of the caller's threads.
    pub async fn thread_get(
        &self,
        caller: &Caller,
        thread: ThreadId,
    ) -> Result<ThreadView, ThreadError> {
        let caller = caller.clone();
        self.store
            .read(move |tx| {
                Box::pin(
                    async move { Ok(thread_view(find_own_thread(tx, &caller, thread).await?)) },
                )
            })
            .await
    }

    /// Returns a page of a thread's messages, oldest first.
    pub async fn thread_messages(
        &self,
        caller: &Caller,
        thread: ThreadId,
        query: &PageQuery,
    ) -> Result<Page<ThreadMessageView>, ThreadError> {
        let request = PageRequest::<ChatMessageId>::parse(query)?;
        let (caller, after, fetch) = (caller.clone(), request.before, request.fetch);
        let found = self
            .store
            .read(move |tx| {
                Box::pin(async move {
                    find_own_thread(tx, &caller, thread).await?;
                    Ok::<_, ThreadError>(tx.thread_messages(thread, after, fetch).await?)
                })
            })
            .await?;
        Ok(request.page(found, |message| message.id.to_string(), message_view))
    }

    /// Appends a user message without requesting an answer.
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
            let fault = format!("content must have 1 to {MAX_CONTENT_BYTES} bytes of text");
            return Err(ThreadError::Invalid(fault));
        }
        let (caller, created_at) = (caller.clone(), self.clock.now());
        self.store
            .write(move |tx| {
                Box::pin(async move {
                    find_own_thread(tx, &caller, thread).await?;
                    let message = ThreadMessage {
                        id: ChatMessageId::generate(),
                        thread,
                        role: request.role,
                        content: clean_for_storage(&request.content),
                        is_partial: false,
                        metadata: json!({}),
                        turn: None,
                        created_at,
                    };
                    tx.thread_message_insert(&message).await?;
                    Ok(message_view(message))
                })
            })
            .await
    }
}

/// Loads a thread of the caller. No one else may read it, not even an administrator.
async fn find_own_thread(
    tx: &mut Tx,
    caller: &Caller,
    thread: ThreadId,
) -> Result<Thread, ThreadError> {
    let found = tx.thread_get(thread).await?;
    found.filter(|found| found.user == caller.user).ok_or(ThreadError::NotFound(thread))
}

fn thread_view(thread: Thread) -> ThreadView {
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
