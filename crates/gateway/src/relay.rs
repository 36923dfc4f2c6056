//! What servers offer beside tools: resources, prompts, completion, subscriptions, their own tasks.
//! It is handed on as it is, under the same rules and on the same record as tool calls.

use std::sync::Arc;
use std::time::Instant;

use cynode_ops::audit::{CallRecord, Outcome};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use tracing::{debug, error};

use crate::backend::BackendError;
use crate::gateway::Inner;
use crate::identity::Identity;
use crate::invoke::{Call, Failure, record};
use crate::pipeline::{self, Denial, Setting};
use crate::protocol;
use crate::rpc::{self, Fields, RpcError};
use crate::seams::{ClientSide, SessionKey, UpstreamError};
use crate::snapshot::Server;

/// What is handed on in revisions with sessions.
pub(crate) const IN_SESSIONS: [&str; 13] = [
    "completion/complete",
    "logging/setLevel",
    "prompts/get",
    "prompts/list",
    "resources/list",
    "resources/read",
    "resources/subscribe",
    "resources/templates/list",
    "resources/unsubscribe",
    "tasks/cancel",
    "tasks/get",
    "tasks/list",
    "tasks/result",
];
/// What is handed on in the revision without sessions.
pub(crate) const STATELESS: [&str; 10] = [
    "completion/complete",
    "prompts/get",
    "prompts/list",
    "resources/list",
    "resources/read",
    "resources/templates/list",
    "subscriptions/listen",
    "tasks/cancel",
    "tasks/get",
    "tasks/update",
];
/// What only looks at what there is, and leaves no record.
const UNRECORDED: [&str; 7] = [
    "logging/setLevel",
    "prompts/list",
    "resources/list",
    "resources/templates/list",
    "resources/unsubscribe",
    "subscriptions/listen",
    "tasks/list",
];
/// Results that clients of the stateless revision may keep for a while.
const KEPT: [&str; 4] =
    ["prompts/list", "resources/list", "resources/read", "resources/templates/list"];

/// A refusal by rule or switch. Tools have results for that; other methods have codes.
const DENIED: i32 = 403;

/// A caller at the address of a server.
pub(crate) struct Visitor<'a> {
    pub(crate) who: &'a Identity,
    pub(crate) slug: &'a str,
    pub(crate) session: &'a SessionKey,
    pub(crate) listener: Arc<dyn ClientSide>,
}

impl Inner {
    /// Hands a request on to the server of this address and gives the whole response.
    pub(crate) async fn relay(
        &self,
        call: &Call,
        method: &str,
        client: Arc<dyn ClientSide>,
        cancel: CancellationToken,
    ) -> String {
        let slug = call.face.as_deref().unwrap_or_default();
        let is_recorded = !UNRECORDED.contains(&method);
        let name = format!("{slug}.{method}");
        let admitted = pipeline::reach_server(&self.snapshot(), &call.who, slug, method)
            .and_then(|server| self.rests(&server).map_or(Ok(server), Err));
        let setting = Setting { task: call.who.task, project: call.who.project };
        let record = record(call, &name, slug.to_owned(), setting);
        let server = match admitted {
            Ok(server) => server,
            Err(denial) => return self.refuse_relay(call, record, denial, is_recorded).await,
        };
        let open = if is_recorded {
            match self.backend.begin(record).await {
                Ok(open) => Some(open),
                Err(fault) => return unrecorded(call, &fault),
            }
        } else {
            None
        };
        let began = Instant::now();
        let acted = self.act_relay(call, method, &server, (client, cancel.clone()));
        let acted = tokio::select! {
            acted = acted => acted,
            // A subscription lasts as long as its client listens.
            () = tokio::time::sleep(self.options.call_timeout()), if method != "subscriptions/listen" => {
                cancel.cancel();
                Err(UpstreamError::Timeout)
            }
            () = cancel.cancelled() => Err(UpstreamError::Canceled),
        };
        let (response, error_type) = match acted {
            Ok(answer) => answer,
            Err(fault) => {
                let fault = Failure::from(fault);
                let error = RpcError::new(rpc::INTERNAL_ERROR, fault.message);
                (rpc::error(Some(&call.id), &error), Some(fault.kind.to_owned()))
            }
        };
        if let Some(open) = open {
            let duration_ms = i64::try_from(began.elapsed().as_millis()).unwrap_or(i64::MAX);
            if let Err(fault) = open.finish(Outcome { error_type, duration_ms }).await {
                return unrecorded(call, &fault);
            }
        }
        response
    }

