//! A scripted provider, and clients that speak to it.

use std::sync::Arc;
use std::time::Duration;

use cynode_llm::{
    ChunkStream, Endpoint, Key, Limits, Provider, ProviderError, ProviderKind, connect,
};
use cynode_testkit::provider::{Answer, ScriptedProvider};
use cynode_wire::openai::{ChatChunk, ChatCompletion, ChatMessage, ChatRequest};
use futures_util::StreamExt as _;

/// What every request of these tests is signed with.
pub(crate) const SECRET: &str = "sk-test-0123456789abcdef";

/// A client and the provider that it speaks to.
pub(crate) struct Harness {
    pub(crate) provider: ScriptedProvider,
    pub(crate) client: Arc<dyn Provider>,
    pub(crate) secret: Key,
}

impl Harness {
    pub(crate) fn new(kind: ProviderKind) -> Self {
        Self::with_limits(kind, Limits::default())
    }

    pub(crate) fn with_limits(kind: ProviderKind, limits: Limits) -> Self {
        let provider = ScriptedProvider::start();
        let base_url = match kind {
            ProviderKind::OpenAi => provider.openai_url(),
            ProviderKind::Anthropic | ProviderKind::Ollama => provider.url(),
        };
        let client = connect(&Endpoint { kind, base_url, limits }).unwrap();
        Self { provider, client, secret: Key::from(SECRET) }
    }

    /// A provider whose patience ends soon, though not before a busy machine has sent the request.
    pub(crate) fn hasty(kind: ProviderKind) -> Self {
        let soon = Duration::from_secs(1);
        let limits = Limits { begin: soon, go_on: soon, finish: soon, ..Limits::default() };
        Self::with_limits(kind, limits)
    }

    pub(crate) async fn chat(&self, answer: Answer) -> Result<ChatCompletion, ProviderError> {
        self.provider.script([answer]);
        self.client.chat(&request(), Some(&self.secret)).await
    }

    pub(crate) async fn open(&self, answer: Answer) -> Result<ChunkStream, ProviderError> {
        self.provider.script([answer]);
        self.client.stream(&request(), Some(&self.secret)).await
    }

    /// The pieces of an answer up to its end or its first error.
    pub(crate) async fn stream(&self, answer: Answer) -> (Vec<ChatChunk>, Option<ProviderError>) {
        let mut stream = match self.open(answer).await {
            Ok(stream) => stream,
            Err(error) => return (Vec::new(), Some(error)),
        };
        let mut pieces = Vec::new();
        while let Some(piece) = stream.next().await {
            match piece {
                Ok(piece) => pieces.push(piece),
                Err(error) => return (pieces, Some(error)),
            }
        }
        (pieces, None)
    }
}

pub(crate) fn request() -> ChatRequest {
    ChatRequest {
        model: Some("scripted-model".to_owned()),
        messages: vec![ChatMessage::text("user", "Hello?")],
        ..ChatRequest::default()
    }
}

pub(crate) fn words(pieces: &[ChatChunk]) -> String {
    pieces.iter().map(ChatChunk::text).collect()
}
