//! Chat completions, as OpenAI and everything compatible with it speaks them.

use std::borrow::Cow;
use std::collections::VecDeque;

use async_trait::async_trait;
use cynode_wire::openai::{
    ChatChunk, ChatCompletion, ChatRequest, ModelEntry, ModelList, StreamOptions,
};
use reqwest::header::AUTHORIZATION;
use secrecy::SecretString;
use url::Url;

use crate::http::{Call, Http, parse};
use crate::stream::{Dialect, Progress, pieces};
use crate::{BadEndpoint, ChunkStream, Endpoint, Provider, ProviderError};

const CHAT: &[&str] = &["chat", "completions"];

/// A provider that speaks OpenAI's API. What it does not know of a request is passed on.
#[derive(Debug)]
pub(crate) struct OpenAi {
    http: Http,
}

impl OpenAi {
    pub(crate) fn new(endpoint: &Endpoint) -> Result<Self, BadEndpoint> {
        Self::at(endpoint, endpoint.url()?)
    }

    pub(crate) fn at(endpoint: &Endpoint, base: Url) -> Result<Self, BadEndpoint> {
        Ok(Self { http: Http::new(endpoint, base)? })
    }
}

#[async_trait]
impl Provider for OpenAi {
    async fn chat(
        &self,
        request: &ChatRequest,
        secret: Option<&SecretString>,
    ) -> Result<ChatCompletion, ProviderError> {
        let request = if request.stream || request.stream_options.is_some() {
            Cow::Owned(ChatRequest { stream: false, stream_options: None, ..request.clone() })
        } else {
            Cow::Borrowed(request)
        };
        let call = Call::post(CHAT, &request)?.authorize(AUTHORIZATION, "Bearer ", secret)?;
        let answer: ChatCompletion = self.http.json(call, secret).await?;
        if answer.choices.is_empty() {
            return Err(ProviderError::malformed("it has no choices"));
        }
        Ok(answer)
    }

    async fn stream(
        &self,
        request: &ChatRequest,
        secret: Option<&SecretString>,
    ) -> Result<ChunkStream, ProviderError> {
        let options = request.stream_options.clone().unwrap_or_default();
        let options = StreamOptions { include_usage: true, ..options };
        let request =
            ChatRequest { stream: true, stream_options: Some(options), ..request.clone() };
        let call = Call::post(CHAT, &request)?.authorize(AUTHORIZATION, "Bearer ", secret)?;
        let response = self.http.send(call, secret, self.http.limits.begin).await?;
        let chunks = Chunks { is_finished: false, secret: secret.cloned() };
        pieces(response, chunks, &self.http.limits)
    }

    async fn models(&self, secret: Option<&SecretString>) -> Result<Vec<String>, ProviderError> {
        let call = Call::get(&["models"]).authorize(AUTHORIZATION, "Bearer ", secret)?;
        let list: ModelList = self.http.json(call, secret).await?;
        Ok(list.data.into_iter().map(|ModelEntry { id, .. }| id).collect())
    }
}

/// Events that are chunks already.
struct Chunks {
    /// A choice said why it ended: some servers close the stream then without a last word.
    is_finished: bool,
    secret: Option<SecretString>,
}

impl Dialect for Chunks {
    fn read(
        &mut self,
        data: &str,
        ready: &mut VecDeque<ChatChunk>,
    ) -> Result<Progress, ProviderError> {
        if data.trim() == "[DONE]" {
            return Ok(Progress::Done);
        }
        let chunk: ChatChunk = parse(data.as_bytes(), self.secret.as_ref())?;
        if chunk.other.contains_key("error") {
            let error = crate::status::error_in(data.as_bytes(), self.secret.as_ref());
            return Err(error.unwrap_or_else(|| ProviderError::malformed("it holds an error")));
        }
        self.is_finished |= chunk.choices.iter().any(|choice| choice.finish_reason.is_some());
        ready.push_back(chunk);
        Ok(Progress::More)
    }

    fn is_whole(&self) -> bool {
        self.is_finished
    }
}
