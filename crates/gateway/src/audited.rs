//! The audited execution of a request, be it a tool call or another server feature: denied on
//! record, or recorded, executed, recorded and answered.
//!
//! Start at [`AuditedRequest::execute`]. Invariants: nothing is executed before its permission is
//! durable; no response is sent before its outcome is durable. A request that cannot be recorded is
//! not executed. The metrics count what the record holds.

use std::panic::AssertUnwindSafe;
use std::time::{Duration, Instant};

use cynode_domain::policy::{ErrorKind, Stage};
use cynode_resources::{audit::ToolCallOutcome, audit::ToolCallRecord};
use cynode_runtime::telemetry::gen_ai::OperationSpan;
use futures_util::FutureExt as _;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use tracing::{Instrument as _, debug, error};

use crate::backend::BackendError;
use crate::gateway::GatewayInner;
use crate::invoke::GatewayCall;
use crate::pipeline::Denial;
use cynode_upstream::interface::UpstreamError;
use cynode_upstream::protocol;
use cynode_upstream::rpc;
use cynode_upstream::rpc::RpcError;

/// Error code of a denial where the method has no error results.
pub(crate) const DENIED: i32 = 403;

/// A request and its audit record.
pub(crate) struct AuditedRequest<'a> {
    pub(crate) call: &'a GatewayCall,
    pub(crate) form: ErrorForm,
    /// `None` for read-only methods.
    pub(crate) record: Option<ToolCallRecord>,
    /// The span to execute it in.
    pub(crate) span: OperationSpan,
}

/// How a denial or failure is reported to the caller.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ErrorForm {
    /// As a tool result with `isError`, which a model can read.
    Result,
    /// As a JSON-RPC error.
    Code,
}

/// The time limit of a request.
pub(crate) struct RequestDeadline {
    /// `None`: as long as the client listens.
    pub(crate) limit: Option<Duration>,
    /// Canceled when the client withdraws the request.
    pub(crate) cancel: CancellationToken,
}

/// A request that was executed and failed.
#[derive(Debug)]
pub(crate) struct CallFailure {
    pub(crate) kind: ErrorKind,
    pub(crate) message: String,
}

/// The whole response, and the kind of failure, if it is one.
pub(crate) struct CallResponse {
    pub(crate) response: String,
    pub(crate) error_type: Option<ErrorKind>,
}

impl CallFailure {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }
}

impl AuditedRequest<'_> {
    /// Records the denial and responds with `shown`.
    pub(crate) async fn deny(self, inner: &GatewayInner, denial: &Denial, shown: Denial) -> String {
        if let Some(record) = self.record.filter(|_| !cynode_fault::fault!("REQ-MCPGAT-0108")) {
            let name = record.tool.as_str();
            debug!(tool.name = name, stage = %denial.stage, "{name} refused: {}", denial.message);
            metrics::counter!("cynode_mcp_calls_total", "decision" => "deny", "stage" => denial.stage.as_str())
                .increment(1);
            let record =
                ToolCallRecord { stage: denial.stage, error_type: Some(denial.kind), ..record };
            if let Err(fault) = inner.backend.record_denial(record).await {
                return recording_failed(self.call, &fault);
            }
        }
        self.form.render_denial(self.call, shown)
    }

    /// Records, executes, records, and returns the whole response.
    pub(crate) async fn execute(
        self,
        inner: &GatewayInner,
        acting: impl Future<Output = Result<CallResponse, CallFailure>>,
        patience: RequestDeadline,
    ) -> String {
        let Self { call, form, record, span } = self;
        let open = match record.filter(|_| !cynode_fault::fault!("REQ-MCPGAT-0107")) {
            Some(record) => match inner.backend.begin(record).await {
                Ok(open) => Some(open),
                Err(_) if cynode_fault::fault!("X-04") => None,
                Err(fault) => return recording_failed(call, &fault),
            },
            None => None,
        };
        let began = Instant::now();
        let acted = patience.await_outcome(acting).instrument(span.span()).await;
        let answer = acted
            .and_then(|answer| check_response_size(answer, inner.options.max_response_bytes))
            .unwrap_or_else(|fault| form.render_failure(call, &fault));
        span.finish(answer.error_type.map(ErrorKind::as_str));
        let Some(open) = open.filter(|_| !cynode_fault::fault!("REQ-MCPGAT-0002")) else {
            return answer.response;
        };
        let took = began.elapsed();
        count_outcome(answer.error_type, took);
        let duration_ms = i64::try_from(took.as_millis()).unwrap_or(i64::MAX);
        let error_type = answer.error_type.filter(|_| !cynode_fault::fault!("REQ-MCPGAT-0109"));
        match open.finish(ToolCallOutcome { error_type, duration_ms }).await {
            Ok(()) => answer.response,
            Err(fault) => recording_failed(call, &fault),
        }
    }
}

