//! One tool call from decision to answer: decide, record, act, record, answer.
//!
//! Invariants: no call is made before its permission is on record; no answer is given before the
//! outcome is. A call that cannot be recorded is not made. Whoever goes away meanwhile changes
//! nothing about that: the call runs beside the request that asked for it.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cynode_domain::policy::Stage;
use cynode_ops::audit::{CallRecord, Outcome};
use futures_util::FutureExt as _;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use tracing::{debug, error};

use crate::gateway::Inner;
use crate::identity::Identity;
use crate::pipeline::{self, Denial, Setting};
use crate::protocol;
use crate::rpc::{self, Fields, RpcError};
use crate::seams::{ClientSide, SessionKey, UpstreamError};
use crate::snapshot::{Server, Snapshot, Tool};
use crate::tools::{Builtin, ToolContext};

/// How much of a tool's name is put on record.
const NAME_BYTES: usize = 256;

/// A call as it was asked for.
pub(crate) struct Call {
    /// Who asks.
    pub(crate) who: Arc<Identity>,
    /// The server whose own names are meant; none for canonical names.
    pub(crate) face: Option<String>,
    /// The id to answer to.
    pub(crate) id: Box<RawValue>,
    /// Name, arguments, metadata.
    pub(crate) params: Box<RawValue>,
    /// Whether the client speaks the revision without sessions.
    pub(crate) is_stateless: bool,
    /// The conversation it belongs to.
    pub(crate) session: SessionKey,
    /// Finds the request in the logs.
    pub(crate) request_id: String,
    /// The client apart from this call.
    pub(crate) listener: Arc<dyn ClientSide>,
}

/// What was decided about a call that may be made.
pub(crate) struct Admitted {
    tool: Arc<Tool>,
    arguments: Value,
    pub(crate) setting: Setting,
}

/// A call that was made and did not do what it should.
pub(crate) struct Failure {
    pub(crate) kind: &'static str,
    pub(crate) message: String,
}

/// The answer of something that was called: the whole response, and what kind of failure it is.
struct Answer {
    response: String,
    error_type: Option<String>,
}

impl Inner {
    /// Runs a call and gives the whole response.
    pub(crate) async fn call(
        &self,
        call: &Call,
        client: Arc<dyn ClientSide>,
        cancel: CancellationToken,
    ) -> String {
        let fields = match Fields::read(&call.params) {
            Ok(fields) => fields,
            Err(fault) => return invalid(call, &fault.to_string()),
        };
        let Some(name) = fields.text("name") else {
            return invalid(call, "params.name must be a string");
        };
        let canonical = match &call.face {
            Some(slug) => format!("{slug}.{name}"),
            None => name.into_owned(),
        };
        let snapshot = self.snapshot_with(|known| known.tool(&canonical).is_some()).await;
        match self.decide(&snapshot, &call.who, &canonical, fields.get("arguments")).await {
            Ok(admitted) => self.carry_out(call, admitted, client, cancel).await,
            Err(denial) => self.refuse(call, &canonical, &snapshot, denial).await,
        }
    }

    /// Every stage, in order.
    pub(crate) async fn decide(
        &self,
        snapshot: &Snapshot,
        who: &Identity,
        name: &str,
        arguments: Option<&RawValue>,
    ) -> Result<Admitted, Denial> {
        let tool = Arc::clone(pipeline::reach(snapshot, who, name)?);
        let max_bytes = self.options.max_request_bytes;
        let arguments = pipeline::arguments::check(&tool, arguments, max_bytes)?;
        let setting = self.judge_context(&tool, who, &arguments).await?;
        pipeline::rules(&tool, who, setting)?;
        pipeline::hosts::named(snapshot, &tool, who, setting, &arguments)?;
        Ok(Admitted { tool, arguments, setting })
    }

    /// Stage `limits`: refuses while a server is left alone, so that nothing waits for it.
    pub(crate) fn rests(&self, server: &Server) -> Option<Denial> {
        let fault = self.upstreams.at_rest(server.id)?;
        Some(Denial::new(Stage::Limits, "service_unavailable", fault.to_string()))
    }

    /// Puts the refusal on record and words it for the caller.
    async fn refuse(&self, call: &Call, name: &str, snapshot: &Snapshot, denial: Denial) -> String {
        let server =
            snapshot.tool(name).map_or_else(|| "unknown".to_owned(), |tool| server_of(tool));
        let setting = Setting { task: call.who.task, project: call.who.project };
        let record = CallRecord {
            stage: denial.stage,
            error_type: Some(denial.kind.to_owned()),
            ..record(call, name, server, setting)
        };
        debug!(tool.name = name, stage = %denial.stage, "call of {name} refused: {}", denial.message);
        metrics::counter!("cynode_mcp_calls_total", "decision" => "deny", "stage" => denial.stage.as_str())
            .increment(1);
        if let Err(fault) = self.backend.deny(record).await {
            return unrecorded(call, &fault);
        }
        if denial.stage == Stage::Known {
            // What does not exist is an error of the protocol, not of a tool.
            let data = wording(denial.kind, denial.stage, &denial.message);
            let error = RpcError::new(rpc::INVALID_PARAMS, denial.message).with(data);
            return rpc::error(Some(&call.id), &error);
        }
        tool_error(call, denial.kind, denial.stage, &denial.message)
    }

