//! The event stream as a command sees it: it survives lost connections and restarts of the gateway.

use std::time::Duration;

use cynode_client::Events;
use cynode_wire::events::{Event, EventQuery};
use tokio::time::{Instant, timeout};

use crate::failure::Failure;
use crate::patience::Patience;
use crate::session::Session;

/// After so much silence the caller looks for itself: a connection can die without a word.
const SILENCE: Duration = Duration::from_secs(10);
/// What following brings.
pub(crate) enum News {
    /// Something happened.
    Event(Box<Event>),
    /// Nothing was heard for a while, or the connection was lost: what was awaited may have
    /// happened unheard.
    LookYourself,
}

/// An event stream that is opened again where it broke off.
pub(crate) struct Follow {
    query: EventQuery,
    last_event_id: Option<String>,
    stream: Option<Events>,
    patience: Patience,
    /// When something was heard last.
    heard_at: Instant,
}

impl Follow {
    /// Follows what `query` asks for.
    pub(crate) fn new(query: EventQuery) -> Self {
        let patience = Patience::default();
        Self { query, last_event_id: None, stream: None, patience, heard_at: Instant::now() }
    }

    /// Waits for news. Fails when the gateway refuses, or is away for longer than a minute.
    pub(crate) async fn next(&mut self, session: &mut Session) -> Result<News, Failure> {
        loop {
            if let Some(news) = self.next_within(SILENCE, session).await? {
                return Ok(news);
            }
        }
    }

    /// As [`Follow::next`], but returns `None` when an open stream brought no news within `limit`.
    pub(crate) async fn next_within(
        &mut self,
        limit: Duration,
        session: &mut Session,
    ) -> Result<Option<News>, Failure> {
        loop {
            let Some(stream) = &mut self.stream else {
                if self.open(session).await? {
                    return Ok(Some(News::LookYourself));
                }
                continue;
            };
            let silence_left = SILENCE.saturating_sub(self.heard_at.elapsed());
            match timeout(silence_left.min(limit), stream.next()).await {
                Ok(Ok(Some(event))) => {
                    self.heard_at = Instant::now();
                    self.last_event_id = Some(event.id.clone());
                    return Ok(Some(News::Event(Box::new(event))));
                }
                Ok(Ok(None)) => self.stream = None,
                Ok(Err(error)) if error.is_transient() => self.stream = None,
                Ok(Err(error)) => return Err(session.fault(error)),
                Err(_) if silence_left <= limit => {
                    self.heard_at = Instant::now();
                    return Ok(Some(News::LookYourself));
                }
                Err(_) => return Ok(None),
            }
        }
    }

    /// Tries to open the stream once. True when this ended an absence.
    async fn open(&mut self, session: &mut Session) -> Result<bool, Failure> {
        let (query, last) = (&self.query, self.last_event_id.as_deref());
        match session.call(async |client| client.events(query, last).await).await {
            Ok(stream) => {
                self.stream = Some(stream);
                self.heard_at = Instant::now();
                Ok(self.patience.is_over())
            }
            Err(failure) => self.patience.bear(failure).await.map(|()| false),
        }
    }
}
