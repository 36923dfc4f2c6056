//! OpenAI's chat completions API, also spoken by compatible servers.

use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};

use async_trait::async_trait;
use cynode_domain::model::ProviderKind;
use cynode_llm_wire::openai::{
    ChatChunk, ChatCompletion, ChatRequest, ModelEntry, ModelList, StreamOptions,
};
use reqwest::header::AUTHORIZATION;
use url::Url;

use crate::endpoint::is_loopback;
use crate::http::{ProviderHttpClient, ProviderHttpRequest, parse_body};
use crate::stream::{ChunkStreamProgress, EventFormat, stream_chunks};
use crate::{
    ChunkStream, InvalidEndpoint, Provider, ProviderCredential, ProviderEndpoint, ProviderError,
};

const CHAT: &[&str] = &["chat", "completions"];

/// A client of OpenAI's API. Unknown fields of a request are passed on.
#[derive(Debug)]
pub(crate) struct OpenAiClient {
    http: ProviderHttpClient,
    /// Whether `max_completion_tokens` is sent as `max_tokens` too. OpenAI rejects both at once; self-hosted
    /// servers often know only `max_tokens` and would ignore the limit.
    duplicates_token_limit: bool,
}

impl OpenAiClient {
    pub(crate) fn new(endpoint: &ProviderEndpoint) -> Result<Self, InvalidEndpoint> {
        Self::with_base_url(endpoint, endpoint.parse_url()?)
    }

    pub(crate) fn with_base_url(
        endpoint: &ProviderEndpoint,
        base: Url,
    ) -> Result<Self, InvalidEndpoint> {
        let says_bound_twice = endpoint.kind == ProviderKind::Ollama || is_loopback(&base);
        Ok(Self {
            http: ProviderHttpClient::new(endpoint, base)?,
            duplicates_token_limit: says_bound_twice,
        })
    }

    /// Adapts the request to this server; clones it only if it changes.
    fn adapt_request<'a>(&self, request: Cow<'a, ChatRequest>) -> Cow<'a, ChatRequest> {
        let bound = request.max_completion_tokens.filter(|_| request.max_tokens.is_none());
        if !self.duplicates_token_limit || bound.is_none() {
            return request;
        }
        Cow::Owned(ChatRequest { max_tokens: bound, ..request.into_owned() })
    }
}

#[async_trait]
impl Provider for OpenAiClient {
    async fn chat(
        &self,
        request: &ChatRequest,
        secret: Option<&ProviderCredential>,
    ) -> Result<ChatCompletion, ProviderError> {
        let request = if request.stream || request.stream_options.is_some() {
            Cow::Owned(ChatRequest { stream: false, stream_options: None, ..request.clone() })
        } else {
            Cow::Borrowed(request)
        };
        let call = ProviderHttpRequest::post(CHAT, &self.adapt_request(request))?
            .with_credential_header(AUTHORIZATION, "Bearer ", secret)?;
        let answer: ChatCompletion = self.http.send_json(call, secret).await?;
        if answer.choices.is_empty() {
            return Err(ProviderError::malformed("it has no choices"));
        }
        Ok(answer)
    }

    async fn stream(
        &self,
        request: &ChatRequest,
        secret: Option<&ProviderCredential>,
    ) -> Result<ChunkStream, ProviderError> {
        let request = self.adapt_request(with_streaming(request));
        let call = ProviderHttpRequest::post(CHAT, &request)?.with_credential_header(
            AUTHORIZATION,
            "Bearer ",
            secret,
        )?;
        let response = self.http.send(call, secret, self.http.limits.begin).await?;
        let chunks = OpenAiChunkParser { choices: BTreeMap::new(), secret: secret.cloned() };
        stream_chunks(response, chunks, &self.http.limits)
    }

    async fn models(
        &self,
        secret: Option<&ProviderCredential>,
    ) -> Result<Vec<String>, ProviderError> {
        let call = ProviderHttpRequest::get(&["models"]).with_credential_header(
            AUTHORIZATION,
            "Bearer ",
            secret,
        )?;
        let list: ModelList = self.http.send_json(call, secret).await?;
        Ok(list.data.into_iter().map(|ModelEntry { id, .. }| id).collect())
    }
}

/// Turns on streaming and usage; clones the request only if it changes.
fn with_streaming(request: &ChatRequest) -> Cow<'_, ChatRequest> {
    let has_usage = request.stream_options.as_ref().is_some_and(|options| options.include_usage);
    if request.stream && has_usage {
        return Cow::Borrowed(request);
    }
    let options = request.stream_options.clone().unwrap_or_default();
    let stream_options = Some(StreamOptions { include_usage: true, ..options });
    Cow::Owned(ChatRequest { stream: true, stream_options, ..request.clone() })
}

/// Parses events that are chunks already.
struct OpenAiChunkParser {
    /// Whether each choice has a finish reason: some servers then close the stream without `[DONE]`.
    choices: BTreeMap<u32, bool>,
    secret: Option<ProviderCredential>,
}

impl EventFormat for OpenAiChunkParser {
    fn parse_event(
        &mut self,
        data: &str,
        ready: &mut VecDeque<ChatChunk>,
    ) -> Result<ChunkStreamProgress, ProviderError> {
        if data.trim() == "[DONE]" {
            return Ok(ChunkStreamProgress::Done);
        }
        let chunk: ChatChunk = parse_body(data.as_bytes(), self.secret.as_ref())?;
        if chunk.other.contains_key("error") {
            let error = crate::status::parse_error(data.as_bytes(), self.secret.as_ref());
            return Err(error.unwrap_or_else(|| ProviderError::malformed("it contains an error")));
        }
        for choice in &chunk.choices {
            *self.choices.entry(choice.index).or_default() |= choice.finish_reason.is_some();
        }
        ready.push_back(chunk);
        Ok(ChunkStreamProgress::More)
    }

    fn is_complete(&self) -> bool {
        !self.choices.is_empty() && self.choices.values().all(|is_finished| *is_finished)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn openai_itself_is_told_the_bound_of_an_answer_as_the_client_said_it() {
        let request = ChatRequest { max_completion_tokens: Some(9), ..ChatRequest::default() };
        let bound = |kind, address: &str| {
            let server = OpenAiClient::new(&ProviderEndpoint::new(kind, address)).unwrap();
            server.adapt_request(Cow::Borrowed(&request)).max_tokens
        };

        assert_eq!(bound(ProviderKind::OpenAi, "https://api.openai.com/v1"), None);
        assert_eq!(bound(ProviderKind::OpenAi, "http://127.0.0.1:8080/v1"), Some(9));
        assert_eq!(bound(ProviderKind::Ollama, "https://ollama.example.com"), Some(9));
    }
}