    async fn act_relay(
        &self,
        call: &Call,
        method: &str,
        server: &Server,
        with: (Arc<dyn ClientSide>, CancellationToken),
    ) -> Result<(String, Option<String>), UpstreamError> {
        let (client, cancel) = with;
        let upstream =
            self.upstreams.open(server.id, &call.session, Arc::clone(&call.listener)).await?;
        let message = rpc::request(call.id.get(), method, call.params.get());
        let response = upstream.request(message, client, cancel).await?;
        if u64::try_from(response.get().len()).unwrap_or(u64::MAX) > self.options.max_response_bytes
        {
            return Err(UpstreamError::Protocol("the answer is too long".to_owned()));
        }
        let fields =
            Fields::read(&response).map_err(|fault| UpstreamError::Protocol(fault.to_string()))?;
        match (fields.get("result"), fields.get("error")) {
            (Some(result), None) => Ok((finished(call, method, result), None)),
            (None, Some(error)) => {
                let text = format!(
                    r#"{{"jsonrpc":"2.0","id":{},"error":{}}}"#,
                    call.id.get(),
                    error.get()
                );
                Ok((text, Some("upstream_error".to_owned())))
            }
            _ => Err(UpstreamError::Protocol("no response".to_owned())),
        }
    }

    async fn refuse_relay(
        &self,
        call: &Call,
        record: CallRecord,
        denial: Denial,
        is_recorded: bool,
    ) -> String {
        debug!(stage = %denial.stage, "{} refused: {}", record.tool, denial.message);
        if is_recorded {
            let record = CallRecord {
                stage: denial.stage,
                error_type: Some(denial.kind.to_owned()),
                ..record
            };
            if let Err(fault) = self.backend.deny(record).await {
                return unrecorded(call, &fault);
            }
        }
        let data = json!({ "error": { "type": denial.kind, "stage": denial.stage, "message": denial.message } });
        rpc::error(Some(&call.id), &RpcError::new(DENIED, denial.message).with(data))
    }

    /// Hands a notification on, if its sender may speak with the server.
    pub(crate) async fn relay_notification(&self, visitor: Visitor<'_>, message: Box<RawValue>) {
        let Visitor { who, slug, session, listener } = visitor;
        let Ok(server) = pipeline::may_open(&self.snapshot(), who, slug) else { return };
        let delivered = match self.upstreams.open(server.id, session, listener).await {
            Ok(upstream) => upstream.notify(message).await,
            Err(fault) => Err(fault),
        };
        if let Err(fault) = delivered {
            debug!("a notification was not delivered to {slug}: {fault}");
        }
    }

    /// What a server can do, for a client of the stateless revision.
    pub(crate) async fn capabilities(&self, visitor: Visitor<'_>) -> Result<Value, RpcError> {
        let Visitor { who, slug, session, listener } = visitor;
        let snapshot = self.snapshot_with(|known| known.server(slug).is_some()).await;
        let server = pipeline::may_open(&snapshot, who, slug)
            .map_err(|denial| RpcError::new(DENIED, denial.message))?;
        let upstream = self
            .upstreams
            .open(server.id, session, listener)
            .await
            .map_err(|fault| RpcError::new(rpc::INTERNAL_ERROR, fault.to_string()))?;
        Ok(serde_json::from_str(upstream.about().capabilities.get()).unwrap_or_else(|_| json!({})))
    }
}

fn finished(call: &Call, method: &str, result: &RawValue) -> String {
    if !call.is_stateless {
        return rpc::result(&call.id, result.get());
    }
    let text = protocol::complete_raw(result);
    if KEPT.contains(&method) {
        return rpc::result(&call.id, &protocol::keepable(&text));
    }
    rpc::result(&call.id, &text)
}

fn unrecorded(call: &Call, fault: &BackendError) -> String {
    error!(error = fault as &dyn std::error::Error, "a request could not be recorded");
    let text = "the request could not be recorded, so its answer is withheld: try again later";
    rpc::error(Some(&call.id), &RpcError::new(rpc::INTERNAL_ERROR, text))
}
