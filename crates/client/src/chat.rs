//! Chat, as every program that speaks OpenAI's API has it, and threads.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;
use cynode_domain::ids::ThreadId;
use cynode_wire::openai::{ChatChunk, ChatCompletion, ChatRequest, ErrorBody, ModelList};
use cynode_wire::page::{Page, PageQuery};
use cynode_wire::problem::Problem;
use cynode_wire::sse::Reader;
use cynode_wire::threads::{CreateThread, ThreadMessageView, ThreadQuery, ThreadView};
use futures_util::stream::BoxStream;
use futures_util::{StreamExt as _, TryStreamExt as _};
use reqwest::{Method, RequestBuilder};

use crate::request::{read, send, unreachable};
use crate::{Client, Error};

/// Longer than the server waits for any answer. While a model reads or writes, the server shows that it lives.
const ANSWER_TIMEOUT: Duration = Duration::from_hours(2);
/// No piece of an answer is near this size.
const MAX_EVENT_BYTES: usize = 4 << 20;
/// What ends a whole stream.
const DONE: &str = "[DONE]";

/// An answer on its way. Dropping it ends the work on it.
pub struct ChatPieces {
    url: String,
    body: BoxStream<'static, Result<Bytes, Error>>,
    reader: Reader,
    ready: VecDeque<String>,
}

impl Client {
    /// `GET /v1/models`
    pub async fn chat_models(&self) -> Result<ModelList, Error> {
        self.get(&["v1", "models"]).await
    }

    /// `POST /v1/chat/completions`, answered as a whole; the project by id or slug.
    pub async fn chat(
        &self,
        project: Option<&str>,
        request: &ChatRequest,
    ) -> Result<ChatCompletion, Error> {
        read(send(self.chat_request(project, request)).await?).await
    }

    /// `POST /v1/chat/completions` with `stream`, answered as it comes.
    pub async fn chat_stream(
        &self,
        project: Option<&str>,
        request: &ChatRequest,
    ) -> Result<ChatPieces, Error> {
        let request = ChatRequest { stream: true, ..request.clone() };
        let response = send(self.chat_request(project, &request)).await?;
        let url = response.url().to_string();
        let body = response.bytes_stream().map_err(unreachable).boxed();
        Ok(ChatPieces { url, body, reader: Reader::new(MAX_EVENT_BYTES), ready: VecDeque::new() })
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
    pub async fn thread_create(&self, body: &CreateThread) -> Result<ThreadView, Error> {
        self.post(&["v1", "chat", "threads"], body).await
    }

    /// `GET /v1/chat/threads`
    pub async fn thread_list(&self, query: &ThreadQuery) -> Result<Page<ThreadView>, Error> {
        read(send(self.request(Method::GET, &["v1", "chat", "threads"]).query(query)).await?).await
    }

    /// `GET /v1/chat/threads/{thread}/messages`
    pub async fn thread_messages(
        &self,
        thread: ThreadId,
        query: &PageQuery,
    ) -> Result<Page<ThreadMessageView>, Error> {
        let path = ["v1", "chat", "threads", &thread.to_string(), "messages"];
        read(send(self.request(Method::GET, &path).query(query)).await?).await
    }
}

impl ChatPieces {
    /// The next piece; `None` when the answer is whole.
    pub async fn next(&mut self) -> Result<Option<ChatChunk>, Error> {
        loop {
            if let Some(data) = self.ready.pop_front() {
                return if data == DONE { Ok(None) } else { self.piece(&data).map(Some) };
            }
            let Some(bytes) = self.body.next().await else {
                return Err(self.unreadable("it ended before the answer did"));
            };
            let ready = &mut self.ready;
            let pushed = self.reader.push(&bytes?, |event| ready.push_back(event.data));
            pushed.map_err(|_| self.unreadable("a piece is too large"))?;
        }
    }

    /// A piece, or the error that ends the stream.
    fn piece(&self, data: &str) -> Result<ChatChunk, Error> {
        if let Ok(failed) = serde_json::from_str::<ErrorBody>(data) {
            return Err(Error::Refused(Box::new(problem_of(failed, 502))));
        }
        serde_json::from_str(data).map_err(|error| self.unreadable(&error.to_string()))
    }

    fn unreadable(&self, reason: &str) -> Error {
        Error::Unreadable { url: self.url.clone(), reason: reason.to_owned() }
    }
}

/// What OpenAI's shape of an error says, as the rest of the API would say it.
pub(crate) fn problem_of(body: ErrorBody, status: u16) -> Problem {
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
