//! What every request goes through once it is decided, be it a tool call or something else that a
//! server offers: refused on record, or recorded, made, recorded and answered.
//!
//! Start at [`Request::carry_out`]. Invariants: nothing is done before its permission is on record;
//! no answer is given before the outcome is. What cannot be recorded is not done. The figures count
//! what the record holds.

use std::panic::AssertUnwindSafe;
use std::time::{Duration, Instant};

use cynode_domain::policy::{ErrorKind, Stage};
use cynode_ops::audit::{CallRecord, Outcome};
use futures_util::FutureExt as _;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use tracing::{debug, error};

use crate::backend::BackendError;
use crate::gateway::Inner;
use crate::invoke::Call;
use crate::pipeline::Denial;
use crate::protocol;
use crate::rpc::{self, RpcError};
use crate::seams::UpstreamError;

/// A refusal by rule or switch of what has no results for that.
pub(crate) const DENIED: i32 = 403;

/// A request with what is kept of it.
pub(crate) struct Request<'a> {
    pub(crate) call: &'a Call,
    pub(crate) form: Form,
    /// What is put on record; nothing for what only looks at what there is.
    pub(crate) record: Option<CallRecord>,
}

/// How a caller is told that something was refused or failed.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Form {
    /// As the result of a tool, which a model can read.
    Result,
    /// As an error of the protocol.
    Code,
}

/// How long a request may take.
pub(crate) struct Patience {
    /// The most; nothing for as long as the client listens.
    pub(crate) at_most: Option<Duration>,
    /// Set when nobody waits any longer.
    pub(crate) cancel: CancellationToken,
}

/// A request that was made and did not do what it should.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) kind: ErrorKind,
    pub(crate) message: String,
}

/// The answer to a request: the whole response, and what kind of failure it is.
pub(crate) struct Answer {
    pub(crate) response: String,
    pub(crate) error_type: Option<ErrorKind>,
}

impl Failure {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }
}

impl From<UpstreamError> for Failure {
    fn from(error: UpstreamError) -> Self {
        let kind = match error {
            UpstreamError::Unknown => ErrorKind::NotFound,
            UpstreamError::Unavailable(_) | UpstreamError::Busy => ErrorKind::ServiceUnavailable,
            UpstreamError::Timeout => ErrorKind::Timeout,
            UpstreamError::Canceled => ErrorKind::Canceled,
            UpstreamError::Protocol(_) => ErrorKind::BadResponse,
        };
        Self::new(kind, error.to_string())
    }
}

impl Request<'_> {
    /// Puts the refusal on record as it is, and words it for the caller as `shown`.
    pub(crate) async fn refuse(self, inner: &Inner, denial: &Denial, shown: Denial) -> String {
        if let Some(record) = self.record {
            let name = record.tool.as_str();
            debug!(tool.name = name, stage = %denial.stage, "{name} refused: {}", denial.message);
            metrics::counter!("cynode_mcp_calls_total", "decision" => "deny", "stage" => denial.stage.as_str())
                .increment(1);
            let record =
                CallRecord { stage: denial.stage, error_type: Some(denial.kind), ..record };
            if let Err(fault) = inner.backend.deny(record).await {
                return unrecorded(self.call, &fault);
            }
        }
        self.form.refused(self.call, shown)
    }

    /// Records, acts, records, and gives the whole response.
    pub(crate) async fn carry_out(
        self,
        inner: &Inner,
        acting: impl Future<Output = Result<Answer, Failure>>,
        patience: Patience,
    ) -> String {
        let Self { call, form, record } = self;
        let open = match record {
            Some(record) => match inner.backend.begin(record).await {
                Ok(open) => Some(open),
                Err(fault) => return unrecorded(call, &fault),
            },
            None => None,
        };
        let began = Instant::now();
        let acted = patience.wait(acting).await;
        let answer = acted
            .and_then(|answer| short_enough(answer, inner.options.max_response_bytes))
            .unwrap_or_else(|fault| form.failed(call, &fault));
        let Some(open) = open else { return answer.response };
        let took = began.elapsed();
        note(answer.error_type, took);
        let duration_ms = i64::try_from(took.as_millis()).unwrap_or(i64::MAX);
        match open.finish(Outcome { error_type: answer.error_type, duration_ms }).await {
            Ok(()) => answer.response,
            Err(fault) => unrecorded(call, &fault),
        }
    }
}

