//! The event stream: server-sent events, read one at a time.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use cynode_wire::events::{Event, EventQuery};
use futures_util::stream::BoxStream;
use futures_util::{StreamExt, TryStreamExt};
use reqwest::Method;

use crate::request::{send, unreachable};
use crate::{Client, Error};

/// Longer than a person watches; the server's heartbeats show that the stream lives.
const STREAM_TIMEOUT: Duration = Duration::from_hours(24);
/// No single event is near this size; a longer line is not ours.
const MAX_LINE_BYTES: usize = 1 << 20;

/// An open event stream.
pub struct Events {
    url: String,
    body: BoxStream<'static, Result<Bytes, Error>>,
    unread: BytesMut,
    ready: VecDeque<Event>,
}

impl Client {
    /// `GET /v1/events`: events after `last_event_id` if given, else as the query says.
    pub async fn events(
        &self,
        query: &EventQuery,
        last_event_id: Option<&str>,
    ) -> Result<Events, Error> {
        let mut request =
            self.request(Method::GET, &["v1", "events"]).query(query).timeout(STREAM_TIMEOUT);
        if let Some(id) = last_event_id {
            request = request.header("Last-Event-ID", id);
        }
        let response = send(request).await?;
        let url = response.url().to_string();
        let body = response.bytes_stream().map_err(unreachable).boxed();
        Ok(Events { url, body, unread: BytesMut::new(), ready: VecDeque::new() })
    }
}

impl Events {
    /// The next event; `None` when the server ended the stream.
    pub async fn next(&mut self) -> Result<Option<Event>, Error> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Ok(Some(event));
            }
            let Some(piece) = self.body.next().await else {
                return Ok(None);
            };
            self.unread.extend_from_slice(&piece?);
            self.read_lines()?;
        }
    }

    /// Every event is one `data:` line; ids and kinds are inside it, so other lines are skipped.
    fn read_lines(&mut self) -> Result<(), Error> {
        while let Some(end) = self.unread.iter().position(|byte| *byte == b'\n') {
            let line = self.unread.split_to(end);
            self.unread.advance(1);
            if let Some(data) = line.strip_prefix(b"data:") {
                let event = serde_json::from_slice(data).map_err(|error| Error::Unreadable {
                    url: self.url.clone(),
                    reason: error.to_string(),
                })?;
                self.ready.push_back(event);
            }
        }
        if self.unread.len() > MAX_LINE_BYTES {
            let reason = "an event is longer than 1 MiB".to_owned();
            return Err(Error::Unreadable { url: self.url.clone(), reason });
        }
        Ok(())
    }
}
