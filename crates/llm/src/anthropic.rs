//! Anthropic's messages API.
//!
//! `request` and `options` translate an OpenAI chat request, `response` translates a whole response and
//! `events` a stream. An option without a counterpart (`logprobs`, `seed`, penalties) is rejected by name.

mod events;
mod options;
mod request;
mod response;

use async_trait::async_trait;
use cynode_domain::model::CredentialKind;
use cynode_llm_wire::openai::{ChatCompletion, ChatRequest};
use reqwest::header::{AUTHORIZATION, HeaderName, HeaderValue};
use serde::Deserialize;

use crate::endpoint::strip_version;
use crate::http::{ProviderHttpClient, ProviderHttpRequest};
use crate::stream::stream_chunks;
use crate::{
    ChunkStream, InvalidEndpoint, Provider, ProviderCredential, ProviderEndpoint, ProviderError,
};

const MESSAGES: &[&str] = &["v1", "messages"];
const KEY: HeaderName = HeaderName::from_static("x-api-key");
const VERSION: HeaderName = HeaderName::from_static("anthropic-version");

/// A client of Anthropic's messages API.
#[derive(Debug)]
pub(crate) struct AnthropicClient {
    http: ProviderHttpClient,
}

impl AnthropicClient {
    pub(crate) fn new(endpoint: &ProviderEndpoint) -> Result<Self, InvalidEndpoint> {
        Ok(Self { http: ProviderHttpClient::new(endpoint, strip_version(endpoint.parse_url()?))? })
    }
}

#[async_trait]
impl Provider for AnthropicClient {
    async fn chat(
        &self,
        request: &ChatRequest,
        secret: Option<&ProviderCredential>,
    ) -> Result<ChatCompletion, ProviderError> {
        let call = ProviderHttpRequest::post(MESSAGES, &request::translate(request, false)?)?;
        let message: response::AnthropicMessage =
            self.http.send_json(with_credential(call, secret)?, secret).await?;
        Ok(message.into())
    }

    async fn stream(
        &self,
        request: &ChatRequest,
        secret: Option<&ProviderCredential>,
    ) -> Result<ChunkStream, ProviderError> {
        let call = ProviderHttpRequest::post(MESSAGES, &request::translate(request, true)?)?;
        let begin = self.http.limits.begin;
        let response = self.http.send(with_credential(call, secret)?, secret, begin).await?;
        stream_chunks(
            response,
            events::AnthropicEventParser::new(secret.cloned()),
            &self.http.limits,
        )
    }

    async fn models(
        &self,
        secret: Option<&ProviderCredential>,
    ) -> Result<Vec<String>, ProviderError> {
        let call = with_credential(ProviderHttpRequest::get(&["v1", "models"]), secret)?;
        let list: AnthropicModelList = self.http.send_json(call, secret).await?;
        Ok(list.data.into_iter().map(|model| model.id).collect())
    }
}

#[derive(Deserialize)]
struct AnthropicModelList {
    data: Vec<AnthropicModel>,
}

#[derive(Deserialize)]
struct AnthropicModel {
    id: String,
}

/// Adds the credential: an API key goes into `x-api-key`, every other token is a bearer token.
fn with_credential<'a>(
    call: ProviderHttpRequest<'a>,
    secret: Option<&ProviderCredential>,
) -> Result<ProviderHttpRequest<'a>, ProviderError> {
    let mut call = match secret.map(ProviderCredential::kind) {
        None | Some(CredentialKind::ApiKey) => call.with_credential_header(KEY, "", secret)?,
        Some(_) => call.with_credential_header(AUTHORIZATION, "Bearer ", secret)?,
    };
    call.headers.insert(VERSION, HeaderValue::from_static("2023-06-01"));
    Ok(call)
}