impl RequestDeadline {
    async fn await_outcome(
        &self,
        acting: impl Future<Output = Result<CallResponse, CallFailure>>,
    ) -> Result<CallResponse, CallFailure> {
        let too_long = async {
            match self.limit {
                Some(time) => tokio::time::sleep(time).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            acted = AssertUnwindSafe(acting).catch_unwind() => acted.unwrap_or_else(|_| {
                Err(CallFailure::new(ErrorKind::InternalError, "internal error; the gateway log has the cause"))
            }),
            () = too_long => {
                // The result is no longer needed: cancels the work.
                self.cancel.cancel();
                let time = self.limit.unwrap_or_default().as_millis();
                Err(CallFailure::new(ErrorKind::Timeout, format!("no response within {time} ms")))
            }
            () = self.cancel.cancelled() => Err(UpstreamError::Canceled.into()),
        }
    }
}

impl ErrorForm {
    fn render_denial(self, call: &GatewayCall, denial: Denial) -> String {
        let Denial { stage, kind, message } = denial;
        // A tool that does not exist has no results: that is a JSON-RPC error.
        let code = match self {
            Self::Result if stage == Stage::Known => rpc::INVALID_PARAMS,
            Self::Result => return render_tool_error(call, kind, stage, &message),
            Self::Code => DENIED,
        };
        render_rpc_error(call, code, kind, stage, &message)
    }

    fn render_failure(self, call: &GatewayCall, fault: &CallFailure) -> CallResponse {
        let CallFailure { kind, message } = fault;
        let response = match self {
            Self::Result => render_tool_error(call, *kind, Stage::Invoke, message),
            Self::Code => {
                render_rpc_error(call, rpc::INTERNAL_ERROR, *kind, Stage::Invoke, message)
            }
        };
        CallResponse { response, error_type: Some(*kind) }
    }
}

fn error_object(kind: ErrorKind, stage: Stage, message: &str) -> Value {
    json!({ "error": { "type": kind, "stage": stage, "message": message } })
}

fn render_rpc_error(
    call: &GatewayCall,
    code: i32,
    kind: ErrorKind,
    stage: Stage,
    message: &str,
) -> String {
    let error = RpcError::new(code, message).with(error_object(kind, stage, message));
    rpc::error(Some(&call.id), &error)
}

/// An error that a model can read.
fn render_tool_error(call: &GatewayCall, kind: ErrorKind, stage: Stage, message: &str) -> String {
    let error = error_object(kind, stage, message);
    let content = json!([{ "type": "text", "text": error.to_string() }]);
    answer(call, json!({ "content": content, "structuredContent": error, "isError": true }))
}

/// A result of the gateway as a whole response.
pub(crate) fn answer(call: &GatewayCall, result: Value) -> String {
    let result = if call.is_stateless { protocol::add_result_type(result) } else { result };
    rpc::render_result(&call.id, &result.to_string())
}

fn check_response_size(answer: CallResponse, max_bytes: u64) -> Result<CallResponse, CallFailure> {
    if u64::try_from(answer.response.len()).is_ok_and(|length| length <= max_bytes) {
        return Ok(answer);
    }
    let text = format!("the response is longer than {max_bytes} bytes");
    Err(CallFailure::new(ErrorKind::ResponseTooLarge, text))
}

/// Audit before effect: without the record nothing is executed and nothing answered.
fn recording_failed(call: &GatewayCall, fault: &BackendError) -> String {
    error!(error = fault as &dyn std::error::Error, "recording a request failed");
    let text = "the request could not be recorded, so its response is withheld; try again later";
    rpc::error(Some(&call.id), &RpcError::new(rpc::INTERNAL_ERROR, text))
}

fn count_outcome(error_type: Option<ErrorKind>, took: Duration) {
    let status = if error_type.is_some() { "error" } else { "success" };
    metrics::counter!("cynode_mcp_calls_total", "decision" => "allow", "status" => status)
        .increment(1);
    metrics::histogram!("cynode_mcp_call_seconds").record(took.as_secs_f64());
}