impl Patience {
    async fn wait(
        &self,
        acting: impl Future<Output = Result<Answer, Failure>>,
    ) -> Result<Answer, Failure> {
        let too_long = async {
            match self.at_most {
                Some(time) => tokio::time::sleep(time).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            acted = AssertUnwindSafe(acting).catch_unwind() => acted.unwrap_or_else(|_| {
                Err(Failure::new(ErrorKind::InternalError, "it failed on our side"))
            }),
            () = too_long => {
                // Whoever still works on it works for nobody, and is told to stop.
                self.cancel.cancel();
                let time = self.at_most.unwrap_or_default().as_millis();
                Err(Failure::new(ErrorKind::Timeout, format!("no answer within {time} ms")))
            }
            () = self.cancel.cancelled() => Err(UpstreamError::Canceled.into()),
        }
    }
}

impl Form {
    fn refused(self, call: &Call, denial: Denial) -> String {
        let Denial { stage, kind, message } = denial;
        // A tool that does not exist has no results: that is an error of the protocol.
        let code = match self {
            Self::Result if stage == Stage::Known => rpc::INVALID_PARAMS,
            Self::Result => return tool_error(call, kind, stage, &message),
            Self::Code => DENIED,
        };
        coded(call, code, (kind, stage), &message)
    }

    fn failed(self, call: &Call, fault: &Failure) -> Answer {
        let Failure { kind, message } = fault;
        let response = match self {
            Self::Result => tool_error(call, *kind, Stage::Invoke, message),
            Self::Code => coded(call, rpc::INTERNAL_ERROR, (*kind, Stage::Invoke), message),
        };
        Answer { response, error_type: Some(*kind) }
    }
}

fn wording(kind: ErrorKind, stage: Stage, message: &str) -> Value {
    json!({ "error": { "type": kind, "stage": stage, "message": message } })
}

fn coded(call: &Call, code: i32, (kind, stage): (ErrorKind, Stage), message: &str) -> String {
    let error = RpcError::new(code, message).with(wording(kind, stage, message));
    rpc::error(Some(&call.id), &error)
}

/// An error that a model can read.
fn tool_error(call: &Call, kind: ErrorKind, stage: Stage, message: &str) -> String {
    let error = wording(kind, stage, message);
    let content = json!([{ "type": "text", "text": error.to_string() }]);
    answer(call, json!({ "content": content, "structuredContent": error, "isError": true }))
}

/// A result of ours as a whole response.
pub(crate) fn answer(call: &Call, result: Value) -> String {
    let result = if call.is_stateless { protocol::complete(result) } else { result };
    rpc::result(&call.id, &result.to_string())
}

fn short_enough(answer: Answer, max_bytes: u64) -> Result<Answer, Failure> {
    if u64::try_from(answer.response.len()).is_ok_and(|length| length <= max_bytes) {
        return Ok(answer);
    }
    let text = format!("the answer is longer than {max_bytes} bytes");
    Err(Failure::new(ErrorKind::ResponseTooLarge, text))
}

/// The record comes first: without it nothing is done and nothing answered.
fn unrecorded(call: &Call, fault: &BackendError) -> String {
    error!(error = fault as &dyn std::error::Error, "a request could not be recorded");
    let text = "the request could not be recorded, so its answer is withheld: try again later";
    rpc::error(Some(&call.id), &RpcError::new(rpc::INTERNAL_ERROR, text))
}

fn note(error_type: Option<ErrorKind>, took: Duration) {
    let status = if error_type.is_some() { "error" } else { "success" };
    metrics::counter!("cynode_mcp_calls_total", "decision" => "allow", "status" => status)
        .increment(1);
    metrics::histogram!("cynode_mcp_call_seconds").record(took.as_secs_f64());
}
