//! Event stream that reconnects after lost connections and gateway restarts.

use std::time::Duration;

use cynode_client::EventStream;
use cynode_wire::events::{Event, EventQuery};
use tokio::time::{Instant, timeout};

use cynode_cli::failure::CliFailure;
use cynode_cli::gateway_retry::GatewayRetry;
use cynode_cli::session::ApiSession;

/// Idle time after which the caller polls: a connection can die silently.
const IDLE_LIMIT: Duration = Duration::from_secs(10);
/// Item of the event stream.
pub(crate) enum FollowedEvent {
    Event(Box<Event>),
    /// The stream was idle or interrupted; events may be missed, so the caller polls.
    PollNeeded,
}

/// An event stream that resumes after the last event it received.
pub(crate) struct EventFollower {
    query: EventQuery,
    last_event_id: Option<String>,
    stream: Option<EventStream>,
    retry: GatewayRetry,
    /// When the last event or poll happened.
    last_activity: Instant,
}

impl EventFollower {
    pub(crate) fn new(query: EventQuery) -> Self {
        let retry = GatewayRetry::default();
        Self { query, last_event_id: None, stream: None, retry, last_activity: Instant::now() }
    }

    /// Waits for the next item. Fails if the gateway rejects the request or is unreachable for over a minute.
    pub(crate) async fn next(
        &mut self,
        session: &mut ApiSession,
    ) -> Result<FollowedEvent, CliFailure> {
        loop {
            if let Some(news) = self.next_within(IDLE_LIMIT, session).await? {
                return Ok(news);
            }
        }
    }

    /// As [`EventFollower::next`], but returns `None` if an open stream has no event within `limit`.
    pub(crate) async fn next_within(
        &mut self,
        limit: Duration,
        session: &mut ApiSession,
    ) -> Result<Option<FollowedEvent>, CliFailure> {
        loop {
            let Some(stream) = &mut self.stream else {
                if self.open(session).await? {
                    return Ok(Some(FollowedEvent::PollNeeded));
                }
                continue;
            };
            let silence_left = IDLE_LIMIT.saturating_sub(self.last_activity.elapsed());
            match timeout(silence_left.min(limit), stream.next()).await {
                Ok(Ok(Some(event))) => {
                    self.last_activity = Instant::now();
                    self.last_event_id = Some(event.id.clone());
                    return Ok(Some(FollowedEvent::Event(Box::new(event))));
                }
                Ok(Ok(None)) => self.stream = None,
                Ok(Err(error)) if error.is_transient() => self.stream = None,
                Ok(Err(error)) => return Err(session.convert_error(error)),
                Err(_) if silence_left <= limit => {
                    self.last_activity = Instant::now();
                    return Ok(Some(FollowedEvent::PollNeeded));
                }
                Err(_) => return Ok(None),
            }
        }
    }

    /// Tries once to open the stream. Returns true if it was unreachable before.
    async fn open(&mut self, session: &mut ApiSession) -> Result<bool, CliFailure> {
        let (query, last) = (&self.query, self.last_event_id.as_deref());
        match session.call(async |client| client.events(query, last).await).await {
            Ok(stream) => {
                self.stream = Some(stream);
                self.last_activity = Instant::now();
                Ok(self.retry.reset())
            }
            Err(failure) => self.retry.wait_or_fail(failure).await.map(|()| false),
        }
    }
}
