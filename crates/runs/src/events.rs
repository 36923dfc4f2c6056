//! Event streams: reading the outbox from any cursor, with live updates.

use std::collections::VecDeque;
use std::time::Duration;

use cynode_domain::error_class::{Classification, Classified, ErrorClass};
use cynode_domain::ids::TaskId;
use cynode_runtime::clock::SharedClock;
use cynode_store::{EventCursor, EventFilter, NewTask, Store};
use cynode_wire::events::{Event, EventQuery};
use tokio::time::Instant;

use cynode_execution::{tasks, tasks::TaskError};
use cynode_resources::accounts::PresentedToken;
use cynode_resources::{Caller, Signals};
use cynode_resources::{signals::Topic, signals::TopicSubscription};

const BATCH: u32 = 200;

/// Why a stream was not opened or has ended.
#[derive(Debug, thiserror::Error)]
pub enum EventError {
    /// The start cursor is not valid.
    #[error("{0}: use the id of an event, or 0 for the beginning")]
    BadCursor(#[from] cynode_store::InvalidEventCursor),
    /// The token that opened the stream has expired or was revoked.
    #[error("the token has expired or was revoked: sign in again")]
    BadToken,
    #[error(transparent)]
    Task(#[from] TaskError),
    #[error(transparent)]
    Store(#[from] cynode_store::Error),
}

impl Classified for EventError {
    fn classify(&self) -> Classification<'_> {
        match self {
            Self::BadCursor(_) => Classification::new(ErrorClass::Invalid, self),
            Self::BadToken => Classification::new(ErrorClass::Unauthenticated, self),
            Self::Task(error) => error.classify(),
            Self::Store(error) => error.classify(),
        }
    }
}

/// The event service. Cheap to clone.
#[derive(Clone)]
pub struct EventService {
    store: Store,
    clock: SharedClock,
    signals: Signals,
}

impl EventService {
    /// Creates the service.
    pub fn new(store: Store, clock: SharedClock, signals: Signals) -> Self {
        Self { store, clock, signals }
    }

    /// Subscribes to the events that the caller may see: after `last_event_id`, else after `query.after`, else from
    /// now on.
    pub async fn subscribe(
        &self,
        caller: &Caller,
        query: EventQuery,
        last_event_id: Option<&str>,
    ) -> Result<EventSubscription, EventError> {
        let given = last_event_id.or(query.after.as_deref());
        let given = given.map(str::parse::<EventCursor>).transpose()?;
        let listener = self.signals.subscribe(Topic::Events);
        let caller = caller.clone();
        let credential = caller.credential.clone().ok_or(EventError::BadToken)?;
        let (cursor, filter, shared) = self
            .store
            .read(move |tx| {
                Box::pin(async move {
                    let task = match &query.task {
                        Some(name_or_id) => {
                            Some(tasks::find_shared(tx, &caller, &name_or_id.into()).await?.spec)
                        }
                        None => None,
                    };
                    let is_foreign = |task: &&NewTask| !caller.may_see(task.created_by);
                    let shared = task.as_ref().filter(is_foreign).map(|task| task.id);
                    let shared = shared.map(|task| (caller.clone(), task));
                    let task = task.map(|task| task.id);
                    let cursor = match given {
                        Some(cursor) => cursor,
                        None => tx.event_latest().await?,
                    };
                    // Everyone who sees a task sees all of its events.
                    let owner = if task.is_some() { None } else { caller.own() };
                    Ok::<_, EventError>((cursor, EventFilter { owner, task }, shared))
                })
            })
            .await?;
        let (store, clock) = (self.store.clone(), self.clock.clone());
        let ready = VecDeque::new();
        Ok(EventSubscription { store, clock, listener, credential, shared, cursor, filter, ready })
    }
}

/// An open event stream with its cursor.
pub struct EventSubscription {
    store: Store,
    clock: SharedClock,
    listener: TopicSubscription,
    /// Checked with every fetch: a stream must not outlive the token that opened it.
    credential: PresentedToken,
    /// The reader of a task of another user, checked with every fetch: a stream must not outlive the sharing.
    shared: Option<(Caller, TaskId)>,
    cursor: EventCursor,
    filter: EventFilter,
    ready: VecDeque<Event>,
}

impl EventSubscription {
    /// Returns the next event; `None` if there is none within `patience`.
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
        let (credential, shared) = (self.credential.clone(), self.shared.clone());
        let page = self
            .store
            .read(move |tx| {
                Box::pin(async move {
                    if credential.load_owner(tx, now).await?.is_none() {
                        return Err(EventError::BadToken);
                    }
                    if let Some((caller, task)) = shared {
                        tasks::find_shared(tx, &caller, &task.into()).await?;
                    }
                    Ok(tx.event_page(cursor, filter, BATCH).await?)
                })
            })
            .await?;
        self.cursor = page.cursor;
        self.ready.extend(page.events.into_iter().map(event_view));
        Ok(())
    }
}

fn event_view(event: cynode_store::OutboxEvent) -> Event {
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
