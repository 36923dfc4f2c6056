//! The event stream as a command sees it: it survives lost connections and restarts of the gateway.

use std::time::Duration;

use cynode_client::Events;
use cynode_wire::events::{Event, EventQuery};
use tokio::time::timeout;

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
}

impl Follow {
    /// Follows what `query` asks for.
    pub(crate) fn new(query: EventQuery) -> Self {
        Self { query, last_event_id: None, stream: None, patience: Patience::default() }
    }

    /// Waits for news. Fails when the gateway refuses, or is away for longer than a minute.
    pub(crate) async fn next(&mut self, session: &mut Session) -> Result<News, Failure> {
        loop {
            let Some(stream) = &mut self.stream else {
                if self.open(session).await? {
                    return Ok(News::LookYourself);
                }
                continue;
            };
            match timeout(SILENCE, stream.next()).await {
                Ok(Ok(Some(event))) => {
                    self.last_event_id = Some(event.id.clone());
                    return Ok(News::Event(Box::new(event)));
                }
                Ok(Ok(None)) => self.stream = None,
                Ok(Err(error)) if error.is_transient() => self.stream = None,
                Ok(Err(error)) => return Err(Failure::of_call(error, session.gateway_url())),
                Err(_) => return Ok(News::LookYourself),
            }
        }
    }

    /// Tries to open the stream once. True when this ended an absence.
    async fn open(&mut self, session: &mut Session) -> Result<bool, Failure> {
        let (query, last) = (&self.query, self.last_event_id.as_deref());
        match session.call(async |client| client.events(query, last).await).await {
            Ok(stream) => {
                self.stream = Some(stream);
                Ok(self.patience.is_over())
            }
            Err(failure) => self.patience.bear(failure).await.map(|()| false),
        }
    }
}