    async fn carry_out(
        &self,
        call: &Call,
        admitted: Admitted,
        client: Arc<dyn ClientSide>,
        cancel: CancellationToken,
    ) -> String {
        let name = admitted.tool.name.clone();
        if let Some(denial) = admitted.tool.server.as_ref().and_then(|server| self.rests(server)) {
            return self.refuse(call, &name, &self.snapshot(), denial).await;
        }
        let record = record(call, &name, server_of(&admitted.tool), admitted.setting);
        let open = match self.backend.begin(record).await {
            Ok(open) => open,
            Err(fault) => return unrecorded(call, &fault),
        };
        let began = Instant::now();
        let timeout = self.options.call_timeout();
        let acting = self.act(call, admitted, client, cancel.clone());
        let acted = tokio::select! {
            acted = tokio::time::timeout(timeout, AssertUnwindSafe(acting).catch_unwind()) => acted,
            () = cancel.cancelled() => Ok(Ok(Err(failure("canceled", "the request was canceled")))),
        };
        let answer = match acted {
            Ok(Ok(Ok(answer))) => answer,
            Ok(Ok(Err(fault))) => failed(call, &fault),
            Ok(Err(_)) => failed(call, &failure("internal_error", "the tool failed on our side")),
            Err(_) => {
                // Whoever works for nobody any longer is told to stop.
                cancel.cancel();
                failed(
                    call,
                    &failure("timeout", format!("no answer within {} ms", timeout.as_millis())),
                )
            }
        };
        let took = began.elapsed();
        note(answer.error_type.as_deref(), took);
        let outcome = Outcome { error_type: answer.error_type, duration_ms: millis(took) };
        match open.finish(outcome).await {
            Ok(()) => answer.response,
            Err(fault) => unrecorded(call, &fault),
        }
    }

    async fn act(
        &self,
        call: &Call,
        admitted: Admitted,
        client: Arc<dyn ClientSide>,
        cancel: CancellationToken,
    ) -> Result<Answer, Failure> {
        let tool = Arc::clone(&admitted.tool);
        let answer = match &tool.server {
            Some(_) => self.act_upstream(call, &tool, client, cancel).await?,
            None => self.act_here(call, admitted).await?,
        };
        let max_bytes = self.options.max_response_bytes;
        if u64::try_from(answer.response.len()).unwrap_or(u64::MAX) > max_bytes {
            return Err(failure(
                "response_too_large",
                format!("the answer is longer than {max_bytes} bytes"),
            ));
        }
        Ok(answer)
    }

    async fn act_here(&self, call: &Call, admitted: Admitted) -> Result<Answer, Failure> {
        let Some(Builtin { run, .. }) = self.builtins.get(admitted.tool.name.as_str()) else {
            return Err(failure("not_implemented", "this process does not have the tool"));
        };
        let context = ToolContext {
            services: Arc::clone(&self.services),
            who: Arc::clone(&call.who),
            setting: admitted.setting,
            snapshot: self.snapshot(),
        };
        let value = run(context, admitted.arguments).await.map_err(Failure::from)?;
        check_output(&admitted.tool, &value)?;
        let text = value.to_string();
        let result =
            json!({ "content": [{ "type": "text", "text": text }], "structuredContent": value });
        Ok(Answer { response: answer(call, result), error_type: None })
    }

    async fn act_upstream(
        &self,
        call: &Call,
        tool: &Tool,
        client: Arc<dyn ClientSide>,
        cancel: CancellationToken,
    ) -> Result<Answer, Failure> {
        let Some(server) = &tool.server else {
            return Err(failure("internal_error", "the tool has no server"));
        };
        let upstream =
            self.upstreams.open(server.id, &call.session, Arc::clone(&call.listener)).await?;
        let params = match &call.face {
            Some(_) => call.params.get().to_owned(),
            None => Fields::read(&call.params)
                .map(|fields| fields.with("name", tool.bare_name()))
                .unwrap_or_default(),
        };
        let message = rpc::request(call.id.get(), "tools/call", &params);
        let response = upstream.request(message, client, cancel).await?;
        let fields =
            Fields::read(&response).map_err(|fault| failure("bad_response", fault.to_string()))?;
        match (fields.get("result"), fields.get("error")) {
            (Some(result), None) => {
                let error_type = judge_result(tool, result)?;
                let text = if call.is_stateless {
                    protocol::complete_raw(result)
                } else {
                    result.get().into()
                };
                Ok(Answer { response: rpc::result(&call.id, &text), error_type })
            }
            (None, Some(error)) => {
                let text = format!(
                    r#"{{"jsonrpc":"2.0","id":{},"error":{}}}"#,
                    call.id.get(),
                    error.get()
                );
                Ok(Answer { response: text, error_type: Some("upstream_error".to_owned()) })
            }
            _ => Err(failure("bad_response", "the server's answer is no response")),
        }
    }
}

