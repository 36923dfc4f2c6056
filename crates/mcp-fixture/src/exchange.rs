//! A request in progress and its client.
//!
//! Start at [`FixtureExchange::request_client`]: a tool sends requests to the client through one interface in both eras.
//! With a session the server sends a request and waits; a stateless client gets an `input_required` result
//! and calls again.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use tokio::sync::mpsc::UnboundedSender;

use crate::fixture::lock;
use crate::message::{FixtureRequest, FixtureRpcError};
use crate::session::FixtureSession;

/// Severity of a log message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum FixtureLogLevel {
    Debug,
    Info,
    Notice,
    Warning,
    Error,
    Critical,
    Alert,
    Emergency,
}

impl FixtureLogLevel {
    const NAMES: [(&str, Self); 8] = [
        ("debug", Self::Debug),
        ("info", Self::Info),
        ("notice", Self::Notice),
        ("warning", Self::Warning),
        ("error", Self::Error),
        ("critical", Self::Critical),
        ("alert", Self::Alert),
        ("emergency", Self::Emergency),
    ];

    pub(crate) fn parse(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(known, _)| *known == name).map(|(_, level)| *level)
    }
}

/// The protocol era of the client.
#[derive(Debug, Clone)]
pub(crate) enum FixtureEra {
    /// Up to 2025-11-25.
    Session(Arc<FixtureSession>),
    /// 2026-07-28: each request carries its own state.
    Stateless,
}

/// A server-to-client request.
#[derive(Debug, Clone)]
pub(crate) struct FixtureClientRequest {
    pub(crate) key: &'static str,
    pub(crate) method: &'static str,
    pub(crate) params: Value,
}

impl FixtureClientRequest {
    /// The client capability that it requires.
    pub(crate) fn capability(&self) -> &'static str {
        match self.method {
            "sampling/createMessage" => "sampling",
            "roots/list" => "roots",
            _ => "elicitation",
        }
    }
}

/// The outcome of server-to-client requests.
#[derive(Debug)]
pub(crate) enum FixtureClientResponses {
    /// All responses, by key.
    Answers(Map<String, Value>),
    /// The `input_required` result for a stateless client.
    Required(Value),
}

/// A request in progress.
#[derive(Debug)]
pub(crate) struct FixtureExchange {
    pub(crate) request: FixtureRequest,
    pub(crate) era: FixtureEra,
    pub(crate) out: UnboundedSender<Value>,
}

impl FixtureExchange {
    /// Sends a notification for this request. Ignores a disconnected client.
    pub(crate) fn notify(&self, method: &str, params: &Value) {
        let _ = self.out.send(json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    /// Sends a log message if the client's log level includes it.
    pub(crate) fn log(&self, level: FixtureLogLevel, text: &str) {
        let wanted = match &self.era {
            FixtureEra::Session(session) => Some(*lock(&session.level)),
            FixtureEra::Stateless => self
                .request
                .meta("io.modelcontextprotocol/logLevel")
                .and_then(Value::as_str)
                .and_then(FixtureLogLevel::parse),
        };
        if wanted.is_some_and(|wanted| level >= wanted) {
            let name = FixtureLogLevel::NAMES[level as usize].0;
            let params = json!({ "level": name, "logger": "fixture", "data": text });
            self.notify("notifications/message", &params);
        }
    }

    /// Sends a progress notification if the client requested progress.
    pub(crate) fn progress(&self, progress: u32, total: u32) {
        if let Some(token) = self.request.meta("progressToken") {
            let params = json!({ "progressToken": token, "progress": progress, "total": total });
            self.notify("notifications/progress", &params);
        }
    }

    /// Whether the client declared this capability.
    pub(crate) fn client_supports(&self, capability: &str) -> bool {
        let capabilities = match &self.era {
            FixtureEra::Session(session) => Some(&session.capabilities),
            FixtureEra::Stateless => {
                self.request.meta("io.modelcontextprotocol/clientCapabilities")
            }
        };
        capabilities.is_some_and(|known| known.get(capability).is_some())
    }

    /// Sends requests to the client; `state` is echoed by a stateless client with its responses.
    pub(crate) async fn request_client(
        &self,
        questions: &[FixtureClientRequest],
        state: Option<String>,
    ) -> Result<FixtureClientResponses, FixtureRpcError> {
        if let Some(missing) = questions.iter().find(|q| !self.client_supports(q.capability())) {
            return Err(FixtureRpcError::missing_capability(missing.capability()));
        }
        match &self.era {
            FixtureEra::Session(session) => self
                .request_over_session(session, questions)
                .await
                .map(FixtureClientResponses::Answers),
            FixtureEra::Stateless => Ok(self.responses_in_request(questions, state)),
        }
    }

    async fn request_over_session(
        &self,
        session: &FixtureSession,
        questions: &[FixtureClientRequest],
    ) -> Result<Map<String, Value>, FixtureRpcError> {
        let mut answers = Map::new();
        for question in questions {
            let (id, answer) = session.register_request();
            let message = json!({
                "jsonrpc": "2.0", "id": id, "method": question.method, "params": question.params,
            });
            let gone = |_| FixtureRpcError::new(-32603, "the client is gone");
            self.out
                .send(message)
                .map_err(|_| FixtureRpcError::new(-32603, "the client is gone"))?;
            let result = answer.await.map_err(gone)?.map_err(|error| {
                FixtureRpcError::new(
                    -32603,
                    format!("the client cannot answer: {}", error["message"]),
                )
            })?;
            answers.insert(question.key.to_owned(), result);
        }
        Ok(answers)
    }

    fn responses_in_request(
        &self,
        questions: &[FixtureClientRequest],
        state: Option<String>,
    ) -> FixtureClientResponses {
        let given = self.request.params.get("inputResponses");
        let answer = |q: &FixtureClientRequest| {
            given?.get(q.key).filter(|answer| answer.is_object()).cloned()
        };
        let answers: Option<Map<String, Value>> =
            questions.iter().map(|q| Some((q.key.to_owned(), answer(q)?))).collect();
        answers.map_or_else(
            || FixtureClientResponses::Required(input_required(questions, state)),
            FixtureClientResponses::Answers,
        )
    }
}

fn input_required(questions: &[FixtureClientRequest], state: Option<String>) -> Value {
    let requests: Map<String, Value> = questions
        .iter()
        .map(|q| (q.key.to_owned(), json!({ "method": q.method, "params": q.params })))
        .collect();
    let mut result = json!({ "resultType": "input_required", "inputRequests": requests });
    if let Some(state) = state {
        result["requestState"] = Value::String(state);
    }
    result
}
