//! Ollama: its OpenAI-compatible chat, and its own list of models.

use async_trait::async_trait;
use cynode_llm_wire::openai::{ChatCompletion, ChatRequest};
use serde::Deserialize;

use crate::endpoint::strip_version;
use crate::http::{ProviderHttpClient, ProviderHttpRequest};
use crate::openai::OpenAiClient;
use crate::{
    ChunkStream, InvalidEndpoint, Provider, ProviderCredential, ProviderEndpoint, ProviderError,
};

/// An Ollama server.
#[derive(Debug)]
pub(crate) struct OllamaClient {
    chat: OpenAiClient,
    http: ProviderHttpClient,
}

/// The installed models.
#[derive(Deserialize)]
struct OllamaModelList {
    models: Vec<OllamaModel>,
}

#[derive(Deserialize)]
struct OllamaModel {
    name: String,
}

impl OllamaClient {
    pub(crate) fn new(endpoint: &ProviderEndpoint) -> Result<Self, InvalidEndpoint> {
        let base = strip_version(endpoint.parse_url()?);
        let mut chat = base.clone();
        chat.set_path(&format!("{}/v1", base.path().trim_end_matches('/')));
        Ok(Self {
            chat: OpenAiClient::with_base_url(endpoint, chat)?,
            http: ProviderHttpClient::new(endpoint, base)?,
        })
    }
}

#[async_trait]
impl Provider for OllamaClient {
    async fn chat(
        &self,
        request: &ChatRequest,
        secret: Option<&ProviderCredential>,
    ) -> Result<ChatCompletion, ProviderError> {
        self.chat.chat(request, secret).await
    }

    async fn stream(
        &self,
        request: &ChatRequest,
        secret: Option<&ProviderCredential>,
    ) -> Result<ChunkStream, ProviderError> {
        self.chat.stream(request, secret).await
    }

    async fn models(
        &self,
        secret: Option<&ProviderCredential>,
    ) -> Result<Vec<String>, ProviderError> {
        let call = ProviderHttpRequest::get(&["api", "tags"]).with_credential_header(
            reqwest::header::AUTHORIZATION,
            "Bearer ",
            secret,
        )?;
        let tags: OllamaModelList = self.http.send_json(call, secret).await?;
        Ok(tags.models.into_iter().map(|tag| tag.name).collect())
    }
}