/// What kind of failure a server's result is, if it is one; refuses results that break the tool's
/// own schema.
fn judge_result(tool: &Tool, result: &RawValue) -> Result<Option<String>, Failure> {
    let fields =
        Fields::read(result).map_err(|fault| failure("bad_response", fault.to_string()))?;
    if fields.get("isError").is_some_and(|flag| flag.get() == "true") {
        return Ok(Some("tool_error".to_owned()));
    }
    if let (Some(_), Some(structured)) = (&tool.output, fields.get("structuredContent")) {
        let value = rpc::read_strictly(structured)
            .map_err(|fault| failure("bad_response", fault.to_string()))?;
        check_output(tool, &value)?;
    }
    Ok(None)
}

fn check_output(tool: &Tool, value: &Value) -> Result<(), Failure> {
    match &tool.output {
        None => Ok(()),
        Some(Ok(validator)) if validator.is_valid(value) => Ok(()),
        Some(_) => {
            Err(failure("bad_response", "the result is not what the tool's schema promises"))
        }
    }
}

fn server_of(tool: &Tool) -> String {
    tool.server.as_ref().map_or_else(|| "builtin".to_owned(), |server| server.slug.clone())
}

/// What is put on record of a call that is let through.
pub(crate) fn record(call: &Call, name: &str, server: String, setting: Setting) -> CallRecord {
    CallRecord {
        agent: Some(call.who.agent),
        token: Some(call.who.token_id),
        user: Some(call.who.user),
        groups: call.who.groups.clone(),
        roles: call.who.roles.clone(),
        project: setting.project,
        task: setting.task,
        run: call.who.run,
        job: call.who.job,
        tool: cut(name),
        server,
        stage: Stage::Invoke,
        error_type: None,
        origin: "gateway".to_owned(),
        request_id: call.request_id.clone(),
    }
}

/// A name that fits on record.
pub(crate) fn cut(name: &str) -> String {
    let end = (0..=NAME_BYTES.min(name.len())).rev().find(|end| name.is_char_boundary(*end));
    name.get(..end.unwrap_or(0)).unwrap_or_default().to_owned()
}

fn failure(kind: &'static str, message: impl Into<String>) -> Failure {
    Failure { kind, message: message.into() }
}

impl From<UpstreamError> for Failure {
    fn from(error: UpstreamError) -> Self {
        let kind = match error {
            UpstreamError::Unknown => "not_found",
            UpstreamError::Unavailable(_) | UpstreamError::Busy => "service_unavailable",
            UpstreamError::Timeout => "timeout",
            UpstreamError::Canceled => "canceled",
            UpstreamError::Protocol(_) => "bad_response",
        };
        failure(kind, error.to_string())
    }
}

fn failed(call: &Call, fault: &Failure) -> Answer {
    let response = tool_error(call, fault.kind, Stage::Invoke, &fault.message);
    Answer { response, error_type: Some(fault.kind.to_owned()) }
}

fn wording(kind: &str, stage: Stage, message: &str) -> Value {
    json!({ "error": { "type": kind, "stage": stage, "message": message } })
}

/// An error that a model can read.
fn tool_error(call: &Call, kind: &str, stage: Stage, message: &str) -> String {
    let error = wording(kind, stage, message);
    let content = json!([{ "type": "text", "text": error.to_string() }]);
    answer(call, json!({ "content": content, "structuredContent": error, "isError": true }))
}

fn answer(call: &Call, result: Value) -> String {
    let result = if call.is_stateless { protocol::complete(result) } else { result };
    rpc::result(&call.id, &result.to_string())
}

fn invalid(call: &Call, fault: &str) -> String {
    rpc::error(Some(&call.id), &RpcError::new(rpc::INVALID_PARAMS, fault))
}

/// The record comes first: without it there is neither a call nor an answer.
fn unrecorded(call: &Call, fault: &crate::backend::BackendError) -> String {
    error!(error = fault as &dyn std::error::Error, "a tool call could not be recorded");
    let text = "the call could not be recorded, so its answer is withheld: try again later";
    rpc::error(Some(&call.id), &RpcError::new(rpc::INTERNAL_ERROR, text))
}

fn note(error_type: Option<&str>, took: Duration) {
    let status = if error_type.is_some() { "error" } else { "success" };
    metrics::counter!("cynode_mcp_calls_total", "decision" => "allow", "status" => status)
        .increment(1);
    metrics::histogram!("cynode_mcp_call_seconds").record(took.as_secs_f64());
}

fn millis(took: Duration) -> i64 {
    i64::try_from(took.as_millis()).unwrap_or(i64::MAX)
}
