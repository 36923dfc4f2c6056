//! The messages of a session: requests that are sent, and what the agent sends.

use cynode_agent_job::bounded_text::one_line;
use cynode_wire::agent_jobs::PermissionAnswer;
use cynode_wire::transcript::{AGENT, PERMISSION};
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::time::timeout;

use super::{AcpSession, QUOTE_BYTES};
use crate::acp_error::AcpError;
use crate::agent_link::{LinkEnd, MAX_LINE_BYTES};
use crate::file_requests::{read_file, write_file};
use crate::message::{
    ErrorObject, INVALID_PARAMS, METHOD_NOT_FOUND, Message, render_request, render_response,
};
use crate::permissions::PermissionDecision;
use crate::protocol::{PermissionRequest, SessionNotification};

/// Lines that are no messages before the agent is given up: some programs print a few words first.
const MAX_STRAY_LINES: usize = 50;

impl AcpSession<'_> {
    /// Sends a request whose response does not take long.
    pub(super) async fn shake_hands<T: DeserializeOwned>(
        &mut self,
        method: &'static str,
        params: Value,
    ) -> Result<T, AcpError> {
        let id = self.send_request(method, &params)?;
        let patience = self.options.timeouts.handshake;
        if let Ok(response) = timeout(patience, self.wait_for_response(method, id)).await {
            return response;
        }
        let (seconds, diagnostics) = (patience.as_secs(), self.link.read_diagnostics().await);
        Err(AcpError::NoAnswer { during: method, seconds, diagnostics })
    }

    pub(super) fn send_request(&mut self, method: &str, params: &Value) -> Result<u64, AcpError> {
        self.next_id += 1;
        self.send(&render_request(self.next_id, method, params))?;
        Ok(self.next_id)
    }

    pub(super) fn send(&mut self, line: &str) -> Result<(), AcpError> {
        if self.link.send(line) { Ok(()) } else { Err(AcpError::InputNotRead) }
    }

    /// Handles messages of the agent until the response to request `id`.
    pub(super) async fn wait_for_response<T: DeserializeOwned>(
        &mut self,
        during: &'static str,
        id: u64,
    ) -> Result<T, AcpError> {
        loop {
            let line = match self.link.next_line().await {
                Ok(line) => line,
                Err(LinkEnd::LineTooLong) => {
                    return Err(AcpError::LineTooLong { limit: MAX_LINE_BYTES });
                }
                Err(LinkEnd::Ended) => {
                    let patience = self.options.timeouts.exit;
                    let (exit, diagnostics) = self.link.describe_end(patience).await;
                    return Err(AcpError::Ended { during, exit, diagnostics });
                }
            };
            match Message::read(&line) {
                Ok(Message::Response { id: answered, outcome })
                    if answered.get() == id.to_string() =>
                {
                    let result = outcome.map_err(|error| AcpError::Rejected { during, error })?;
                    return read_result(during, result);
                }
                Ok(Message::Request { id, method, params }) => {
                    let outcome = self.respond(&method, params).await;
                    self.send(&render_response(id, &outcome))?;
                }
                Ok(Message::Notification { method, params }) => {
                    self.handle_notification(&method, params)?;
                }
                // A response to a request that has its response already, or was never sent.
                Ok(Message::Response { .. }) | Err(_) => self.count_stray_line(&line)?,
            }
        }
    }

    /// Handles a request of the agent.
    async fn respond(
        &mut self,
        method: &str,
        params: Option<&RawValue>,
    ) -> Result<Value, ErrorObject> {
        match method {
            "session/request_permission" => Ok(self.decide(&read_params(params)?)),
            "fs/read_text_file" => read_file(self.workspace, read_params(params)?).await,
            "fs/write_text_file" => write_file(self.workspace, read_params(params)?).await,
            _ => {
                let method = one_line(method, QUOTE_BYTES);
                let message = format!("this client does not offer {method}");
                self.journal.note(AGENT, &method, false, &message);
                Err(ErrorObject { code: METHOD_NOT_FOUND, message })
            }
        }
    }

    /// Answers a permission request, and records both.
    fn decide(&mut self, request: &PermissionRequest) -> Value {
        self.recorder.flush(self.journal);
        let (kind, title) = self.recorder.describe_call(&request.tool_call);
        let decision = if self.is_cancelled {
            PermissionDecision::cancel()
        } else {
            PermissionDecision::decide(self.permissions, &kind, &request.options)
        };
        let is_allowed = decision.answer == PermissionAnswer::Allow;
        self.journal.note(PERMISSION, &title, is_allowed, &decision.text);
        decision.to_result()
    }

    fn handle_notification(
        &mut self,
        method: &str,
        params: Option<&RawValue>,
    ) -> Result<(), AcpError> {
        if method != "session/update" {
            return Ok(());
        }
        let Ok(notification) = read_params::<SessionNotification<'_>>(params) else {
            return Ok(());
        };
        // An agent may have sessions of its own.
        if self.session_id.as_ref() != Some(&notification.session_id) {
            return Ok(());
        }
        let recorded = self.recorder.record(notification.update, self.journal);
        if self.is_cancelled { Ok(()) } else { recorded }
    }

    fn count_stray_line(&mut self, line: &str) -> Result<(), AcpError> {
        self.stray_lines += 1;
        let line = one_line(line, QUOTE_BYTES);
        if self.stray_lines > MAX_STRAY_LINES {
            return Err(AcpError::NotMessages { count: self.stray_lines, line });
        }
        self.journal.note(AGENT, "unexpected line", false, &line);
        Ok(())
    }
}

fn read_result<T: DeserializeOwned>(
    during: &'static str,
    result: &RawValue,
) -> Result<T, AcpError> {
    let invalid = |error: serde_json::Error| AcpError::InvalidAnswer {
        during,
        reason: one_line(&error.to_string(), QUOTE_BYTES),
    };
    serde_json::from_str(result.get()).map_err(invalid)
}

fn read_params<'a, T: serde::Deserialize<'a>>(
    params: Option<&'a RawValue>,
) -> Result<T, ErrorObject> {
    let params = params.map_or("null", RawValue::get);
    serde_json::from_str(params).map_err(|error| ErrorObject {
        code: INVALID_PARAMS,
        message: format!("invalid parameters: {error}"),
    })
}
