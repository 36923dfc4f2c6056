//! A scripted provider and its clients.

use std::sync::Arc;
use std::time::Duration;

use cynode_llm::{
    ChunkStream, Provider, ProviderCredential, ProviderEndpoint, ProviderError, ProviderKind,
    ProviderLimits, connect,
};
use cynode_llm_wire::openai::{ChatChunk, ChatCompletion, ChatMessage, ChatRequest};
use cynode_testkit::provider::{Answer, ScriptedProvider};
use futures_util::StreamExt as _;

/// The credential of every request.
pub(crate) const SECRET: &str = "sk-test-0123456789abcdef";

/// A client and its scripted provider.
pub(crate) struct ProviderHarness {
    pub(crate) provider: ScriptedProvider,
    pub(crate) client: Arc<dyn Provider>,
    pub(crate) secret: ProviderCredential,
}

impl ProviderHarness {
    pub(crate) fn new(kind: ProviderKind) -> Self {
        Self::with_limits(kind, ProviderLimits::default())
    }

    pub(crate) fn with_limits(kind: ProviderKind, limits: ProviderLimits) -> Self {
        let provider = ScriptedProvider::start();
        let base_url = match kind {
            ProviderKind::OpenAi => provider.openai_url(),
            ProviderKind::Anthropic | ProviderKind::Ollama => provider.url(),
        };
        let client = connect(&ProviderEndpoint { kind, base_url, limits }).unwrap();
        Self { provider, client, secret: ProviderCredential::from(SECRET) }
    }

    /// A client with short timeouts, yet long enough for a busy machine to send the request.
    pub(crate) fn with_short_timeouts(kind: ProviderKind) -> Self {
        let soon = Duration::from_secs(1);
        let limits = ProviderLimits {
            begin: soon,
            idle_timeout: soon,
            finish: soon,
            ..ProviderLimits::default()
        };
        Self::with_limits(kind, limits)
    }

    pub(crate) async fn chat(&self, answer: Answer) -> Result<ChatCompletion, ProviderError> {
        self.provider.script([answer]);
        self.client.chat(&request(), Some(&self.secret)).await
    }

    pub(crate) async fn open_stream(&self, answer: Answer) -> Result<ChunkStream, ProviderError> {
        self.provider.script([answer]);
        self.client.stream(&request(), Some(&self.secret)).await
    }

    /// Collects the chunks of an answer up to its end or its first error.
    pub(crate) async fn stream(&self, answer: Answer) -> (Vec<ChatChunk>, Option<ProviderError>) {
        let mut stream = match self.open_stream(answer).await {
            Ok(stream) => stream,
            Err(error) => return (Vec::new(), Some(error)),
        };
        let mut chunks = Vec::new();
        while let Some(chunk) = stream.next().await {
            match chunk {
                Ok(chunk) => chunks.push(chunk),
                Err(error) => return (chunks, Some(error)),
            }
        }
        (chunks, None)
    }
}

pub(crate) fn request() -> ChatRequest {
    ChatRequest {
        model: Some("scripted-model".to_owned()),
        messages: vec![ChatMessage::text("user", "Hello?")],
        ..ChatRequest::default()
    }
}

pub(crate) fn joined_text(chunks: &[ChatChunk]) -> String {
    chunks.iter().map(ChatChunk::text).collect()
}
