//! What a scripted provider says, and how it fails.

use std::time::Duration;

use serde_json::Value;

/// What a scripted provider says to one request.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    pub(super) what: What,
    /// How long it waits before its first byte.
    pub(super) delay: Duration,
    /// How long it waits between two pieces of a stream.
    pub(super) pause: Duration,
    pub(super) cut: Cut,
    /// Tokens of question and answer.
    pub(super) usage: (u64, u64),
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum What {
    Say(Said),
    Status { code: u16, retry_after: Option<String>, message: String },
    Raw { content_type: String, body: String },
    Silence,
}

/// An answer of a model.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Said {
    /// Its words, as they come in a stream.
    pub(super) pieces: Vec<String>,
    /// The calls it asks for: names and arguments as they are written.
    pub(super) calls: Vec<(String, String)>,
    pub(super) is_refusal: bool,
    pub(super) is_cut_short: bool,
}

impl Said {
    pub(super) fn text(&self) -> String {
        self.pieces.concat()
    }
}

/// Where an answer ends too early. Counts pieces of a stream; a whole answer is cut in its middle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cut {
    Whole,
    BreaksOff(usize),
    Stalls(usize),
}

impl Answer {
    /// Says `text`, word by word in a stream.
    pub fn text(text: &str) -> Self {
        Self::pieces(text.split_inclusive(' '))
    }

    /// Says words in exactly these pieces.
    pub fn pieces<'a>(pieces: impl IntoIterator<Item = &'a str>) -> Self {
        let pieces = pieces.into_iter().map(str::to_owned).collect();
        Self::say(Said { pieces, ..Said::default() })
    }

    /// Asks for a call of a tool.
    pub fn call(name: &str, arguments: impl Into<Value>) -> Self {
        Self::calls([(name, arguments.into())])
    }

    /// Asks for several calls at once.
    pub fn calls<'a>(calls: impl IntoIterator<Item = (&'a str, Value)>) -> Self {
        let calls = calls.into_iter().map(|(name, it)| (name.to_owned(), it.to_string())).collect();
        Self::say(Said { calls, ..Said::default() })
    }

    /// Asks for a call with arguments that are not JSON.
    pub fn call_with_invalid_arguments(name: &str) -> Self {
        let calls = vec![(name.to_owned(), "{\"city\": ".to_owned())];
        Self::say(Said { calls, ..Said::default() })
    }

    /// Refuses to answer.
    pub fn refusal(text: &str) -> Self {
        let pieces = vec![text.to_owned()];
        Self::say(Said { pieces, is_refusal: true, ..Said::default() })
    }

    /// Says `text` and stops because of the limit of tokens.
    pub fn cut_short(text: &str) -> Self {
        let pieces = vec![text.to_owned()];
        Self::say(Said { pieces, is_cut_short: true, ..Said::default() })
    }

    /// Answers with a status and an error in the wire's own shape.
    pub fn status(code: u16, message: &str) -> Self {
        Self::new(What::Status { code, retry_after: None, message: message.to_owned() })
    }

    /// Asks for fewer requests (429) and names a wait.
    pub fn rate_limited(retry_after_seconds: u64) -> Self {
        Self::new(What::Status {
            code: 429,
            retry_after: Some(retry_after_seconds.to_string()),
            message: "Rate limit reached".to_owned(),
        })
    }

    /// Fails (500).
    pub fn server_error() -> Self {
        Self::status(500, "The server had an error while processing your request")
    }

    /// Does not accept the credential (401), and repeats it as providers do.
    pub fn unauthorized(credential: &str) -> Self {
        Self::status(401, &format!("Incorrect API key provided: {credential}"))
    }

    /// Never says anything.
    pub fn silence() -> Self {
        Self::new(What::Silence)
    }

    /// Says something that is not JSON.
    pub fn invalid_json() -> Self {
        Self::raw("application/json", "{\"choices\": [{\"message\": ")
    }

    /// Says JSON that is not an answer.
    pub fn wrong_schema() -> Self {
        Self::raw("application/json", "{\"answer\": 42}")
    }

    /// A stream with one event that is not JSON.
    pub fn invalid_event() -> Self {
        Self::raw("text/event-stream", "data: {\"choices\": [\n\n")
    }

    /// Says exactly this, whatever was asked.
    pub fn raw(content_type: &str, body: &str) -> Self {
        Self::new(What::Raw { content_type: content_type.to_owned(), body: body.to_owned() })
    }

    /// Waits before the first byte.
    #[must_use]
    pub fn after(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// Waits between the pieces of a stream.
    #[must_use]
    pub fn with_pause(mut self, pause: Duration) -> Self {
        self.pause = pause;
        self
    }

    /// Breaks off after so many pieces, as if the provider had died.
    #[must_use]
    pub fn breaking_off_after(mut self, pieces: usize) -> Self {
        self.cut = Cut::BreaksOff(pieces);
        self
    }

    /// Falls silent after so many pieces, with the connection open.
    #[must_use]
    pub fn stalling_after(mut self, pieces: usize) -> Self {
        self.cut = Cut::Stalls(pieces);
        self
    }

    /// What it says it cost, instead of 11 and 7 tokens.
    #[must_use]
    pub fn with_usage(mut self, prompt_tokens: u64, completion_tokens: u64) -> Self {
        self.usage = (prompt_tokens, completion_tokens);
        self
    }

    fn say(said: Said) -> Self {
        Self::new(What::Say(said))
    }

    fn new(what: What) -> Self {
        let (delay, pause) = (Duration::ZERO, Duration::ZERO);
        Self { what, delay, pause, cut: Cut::Whole, usage: (11, 7) }
    }
}
