//! Chat over the OpenAI API, and threads.

use std::time::Duration;

use cynode_domain::ids::ThreadId;
use cynode_llm_wire::openai::{ChatChunk, ChatCompletion, ChatRequest, ErrorBody, ModelList};
use cynode_wire::page::{Page, PageQuery};
use cynode_wire::problem::Problem;
use cynode_wire::threads::{CreateThread, ThreadMessageView, ThreadQuery, ThreadView};
use reqwest::{Method, RequestBuilder};

use crate::request::{read_json, send};
use crate::sse::ResponseEvents;
use crate::{Client, ClientError};

/// Longer than the server waits for any answer; the server sends keep-alives meanwhile.
const ANSWER_TIMEOUT: Duration = Duration::from_hours(2);
/// Larger than any valid chunk.
const MAX_EVENT_BYTES: usize = 4 << 20;
/// Marks the end of a complete stream.
const DONE: &str = "[DONE]";

/// A streaming answer. Dropping it cancels the request.
pub struct ChatChunkStream {
    events: ResponseEvents,
}

impl Client {
    /// `GET /v1/models`
    pub async fn chat_models(&self) -> Result<ModelList, ClientError> {
        self.get(&["v1", "models"]).await
    }

    /// `POST /v1/chat/completions`, without streaming; the project by id or slug.
    pub async fn chat(
        &self,
        project: Option<&str>,
        request: &ChatRequest,
    ) -> Result<ChatCompletion, ClientError> {
        read_json(send(self.chat_request(project, request)).await?).await
    }

    /// `POST /v1/chat/completions` with `stream`.
    pub async fn chat_stream(
        &self,
        project: Option<&str>,
        request: &ChatRequest,
    ) -> Result<ChatChunkStream, ClientError> {
        let request = ChatRequest { stream: true, ..request.clone() };
        let response = send(self.chat_request(project, &request)).await?;
        Ok(ChatChunkStream { events: ResponseEvents::new(response, MAX_EVENT_BYTES) })
    }

    fn chat_request(&self, project: Option<&str>, request: &ChatRequest) -> RequestBuilder {
        let builder = self.request(Method::POST, &["v1", "chat", "completions"]);
        let builder = builder.timeout(ANSWER_TIMEOUT).json(request);
        match project {
            Some(project) => builder.header("OpenAI-Project", project),
            None => builder,
        }
    }

    /// `POST /v1/chat/threads`
    pub async fn thread_create(&self, body: &CreateThread) -> Result<ThreadView, ClientError> {
        self.post(&["v1", "chat", "threads"], body).await
    }

    /// `GET /v1/chat/threads`
    pub async fn thread_list(&self, query: &ThreadQuery) -> Result<Page<ThreadView>, ClientError> {
        read_json(send(self.request(Method::GET, &["v1", "chat", "threads"]).query(query)).await?)
            .await
    }

    /// `GET /v1/chat/threads/{thread}/messages`
    pub async fn thread_messages(
        &self,
        thread: ThreadId,
        query: &PageQuery,
    ) -> Result<Page<ThreadMessageView>, ClientError> {
        let path = ["v1", "chat", "threads", &thread.to_string(), "messages"];
        read_json(send(self.request(Method::GET, &path).query(query)).await?).await
    }
}

impl ChatChunkStream {
    /// The next chunk; `None` when the answer is complete.
    pub async fn next(&mut self) -> Result<Option<ChatChunk>, ClientError> {
        match self.events.next().await?.as_deref() {
            None => {
                let reason = "the stream ended before the answer was complete";
                Err(self.events.invalid_response(reason))
            }
            Some(DONE) => Ok(None),
            Some(data) => self.parse_chunk(data).map(Some),
        }
    }

    /// Parses a chunk, or the error that ends the stream.
    fn parse_chunk(&self, data: &str) -> Result<ChatChunk, ClientError> {
        if let Ok(failed) = serde_json::from_str::<ErrorBody>(data) {
            return Err(ClientError::Refused(Box::new(problem_from_openai(failed, 502))));
        }
        let chunk = serde_json::from_str(data);
        chunk.map_err(|error| self.events.invalid_response(&error.to_string()))
    }
}

/// Converts an OpenAI error to a problem document.
pub(crate) fn problem_from_openai(body: ErrorBody, status: u16) -> Problem {
    let code = body.error.code.as_ref().and_then(|code| code.as_str());
    Problem {
        kind: format!("urn:cynode:error:{}", code.unwrap_or("unknown")),
        title: body.error.kind,
        status,
        detail: body.error.message,
        instance: None,
        errors: vec![],
    }
}
