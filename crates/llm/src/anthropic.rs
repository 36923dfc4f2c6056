//! Anthropic's messages API.
//!
//! `request` says a chat request in its words and `options` what goes beyond the usual, `answer` reads a
//! whole answer, `events` its pieces. What has no counterpart there (`logprobs`, `seed`, penalties) is
//! refused by its name.

mod answer;
mod events;
mod options;
mod request;

use async_trait::async_trait;
use cynode_domain::model::CredentialKind;
use cynode_wire::openai::{ChatCompletion, ChatRequest};
use reqwest::header::{AUTHORIZATION, HeaderName, HeaderValue};
use serde::Deserialize;

use crate::endpoint::without_version;
use crate::http::{Call, Http};
use crate::stream::pieces;
use crate::{BadEndpoint, ChunkStream, Endpoint, Key, Provider, ProviderError};

const MESSAGES: &[&str] = &["v1", "messages"];
const KEY: HeaderName = HeaderName::from_static("x-api-key");
const VERSION: HeaderName = HeaderName::from_static("anthropic-version");

/// A provider that speaks Anthropic's API.
#[derive(Debug)]
pub(crate) struct Anthropic {
    http: Http,
}

impl Anthropic {
    pub(crate) fn new(endpoint: &Endpoint) -> Result<Self, BadEndpoint> {
        Ok(Self { http: Http::new(endpoint, without_version(endpoint.url()?))? })
    }
}

#[async_trait]
impl Provider for Anthropic {
    async fn chat(
        &self,
        request: &ChatRequest,
        secret: Option<&Key>,
    ) -> Result<ChatCompletion, ProviderError> {
        let call = Call::post(MESSAGES, &request::translate(request, false)?)?;
        let message: answer::Message = self.http.json(signed(call, secret)?, secret).await?;
        Ok(message.into())
    }

    async fn stream(
        &self,
        request: &ChatRequest,
        secret: Option<&Key>,
    ) -> Result<ChunkStream, ProviderError> {
        let call = Call::post(MESSAGES, &request::translate(request, true)?)?;
        let begin = self.http.limits.begin;
        let response = self.http.send(signed(call, secret)?, secret, begin).await?;
        pieces(response, events::Events::new(secret.cloned()), &self.http.limits)
    }

    async fn models(&self, secret: Option<&Key>) -> Result<Vec<String>, ProviderError> {
        let call = signed(Call::get(&["v1", "models"]), secret)?;
        let list: Models = self.http.json(call, secret).await?;
        Ok(list.data.into_iter().map(|model| model.id).collect())
    }
}

#[derive(Deserialize)]
struct Models {
    data: Vec<Model>,
}

#[derive(Deserialize)]
struct Model {
    id: String,
}

/// A key of an API has a header of its own; every other token is a bearer's.
fn signed<'a>(call: Call<'a>, secret: Option<&Key>) -> Result<Call<'a>, ProviderError> {
    let mut call = match secret.map(Key::kind) {
        None | Some(CredentialKind::ApiKey) => call.authorize(KEY, "", secret)?,
        Some(CredentialKind::OauthToken | CredentialKind::BearerToken) => {
            call.authorize(AUTHORIZATION, "Bearer ", secret)?
        }
    };
    call.headers.insert(VERSION, HeaderValue::from_static("2023-06-01"));
    Ok(call)
}
