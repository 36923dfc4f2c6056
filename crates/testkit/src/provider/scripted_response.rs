//! Scripted responses and faults.

use std::time::Duration;

use serde_json::Value;

/// The scripted response to one request.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    pub(super) kind: ResponseKind,
    /// Delay before the first byte.
    pub(super) delay: Duration,
    /// Delay between two chunks of a stream.
    pub(super) pause: Duration,
    pub(super) cut: ResponseCut,
    /// Prompt and completion tokens.
    pub(super) usage: (u64, u64),
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum ResponseKind {
    Message(ScriptedMessage),
    Status { code: u16, retry_after: Option<String>, message: String },
    Raw { content_type: String, body: String },
    NoResponse,
}

/// A model's message.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct ScriptedMessage {
    /// The text, as chunks of a stream.
    pub(super) chunks: Vec<String>,
    /// Tool calls: names and raw arguments.
    pub(super) calls: Vec<(String, String)>,
    pub(super) is_refusal: bool,
    pub(super) is_cut_short: bool,
}

impl ScriptedMessage {
    pub(super) fn text(&self) -> String {
        self.chunks.concat()
    }
}

/// Where a response ends early, in chunks of a stream; a non-streamed response is cut in its middle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ResponseCut {
    Complete,
    Disconnect(usize),
    Stall(usize),
}

impl Answer {
    /// Returns `text`, word by word in a stream.
    pub fn text(text: &str) -> Self {
        Self::text_chunks(text.split_inclusive(' '))
    }

    /// Returns text in exactly these chunks.
    pub fn text_chunks<'a>(chunks: impl IntoIterator<Item = &'a str>) -> Self {
        let chunks = chunks.into_iter().map(str::to_owned).collect();
        Self::from_message(ScriptedMessage { chunks, ..ScriptedMessage::default() })
    }

    /// Returns one tool call.
    pub fn tool_call(name: &str, arguments: impl Into<Value>) -> Self {
        Self::tool_calls([(name, arguments.into())])
    }

    /// Returns several tool calls.
    pub fn tool_calls<'a>(calls: impl IntoIterator<Item = (&'a str, Value)>) -> Self {
        let calls = calls.into_iter().map(|(name, it)| (name.to_owned(), it.to_string())).collect();
        Self::from_message(ScriptedMessage { calls, ..ScriptedMessage::default() })
    }

    /// Returns a tool call with arguments that are not JSON.
    pub fn call_with_invalid_arguments(name: &str) -> Self {
        let calls = vec![(name.to_owned(), "{\"city\": ".to_owned())];
        Self::from_message(ScriptedMessage { calls, ..ScriptedMessage::default() })
    }

    /// Returns a refusal.
    pub fn refusal(text: &str) -> Self {
        let chunks = vec![text.to_owned()];
        Self::from_message(ScriptedMessage {
            chunks,
            is_refusal: true,
            ..ScriptedMessage::default()
        })
    }

    /// Returns `text` truncated by the token limit.
    pub fn truncated(text: &str) -> Self {
        let chunks = vec![text.to_owned()];
        Self::from_message(ScriptedMessage {
            chunks,
            is_cut_short: true,
            ..ScriptedMessage::default()
        })
    }

    /// Returns a status and an error in the API's own format.
    pub fn status(code: u16, message: &str) -> Self {
        Self::new(ResponseKind::Status { code, retry_after: None, message: message.to_owned() })
    }

    /// Returns 429 with `Retry-After`.
    pub fn rate_limited(retry_after_seconds: u64) -> Self {
        Self::new(ResponseKind::Status {
            code: 429,
            retry_after: Some(retry_after_seconds.to_string()),
            message: "Rate limit reached".to_owned(),
        })
    }

    /// Returns 500.
    pub fn server_error() -> Self {
        Self::status(500, "The server had an error while processing your request")
    }

    /// Returns 401 and echoes the credential, as providers do.
    pub fn unauthorized(credential: &str) -> Self {
        Self::status(401, &format!("Incorrect API key provided: {credential}"))
    }

    /// Never responds.
    pub fn no_response() -> Self {
        Self::new(ResponseKind::NoResponse)
    }

    /// Returns a body that is not JSON.
    pub fn invalid_json() -> Self {
        Self::raw("application/json", "{\"choices\": [{\"message\": ")
    }

    /// Returns JSON of another schema.
    pub fn wrong_schema() -> Self {
        Self::raw("application/json", "{\"answer\": 42}")
    }

    /// Returns a stream with one event that is not JSON.
    pub fn invalid_event() -> Self {
        Self::raw("text/event-stream", "data: {\"choices\": [\n\n")
    }

    /// Returns exactly this body.
    pub fn raw(content_type: &str, body: &str) -> Self {
        Self::new(ResponseKind::Raw {
            content_type: content_type.to_owned(),
            body: body.to_owned(),
        })
    }

    /// Delays the first byte.
    #[must_use]
    pub fn after(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// Delays every chunk of a stream after the first.
    #[must_use]
    pub fn with_chunk_delay(mut self, pause: Duration) -> Self {
        self.pause = pause;
        self
    }

    /// Closes the connection after so many chunks, as if the provider had crashed.
    #[must_use]
    pub fn disconnecting_after(mut self, chunks: usize) -> Self {
        self.cut = ResponseCut::Disconnect(chunks);
        self
    }

    /// Stalls after so many chunks, with the connection open.
    #[must_use]
    pub fn stalling_after(mut self, chunks: usize) -> Self {
        self.cut = ResponseCut::Stall(chunks);
        self
    }

    /// Sets the reported usage, instead of 11 and 7 tokens.
    #[must_use]
    pub fn with_usage(mut self, prompt_tokens: u64, completion_tokens: u64) -> Self {
        self.usage = (prompt_tokens, completion_tokens);
        self
    }

    fn from_message(message: ScriptedMessage) -> Self {
        Self::new(ResponseKind::Message(message))
    }

    fn new(kind: ResponseKind) -> Self {
        let (delay, pause) = (Duration::ZERO, Duration::ZERO);
        Self { kind, delay, pause, cut: ResponseCut::Complete, usage: (11, 7) }
    }
}
