//! One request while it is answered, and the client behind it.
//!
//! Start at [`Exchange::inquire`]: a tool asks the client in the same words in both eras. A session is
//! asked at once and waited for; a stateless client gets an `input_required` result and calls again.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use tokio::sync::mpsc::UnboundedSender;

use crate::fixture::locked;
use crate::message::{Fault, Request};
use crate::session::Session;

/// How grave a log message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    Debug,
    Info,
    Notice,
    Warning,
    Error,
    Critical,
    Alert,
    Emergency,
}

impl Level {
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

/// How the client speaks.
#[derive(Debug, Clone)]
pub(crate) enum Era {
    /// Up to 2025-11-25.
    Session(Arc<Session>),
    /// 2026-07-28: each request brings what a session would remember.
    Stateless,
}

/// A question to the client.
#[derive(Debug, Clone)]
pub(crate) struct Question {
    pub(crate) key: &'static str,
    pub(crate) method: &'static str,
    pub(crate) params: Value,
}

impl Question {
    /// What the client must be able to do to answer.
    pub(crate) fn capability(&self) -> &'static str {
        match self.method {
            "sampling/createMessage" => "sampling",
            "roots/list" => "roots",
            _ => "elicitation",
        }
    }
}

/// What came of a number of questions.
#[derive(Debug)]
pub(crate) enum Inquiry {
    /// Every answer, by the key of its question.
    Answers(Map<String, Value>),
    /// The result that tells a stateless client what to answer.
    Required(Value),
}

/// One request while it is answered.
#[derive(Debug)]
pub(crate) struct Exchange {
    pub(crate) request: Request,
    pub(crate) era: Era,
    pub(crate) out: UnboundedSender<Value>,
}

impl Exchange {
    /// Sends a notification that belongs to this request. The client may be gone: that is no error.
    pub(crate) fn notify(&self, method: &str, params: &Value) {
        let _ = self.out.send(json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    /// Sends a log message, if the client wants such ones.
    pub(crate) fn log(&self, level: Level, text: &str) {
        let wanted = match &self.era {
            Era::Session(session) => Some(*locked(&session.level)),
            Era::Stateless => self
                .request
                .meta("io.modelcontextprotocol/logLevel")
                .and_then(Value::as_str)
                .and_then(Level::parse),
        };
        if wanted.is_some_and(|wanted| level >= wanted) {
            let name = Level::NAMES[level as usize].0;
            let params = json!({ "level": name, "logger": "fixture", "data": text });
            self.notify("notifications/message", &params);
        }
    }

    /// Tells how far the work is, if the client asked for it.
    pub(crate) fn progress(&self, progress: u32, total: u32) {
        if let Some(token) = self.request.meta("progressToken") {
            let params = json!({ "progressToken": token, "progress": progress, "total": total });
            self.notify("notifications/progress", &params);
        }
    }

    /// Whether the client said that it can do this.
    pub(crate) fn client_can(&self, capability: &str) -> bool {
        let capabilities = match &self.era {
            Era::Session(session) => Some(&session.capabilities),
            Era::Stateless => self.request.meta("io.modelcontextprotocol/clientCapabilities"),
        };
        capabilities.is_some_and(|known| known.get(capability).is_some())
    }

    /// Asks the client; `state` is what a stateless one brings back with its answers.
    pub(crate) async fn inquire(
        &self,
        questions: &[Question],
        state: Option<String>,
    ) -> Result<Inquiry, Fault> {
        if let Some(missing) = questions.iter().find(|q| !self.client_can(q.capability())) {
            return Err(Fault::missing_capability(missing.capability()));
        }
        match &self.era {
            Era::Session(session) => self.ask(session, questions).await.map(Inquiry::Answers),
            Era::Stateless => Ok(self.answers_of_request(questions, state)),
        }
    }

    async fn ask(
        &self,
        session: &Session,
        questions: &[Question],
    ) -> Result<Map<String, Value>, Fault> {
        let mut answers = Map::new();
        for question in questions {
            let (id, answer) = session.question();
            let message = json!({
                "jsonrpc": "2.0", "id": id, "method": question.method, "params": question.params,
            });
            let gone = |_| Fault::new(-32603, "the client is gone");
            self.out.send(message).map_err(|_| Fault::new(-32603, "the client is gone"))?;
            let result = answer.await.map_err(gone)?.map_err(|error| {
                Fault::new(-32603, format!("the client cannot answer: {}", error["message"]))
            })?;
            answers.insert(question.key.to_owned(), result);
        }
        Ok(answers)
    }

    fn answers_of_request(&self, questions: &[Question], state: Option<String>) -> Inquiry {
        let given = self.request.params.get("inputResponses");
        let answer = |q: &Question| given?.get(q.key).filter(|answer| answer.is_object()).cloned();
        let answers: Option<Map<String, Value>> =
            questions.iter().map(|q| Some((q.key.to_owned(), answer(q)?))).collect();
        answers
            .map_or_else(|| Inquiry::Required(input_required(questions, state)), Inquiry::Answers)
    }
}

fn input_required(questions: &[Question], state: Option<String>) -> Value {
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
