//! A request in progress and its client.
//!
//! Start at [`FixtureExchange::request_client`]: a tool sends requests to the client through one interface in both eras.
//! With a session the server sends a request and waits; a stateless client gets an `input_required` result
//! and calls again.

use rmcp::model::{
    CallToolRequestParams, ClientCapabilities, GetPromptRequestParams, InputRequest,
    InputRequiredResult, InputResponses, JsonObject, LoggingLevel, LoggingMessageNotificationParam,
    ProgressNotificationParam, ServerRequest,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::fixture::McpFixture;

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

    fn parse<T: DeserializeOwned>(&self) -> Result<T, ErrorData> {
        let request = json!({ "method": self.method, "params": self.params });
        serde_json::from_value(request).map_err(internal_error)
    }
}

/// The outcome of server-to-client requests.
#[derive(Debug)]
pub(crate) enum FixtureClientResponses {
    /// All responses, by key.
    Answers(InputResponses),
    /// The result for a stateless client that has not answered yet.
    Required(InputRequiredResult),
}

/// A request in progress.
#[derive(Debug)]
pub(crate) struct FixtureExchange<'a> {
    pub(crate) fixture: &'a McpFixture,
    pub(crate) context: &'a RequestContext<RoleServer>,
    /// State that a stateless client echoes.
    pub(crate) request_state: Option<&'a str>,
    arguments: Option<&'a JsonObject>,
    input_responses: Option<&'a InputResponses>,
    /// Minimum level of log messages in a session.
    session_level: LoggingLevel,
}

impl<'a> FixtureExchange<'a> {
    pub(crate) fn from_tool_call(
        fixture: &'a McpFixture,
        context: &'a RequestContext<RoleServer>,
        request: &'a CallToolRequestParams,
        session_level: LoggingLevel,
    ) -> Self {
        Self {
            fixture,
            context,
            request_state: request.request_state.as_deref(),
            arguments: request.arguments.as_ref(),
            input_responses: request.input_responses.as_ref(),
            session_level,
        }
    }

    pub(crate) fn from_prompt(
        fixture: &'a McpFixture,
        context: &'a RequestContext<RoleServer>,
        request: &'a GetPromptRequestParams,
    ) -> Self {
        Self {
            fixture,
            context,
            request_state: request.request_state.as_deref(),
            arguments: request.arguments.as_ref(),
            input_responses: request.input_responses.as_ref(),
            session_level: LoggingLevel::Debug,
        }
    }

    /// Whether the request carries its own state, as in the era without sessions.
    pub(crate) fn is_stateless(&self) -> bool {
        self.context.meta.protocol_version().is_some()
    }

    /// An argument of the tool or prompt.
    pub(crate) fn argument(&self, name: &str) -> Option<&'a Value> {
        self.arguments?.get(name)
    }

    /// A required text argument of the tool or prompt.
    pub(crate) fn text_argument(&self, name: &str) -> Result<&'a str, ErrorData> {
        let missing = || ErrorData::invalid_params(format!("argument {name} is missing"), None);
        self.argument(name).and_then(Value::as_str).ok_or_else(missing)
    }

    /// Sends a log message if the client's log level includes it. Ignores a disconnected client.
    pub(crate) async fn log(&self, level: LoggingLevel, text: &str) {
        let wanted = if self.is_stateless() {
            self.context.meta.log_level()
        } else {
            Some(self.session_level)
        };
        if wanted.is_some_and(|wanted| level as u8 >= wanted as u8) {
            let params = LoggingMessageNotificationParam::new(level, json!(text));
            let _ = self.context.peer.notify_logging_message(params.with_logger("fixture")).await;
        }
    }

    /// Sends a progress notification if the client requested progress.
    pub(crate) async fn progress(&self, progress: f64, total: f64) {
        if let Some(token) = self.context.meta.get_progress_token() {
            let params = ProgressNotificationParam::new(token, progress).with_total(total);
            let _ = self.context.peer.notify_progress(params).await;
        }
    }

    /// Whether the client declared this capability.
    pub(crate) fn client_supports(&self, capability: &str) -> bool {
        let declared = serde_json::to_value(self.context.client_capabilities());
        declared.is_ok_and(|declared| declared.get(capability).is_some())
    }

    /// Sends requests to the client; `state` is echoed by a stateless client with its responses.
    pub(crate) async fn request_client(
        &self,
        requests: &[FixtureClientRequest],
        state: Option<String>,
    ) -> Result<FixtureClientResponses, ErrorData> {
        if let Some(missing) = requests.iter().find(|r| !self.client_supports(r.capability())) {
            return Err(missing_capability(missing.capability()));
        }
        if self.is_stateless() {
            self.responses_in_request(requests, state)
        } else {
            self.request_over_session(requests).await.map(FixtureClientResponses::Answers)
        }
    }

    async fn request_over_session(
        &self,
        requests: &[FixtureClientRequest],
    ) -> Result<InputResponses, ErrorData> {
        let mut answers = InputResponses::new();
        for request in requests {
            let answer = self.context.peer.send_request(request.parse::<ServerRequest>()?).await;
            let answer = serde_json::to_value(answer.map_err(internal_error)?);
            answers.insert(request.key.to_owned(), answer.map_err(internal_error)?);
        }
        Ok(answers)
    }

    fn responses_in_request(
        &self,
        requests: &[FixtureClientRequest],
        state: Option<String>,
    ) -> Result<FixtureClientResponses, ErrorData> {
        let answer = |request: &FixtureClientRequest| {
            let answer = self.input_responses?.get(request.key).filter(|a| a.is_object())?;
            Some((request.key.to_owned(), answer.clone()))
        };
        if let Some(answers) = requests.iter().map(answer).collect() {
            return Ok(FixtureClientResponses::Answers(answers));
        }
        let parse = |request: &FixtureClientRequest| {
            Ok((request.key.to_owned(), request.parse::<InputRequest>()?))
        };
        let required = requests.iter().map(parse).collect::<Result<_, ErrorData>>()?;
        Ok(FixtureClientResponses::Required(InputRequiredResult::new(Some(required), state)))
    }
}

/// The client did not declare a capability that this request requires.
fn missing_capability(capability: &str) -> ErrorData {
    let required: Result<ClientCapabilities, _> = serde_json::from_value(json!({ capability: {} }));
    required.map_or_else(internal_error, ErrorData::missing_required_client_capability)
}

fn internal_error(error: impl std::fmt::Display) -> ErrorData {
    ErrorData::internal_error(error.to_string(), None)
}
