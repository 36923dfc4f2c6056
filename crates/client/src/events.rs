//! The event stream: server-sent events, read one at a time.

use std::time::Duration;

use cynode_wire::events::{Event, EventQuery};
use reqwest::Method;

use crate::request::send;
use crate::sse::ResponseEvents;
use crate::{Client, ClientError};

/// Longer than a person watches; heartbeats of the server keep the stream open.
const STREAM_TIMEOUT: Duration = Duration::from_hours(24);
/// Larger than any valid event.
const MAX_EVENT_BYTES: usize = 1 << 20;

pub struct EventStream {
    events: ResponseEvents,
}

impl Client {
    /// `GET /v1/events`: events after `last_event_id` if given, otherwise as the query selects.
    pub async fn events(
        &self,
        query: &EventQuery,
        last_event_id: Option<&str>,
    ) -> Result<EventStream, ClientError> {
        let mut request =
            self.request(Method::GET, &["v1", "events"]).query(query).timeout(STREAM_TIMEOUT);
        if let Some(id) = last_event_id {
            request = request.header("Last-Event-ID", id);
        }
        Ok(EventStream { events: ResponseEvents::new(send(request).await?, MAX_EVENT_BYTES) })
    }
}

impl EventStream {
    /// The next event; `None` when the server has closed the stream.
    pub async fn next(&mut self) -> Result<Option<Event>, ClientError> {
        let Some(data) = self.events.next().await? else { return Ok(None) };
        // The data contains the id and the kind, too.
        let event = serde_json::from_str(&data);
        event.map(Some).map_err(|error| self.events.invalid_response(&error.to_string()))
    }
}
