//! Chat completions, as OpenAI and everything compatible with it speaks them.

use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};

use async_trait::async_trait;
use cynode_domain::model::ProviderKind;
use cynode_wire::openai::{
    ChatChunk, ChatCompletion, ChatRequest, ModelEntry, ModelList, StreamOptions,
};
use reqwest::header::AUTHORIZATION;
use url::Url;

use crate::endpoint::is_loopback;
use crate::http::{Call, Http, parse};
use crate::stream::{Dialect, Progress, pieces};
use crate::{BadEndpoint, ChunkStream, Endpoint, Key, Provider, ProviderError};

const CHAT: &[&str] = &["chat", "completions"];

/// A provider that speaks OpenAI's API. What it does not know of a request is passed on.
#[derive(Debug)]
pub(crate) struct OpenAi {
    http: Http,
    /// Whether the bound of an answer is said in the older way too. OpenAI refuses both at once; servers
    /// that people run themselves often know the older way alone, and would not keep the bound.
    says_bound_twice: bool,
}

impl OpenAi {
    pub(crate) fn new(endpoint: &Endpoint) -> Result<Self, BadEndpoint> {
        Self::at(endpoint, endpoint.url()?)
    }

    pub(crate) fn at(endpoint: &Endpoint, base: Url) -> Result<Self, BadEndpoint> {
        let says_bound_twice = endpoint.kind == ProviderKind::Ollama || is_loopback(&base);
        Ok(Self { http: Http::new(endpoint, base)?, says_bound_twice })
    }

    /// The request as this server understands it; copied only if that differs.
    fn fitted<'a>(&self, request: Cow<'a, ChatRequest>) -> Cow<'a, ChatRequest> {
        let bound = request.max_completion_tokens.filter(|_| request.max_tokens.is_none());
        if !self.says_bound_twice || bound.is_none() {
            return request;
        }
        Cow::Owned(ChatRequest { max_tokens: bound, ..request.into_owned() })
    }
}

#[async_trait]
impl Provider for OpenAi {
    async fn chat(
        &self,
        request: &ChatRequest,
        secret: Option<&Key>,
    ) -> Result<ChatCompletion, ProviderError> {
        let request = if request.stream || request.stream_options.is_some() {
            Cow::Owned(ChatRequest { stream: false, stream_options: None, ..request.clone() })
        } else {
            Cow::Borrowed(request)
        };
        let call =
            Call::post(CHAT, &self.fitted(request))?.authorize(AUTHORIZATION, "Bearer ", secret)?;
        let answer: ChatCompletion = self.http.json(call, secret).await?;
        if answer.choices.is_empty() {
            return Err(ProviderError::malformed("it has no choices"));
        }
        Ok(answer)
    }

    async fn stream(
        &self,
        request: &ChatRequest,
        secret: Option<&Key>,
    ) -> Result<ChunkStream, ProviderError> {
        let request = self.fitted(streamed(request));
        let call = Call::post(CHAT, &request)?.authorize(AUTHORIZATION, "Bearer ", secret)?;
        let response = self.http.send(call, secret, self.http.limits.begin).await?;
        let chunks = Chunks { choices: BTreeMap::new(), secret: secret.cloned() };
        pieces(response, chunks, &self.http.limits)
    }

    async fn models(&self, secret: Option<&Key>) -> Result<Vec<String>, ProviderError> {
        let call = Call::get(&["models"]).authorize(AUTHORIZATION, "Bearer ", secret)?;
        let list: ModelList = self.http.json(call, secret).await?;
        Ok(list.data.into_iter().map(|ModelEntry { id, .. }| id).collect())
    }
}

/// The request for an answer in pieces and for what it costs; copied only if it does not say so.
fn streamed(request: &ChatRequest) -> Cow<'_, ChatRequest> {
    let has_usage = request.stream_options.as_ref().is_some_and(|options| options.include_usage);
    if request.stream && has_usage {
        return Cow::Borrowed(request);
    }
    let options = request.stream_options.clone().unwrap_or_default();
    let stream_options = Some(StreamOptions { include_usage: true, ..options });
    Cow::Owned(ChatRequest { stream: true, stream_options, ..request.clone() })
}

/// Events that are chunks already.
struct Chunks {
    /// Whether each choice said why it ended: some servers close the stream then without a last word.
    choices: BTreeMap<u32, bool>,
    secret: Option<Key>,
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
        for choice in &chunk.choices {
            *self.choices.entry(choice.index).or_default() |= choice.finish_reason.is_some();
        }
        ready.push_back(chunk);
        Ok(Progress::More)
    }

    fn is_whole(&self) -> bool {
        !self.choices.is_empty() && self.choices.values().all(|is_finished| *is_finished)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn openai_itself_is_told_the_bound_of_an_answer_as_the_client_said_it() {
        let asked = ChatRequest { max_completion_tokens: Some(9), ..ChatRequest::default() };
        let bound = |kind, address: &str| {
            let server = OpenAi::new(&Endpoint::new(kind, address)).unwrap();
            server.fitted(Cow::Borrowed(&asked)).max_tokens
        };

        assert_eq!(bound(ProviderKind::OpenAi, "https://api.openai.com/v1"), None);
        assert_eq!(bound(ProviderKind::OpenAi, "http://127.0.0.1:8080/v1"), Some(9));
        assert_eq!(bound(ProviderKind::Ollama, "https://ollama.example.com"), Some(9));
    }
}
