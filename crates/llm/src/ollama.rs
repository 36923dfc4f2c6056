//! Ollama: its OpenAI-compatible chat, and its own list of models.

use async_trait::async_trait;
use cynode_wire::openai::{ChatCompletion, ChatRequest};
use serde::Deserialize;

use crate::endpoint::without_version;
use crate::http::{Call, Http};
use crate::openai::OpenAi;
use crate::{BadEndpoint, ChunkStream, Endpoint, Key, Provider, ProviderError};

/// An Ollama server.
#[derive(Debug)]
pub(crate) struct Ollama {
    chat: OpenAi,
    http: Http,
}

/// What is installed.
#[derive(Deserialize)]
struct Tags {
    models: Vec<Tag>,
}

#[derive(Deserialize)]
struct Tag {
    name: String,
}

impl Ollama {
    pub(crate) fn new(endpoint: &Endpoint) -> Result<Self, BadEndpoint> {
        let base = without_version(endpoint.url()?);
        let mut chat = base.clone();
        chat.set_path(&format!("{}/v1", base.path().trim_end_matches('/')));
        Ok(Self { chat: OpenAi::at(endpoint, chat)?, http: Http::new(endpoint, base)? })
    }
}

#[async_trait]
impl Provider for Ollama {
    async fn chat(
        &self,
        request: &ChatRequest,
        secret: Option<&Key>,
    ) -> Result<ChatCompletion, ProviderError> {
        self.chat.chat(request, secret).await
    }

    async fn stream(
        &self,
        request: &ChatRequest,
        secret: Option<&Key>,
    ) -> Result<ChunkStream, ProviderError> {
        self.chat.stream(request, secret).await
    }

    async fn models(&self, secret: Option<&Key>) -> Result<Vec<String>, ProviderError> {
        let call = Call::get(&["api", "tags"]).authorize(
            reqwest::header::AUTHORIZATION,
            "Bearer ",
            secret,
        )?;
        let tags: Tags = self.http.json(call, secret).await?;
        Ok(tags.models.into_iter().map(|tag| tag.name).collect())
    }
}
