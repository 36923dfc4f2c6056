//! Reading the outbox, from any place in it, for as long as somebody listens.

use std::collections::VecDeque;
use std::time::Duration;

use cynode_runtime::clock::SharedClock;
use cynode_store::{EventCursor, EventFilter, EventStore, Store};
use cynode_wire::events::{Event, EventQuery};
use tokio::time::Instant;

use crate::accounts::Credential;
use crate::signals::{Listener, Topic};
use crate::tasks::{self, TaskError};
use crate::{Caller, Signals};

const BATCH: u32 = 200;

/// Why a stream was not opened, or ended.
#[derive(Debug, thiserror::Error)]
pub enum EventError {
    /// The place to begin at is unknown.
    #[error("{0}: use the id of an event, or 0 for the beginning")]
    BadCursor(#[from] cynode_store::NotACursor),
    /// The token that opened the stream has expired or was revoked.
    #[error("the token has expired or was revoked: sign in again")]
    BadToken,
    /// The task was not found.
    #[error(transparent)]
    Task(#[from] TaskError),
    /// The database does not answer.
    #[error(transparent)]
    Store(#[from] cynode_store::Error),
}

/// The outbox. Cheap to clone.
#[derive(Clone)]
pub struct Events {
    store: Store,
    clock: SharedClock,
    signals: Signals,
}

impl Events {
    /// Events kept in `store`.
    pub fn new(store: Store, clock: SharedClock, signals: Signals) -> Self {
        Self { store, clock, signals }
    }

    /// Listens to what the caller may see: after `last_event_id`, else after the query's place, else
    /// from now on.
    pub async fn subscribe(
        &self,
        caller: &Caller,
        query: EventQuery,
        last_event_id: Option<&str>,
    ) -> Result<Subscription, EventError> {
        let given = last_event_id.or(query.after.as_deref());
        let given = given.map(str::parse::<EventCursor>).transpose()?;
        let listener = self.signals.listen(Topic::Events);
        let caller = caller.clone();
        let credential = caller.credential.clone().ok_or(EventError::BadToken)?;
        let (cursor, filter) = self
            .store
            .read(move |tx| {
                Box::pin(async move {
                    let task = match &query.task {
                        Some(wanted) => Some(tasks::find(tx, &caller, wanted).await?.asked.id),
                        None => None,
                    };
                    let cursor = match given {
                        Some(cursor) => cursor,
                        None => tx.event_latest().await?,
                    };
                    Ok::<_, EventError>((cursor, EventFilter { owner: caller.own(), task }))
                })
            })
            .await?;
        let (store, clock) = (self.store.clone(), self.clock.clone());
        let ready = VecDeque::new();
        Ok(Subscription { store, clock, listener, credential, cursor, filter, ready })
    }
}

/// One reader's place in the outbox.
pub struct Subscription {
    store: Store,
    clock: SharedClock,
    listener: Listener,
    /// Looked at with every look for events: a stream must not outlive the right to read it.
    credential: Credential,
    cursor: EventCursor,
    filter: EventFilter,
    ready: VecDeque<Event>,
}

impl Subscription {
    /// The next event; `None` if nothing happened for `patience`.
    pub async fn next(&mut self, patience: Duration) -> Result<Option<Event>, EventError> {
        let deadline = Instant::now() + patience;
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Ok(Some(event));
            }
            self.fetch().await?;
            if self.ready.is_empty() && !self.listener.wait(deadline).await {
                return Ok(None);
            }
        }
    }

    async fn fetch(&mut self) -> Result<(), EventError> {
        let (cursor, filter, now) = (self.cursor, self.filter, self.clock.now());
        let credential = self.credential.clone();
        let page = self
            .store
            .read(move |tx| {
                Box::pin(async move {
                    if credential.owner(tx, now).await?.is_none() {
                        return Err(EventError::BadToken);
                    }
                    Ok(tx.event_page(cursor, filter, BATCH).await?)
                })
            })
            .await?;
        self.cursor = page.cursor;
        self.ready.extend(page.events.into_iter().map(view));
        Ok(())
    }
}

fn view(event: cynode_store::Event) -> Event {
    Event {
        id: event.cursor.to_string(),
        kind: event.kind,
        project_id: event.project,
        task_id: event.task,
        run_id: event.run,
        job_id: event.job,
        data: event.data,
        occurred_at: event.occurred_at,
    }
}
