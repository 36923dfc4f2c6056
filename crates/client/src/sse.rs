//! The server-sent events of a response.

use std::collections::VecDeque;

use bytes::Bytes;
use cynode_wire::sse::Reader;
use futures_util::stream::BoxStream;
use futures_util::{StreamExt as _, TryStreamExt as _};
use reqwest::Response;

use crate::ClientError;
use crate::request::unreachable_error;

/// Reads the events of one response. Dropping it cancels the request.
pub(crate) struct ResponseEvents {
    url: String,
    body: BoxStream<'static, Result<Bytes, ClientError>>,
    reader: Reader,
    pending: VecDeque<String>,
}

impl ResponseEvents {
    /// Reads events of at most `max_event_bytes`.
    pub(crate) fn new(response: Response, max_event_bytes: usize) -> Self {
        Self {
            url: response.url().to_string(),
            body: response.bytes_stream().map_err(unreachable_error).boxed(),
            reader: Reader::new(max_event_bytes),
            pending: VecDeque::new(),
        }
    }

    /// The data of the next event; `None` at the end of the body. An incomplete last event is dropped.
    pub(crate) async fn next(&mut self) -> Result<Option<String>, ClientError> {
        loop {
            if let Some(data) = self.pending.pop_front() {
                return Ok(Some(data));
            }
            let Some(bytes) = self.body.next().await else { return Ok(None) };
            let pending = &mut self.pending;
            let pushed = self.reader.push(&bytes?, |event| pending.push_back(event.data));
            pushed.map_err(|error| self.invalid_response(&error.to_string()))?;
        }
    }

    pub(crate) fn invalid_response(&self, reason: &str) -> ClientError {
        ClientError::InvalidResponse { url: self.url.clone(), reason: reason.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events_of(body: &str) -> ResponseEvents {
        let response = http::Response::new(body.to_owned());
        ResponseEvents::new(Response::from(response), 100)
    }

    #[tokio::test]
    async fn events_are_returned_in_order_and_an_incomplete_one_is_dropped() {
        let mut events =
            events_of("\u{feff}: ping\r\n\r\nid: 1\r\ndata: a\r\n\r\ndata: b\n\ndata: cut");

        let mut all = vec![];
        while let Some(data) = events.next().await.unwrap() {
            all.push(data);
        }

        assert_eq!(all, ["a", "b"]);
    }

    #[tokio::test]
    async fn a_line_without_end_is_an_invalid_response() {
        let mut events = events_of(&"data: a".repeat(1000));

        let error = events.next().await.unwrap_err();

        assert!(matches!(error, ClientError::InvalidResponse { .. }), "{error:?}");
        assert!(error.to_string().contains("larger than 100 bytes"), "{error}");
    }
}
