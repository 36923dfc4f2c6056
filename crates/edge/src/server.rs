//! The MCP server: requests with a lease in, responses out. It has no sessions, so every request has its response.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use cynode_audit::{AuditCall, AuditCaller};
use cynode_domain::agent::TokenBinding;
use cynode_domain::ids::{CallId, CapabilityLeaseId, TokenId};
use cynode_domain::policy::{CallStatus, Effect, ErrorKind, Stage};
use cynode_domain::text::truncate_bytes;
use cynode_lease::{LeaseClaims, VerifiedLease};
use cynode_runtime::clock::SharedClock;
use cynode_schema::SchemaError;
use cynode_upstream::protocol::{negotiate_version, server_info};
use cynode_upstream::rpc::{self, ClientMessage, RawFields, RpcError};
use cynode_wire::capability_leases::EDGE_ORIGIN_PREFIX;
use futures_util::FutureExt as _;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::audit_log::to_recorded_time;
use crate::pipeline::{EdgeCall, EdgeDenial, EdgeToolTable, decide};
use crate::{EdgeAuditError, EdgeAuditLog, EdgeTrust};

/// The longest name of a tool in a record.
const MAX_NAME_BYTES: usize = 256;
/// Refused leases that are recorded in each second. More are refused without a record, so that no program can fill the log.
const RECORDED_REFUSALS: u32 = 10;
/// The part of the log that refused leases may fill.
const REFUSED_PART: u64 = 16;
/// Calls under one lease in each second.
const MAX_CALLS: u32 = 50;

const UNAUTHORIZED: u16 = 401;
const TOO_MANY_REQUESTS: u16 = 429;

/// Executes calls that were decided and recorded.
#[async_trait]
pub trait EdgeTools: Send + Sync {
    async fn execute(&self, claims: &LeaseClaims, call: EdgeCall) -> Result<Value, ToolFailure>;
}

/// A call that was executed and failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolFailure {
    pub kind: ErrorKind,
    pub message: String,
}

impl ToolFailure {
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }
}

/// An HTTP response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EdgeResponse {
    pub status: u16,
    /// JSON; absent for a notification.
    pub body: Option<String>,
}

/// The MCP server of a node.
pub struct EdgeServer {
    node_slug: String,
    trust: Arc<EdgeTrust>,
    log: EdgeAuditLog,
    table: EdgeToolTable,
    tools: Arc<dyn EdgeTools>,
    clock: SharedClock,
    rates: Mutex<CallRates>,
}

/// Calls in the current second, by lease; `None` for callers without a valid one.
#[derive(Debug)]
struct CallRates {
    since: Instant,
    counts: HashMap<Option<CapabilityLeaseId>, u32>,
}

impl EdgeServer {
    pub fn new(
        node_slug: String,
        trust: Arc<EdgeTrust>,
        log: EdgeAuditLog,
        tools: Arc<dyn EdgeTools>,
        clock: SharedClock,
    ) -> Result<Self, SchemaError> {
        let table = EdgeToolTable::compile()?;
        let rates = Mutex::new(CallRates { since: Instant::now(), counts: HashMap::new() });
        Ok(Self { node_slug, trust, log, table, tools, clock, rates })
    }

    /// Handles a request with the lease of its caller.
    pub async fn handle(&self, lease: Option<&str>, body: &[u8]) -> EdgeResponse {
        let message = match ClientMessage::read(body) {
            Ok(message) => message,
            Err((id, error)) => return ok(rpc::error(id, &error)),
        };
        let (id, method, params) = match message {
            ClientMessage::Request { id, method, params } => (id, method, params),
            ClientMessage::Notification { .. } | ClientMessage::Response { .. } => {
                return EdgeResponse { status: 202, body: None };
            }
        };
        let verified = match self.trust.verify(lease.unwrap_or_default(), self.clock.now()) {
            Ok(verified) => verified,
            Err(refused) => {
                let name = called_tool(&method, params);
                return self.refuse_lease(id, name, &refused.to_string()).await;
            }
        };
        match method.as_ref() {
            "initialize" => ok(rpc::render_result(id, &initialize(params).to_string())),
            "ping" => ok(rpc::render_result(id, "{}")),
            "tools/list" => {
                ok(rpc::render_result(id, &self.list_tools(verified.claims()).to_string()))
            }
            "tools/call" if !self.count_call(Some(verified.claims().id), MAX_CALLS) => {
                let text = format!("more than {MAX_CALLS} calls in a second; try again");
                let error = RpcError::new(rpc::INTERNAL_ERROR, text);
                EdgeResponse { status: TOO_MANY_REQUESTS, body: Some(rpc::error(Some(id), &error)) }
            }
            "tools/call" => ok(self.call(id, &verified, params).await),
            _ => {
                let text = format!("this server has no method {}", clip_name(&method));
                ok(rpc::error(Some(id), &RpcError::new(rpc::METHOD_NOT_FOUND, text)))
            }
        }
    }

    fn list_tools(&self, claims: &LeaseClaims) -> Value {
        let tools = claims.tools.iter().filter_map(|name| {
            let tool = self.table.get(name)?;
            Some(json!({ "name": name, "description": tool.description, "inputSchema": tool.schema }))
        });
        json!({ "tools": tools.collect::<Vec<_>>() })
    }

    async fn call(
        &self,
        id: &RawValue,
        lease: &VerifiedLease,
        params: Option<&RawValue>,
    ) -> String {
        let invalid = |text: &str| rpc::error(Some(id), &RpcError::new(rpc::INVALID_PARAMS, text));
        let Some(params) = params else { return invalid("params are missing") };
        let fields = match RawFields::read(params) {
            Ok(fields) => fields,
            Err(error) => return invalid(&error.to_string()),
        };
        let Some(name) = fields.text("name") else {
            return invalid("params.name must be a string");
        };
        let claims = lease.claims();
        match decide(&self.table, claims, &name, fields.get("arguments")) {
            Ok(call) => self.execute(id, claims, &name, call).await,
            Err(denial) => self.deny(id, claims, &name, denial).await,
        }
    }

    /// Records, executes, records, responds.
    async fn execute(
        &self,
        id: &RawValue,
        claims: &LeaseClaims,
        name: &str,
        call: EdgeCall,
    ) -> String {
        let record = self.allowed_call(claims, name);
        let log = self.log.clone();
        let open = match record_blocking(move || log.begin(record)).await {
            Ok(open) => open,
            Err(error) => return not_recorded(id, &error),
        };
        let began = Instant::now();
        let executed = AssertUnwindSafe(self.tools.execute(claims, call)).catch_unwind().await;
        let executed = executed.unwrap_or_else(|_| {
            Err(ToolFailure::new(
                ErrorKind::InternalError,
                "internal error; the node's log has the cause",
            ))
        });
        let error = executed.as_ref().err().map(|failure| failure.kind);
        let took = i64::try_from(began.elapsed().as_millis()).unwrap_or(i64::MAX);
        count(Stage::Invoke, error);
        let now = self.clock.now();
        if let Err(error) = record_blocking(move || open.finish(error, took, now)).await {
            return not_recorded(id, &error);
        }
        match executed {
            Ok(value) => {
                let content = json!([{ "type": "text", "text": value.to_string() }]);
                let result = json!({ "content": content, "structuredContent": value });
                rpc::render_result(id, &result.to_string())
            }
            Err(ToolFailure { kind, message }) => {
                render_tool_error(id, kind, Stage::Invoke, &message)
            }
        }
    }

    async fn deny(
        &self,
        id: &RawValue,
        claims: &LeaseClaims,
        name: &str,
        denial: EdgeDenial,
    ) -> String {
        let EdgeDenial { stage, kind, message } = denial;
        let record = AuditCall {
            decision: Effect::Deny,
            stage,
            status: CallStatus::Error,
            error_type: Some(kind.to_string()),
            ..self.allowed_call(claims, name)
        };
        count(stage, Some(kind));
        let log = self.log.clone();
        if let Err(error) = record_blocking(move || log.record_denial(record)).await {
            return not_recorded(id, &error);
        }
        if stage == Stage::Known {
            return rpc::error(Some(id), &RpcError::new(rpc::INVALID_PARAMS, message));
        }
        render_tool_error(id, kind, stage, &message)
    }

    /// Refuses a request without a valid lease. Its caller is unknown.
    async fn refuse_lease(
        &self,
        id: &RawValue,
        tool: Option<String>,
        reason: &str,
    ) -> EdgeResponse {
        let body = rpc::error(Some(id), &RpcError::new(rpc::INVALID_REQUEST, reason));
        // They may fill a small part of the log only: it is for callers with a lease.
        if !self.count_call(None, RECORDED_REFUSALS) || !self.log.is_below(REFUSED_PART) {
            return EdgeResponse { status: TOO_MANY_REQUESTS, body: Some(body) };
        }
        // Like the gateway, it records calls of tools.
        if let Some(name) = tool {
            let record = self.unknown_call(&name);
            count(Stage::Authenticate, Some(ErrorKind::Forbidden));
            let log = self.log.clone();
            if let Err(error) = record_blocking(move || log.record_denial(record)).await {
                return ok(not_recorded(id, &error));
            }
        }
        EdgeResponse { status: UNAUTHORIZED, body: Some(body) }
    }

    /// Counts a call; false if there were more in this second.
    fn count_call(&self, lease: Option<CapabilityLeaseId>, most: u32) -> bool {
        let mut rates = self.rates.lock().unwrap_or_else(PoisonError::into_inner);
        if rates.since.elapsed() >= Duration::from_secs(1) {
            *rates = CallRates { since: Instant::now(), counts: HashMap::new() };
        }
        let count = rates.counts.entry(lease).or_default();
        *count = count.saturating_add(1);
        *count <= most
    }

    fn allowed_call(&self, claims: &LeaseClaims, name: &str) -> AuditCall {
        AuditCall {
            caller: AuditCaller {
                kind: claims.caller.as_str().to_owned(),
                // The lease is the credential of the call.
                token: Some(TokenId::from_uuid(claims.id.as_uuid())),
                user: Some(claims.user),
                groups: claims.groups.clone(),
                roles: claims.roles.clone(),
            },
            binding: TokenBinding {
                project: Some(claims.project),
                task: Some(claims.task),
                job: Some(claims.sandbox),
                ..TokenBinding::default()
            },
            decision: Effect::Allow,
            stage: Stage::Invoke,
            status: CallStatus::Pending,
            error_type: None,
            ..self.unknown_call(name)
        }
    }

    fn unknown_call(&self, name: &str) -> AuditCall {
        AuditCall {
            id: CallId::generate(),
            created_at: to_recorded_time(self.clock.now()),
            caller: AuditCaller { kind: "unknown".to_owned(), ..AuditCaller::default() },
            binding: TokenBinding::default(),
            tool: clip_name(name),
            server: "builtin".to_owned(),
            decision: Effect::Deny,
            stage: Stage::Authenticate,
            status: CallStatus::Error,
            error_type: Some(ErrorKind::Forbidden.to_string()),
            duration_ms: None,
            origin: format!("{EDGE_ORIGIN_PREFIX}{}", self.node_slug),
            request_id: uuid::Uuid::now_v7().to_string(),
        }
    }
}

fn ok(body: String) -> EdgeResponse {
    EdgeResponse { status: 200, body: Some(body) }
}

fn initialize(params: Option<&RawValue>) -> Value {
    let fields = params.and_then(|params| RawFields::read(params).ok());
    let wanted = fields.as_ref().and_then(|fields| fields.text("protocolVersion"));
    let version = negotiate_version(wanted.as_deref().unwrap_or_default());
    json!({ "protocolVersion": version, "capabilities": { "tools": {} }, "serverInfo": server_info() })
}

/// The tool that a request calls; `None` for other methods.
fn called_tool(method: &str, params: Option<&RawValue>) -> Option<String> {
    if method != "tools/call" {
        return None;
    }
    let fields = params.and_then(|params| RawFields::read(params).ok());
    let name = fields.as_ref().and_then(|fields| fields.text("name"));
    Some(name.map(|name| clip_name(&name)).unwrap_or_default())
}

/// A name for a record or a message, without control characters.
fn clip_name(name: &str) -> String {
    let shown: String = name.chars().filter(|c| !c.is_control()).take(MAX_NAME_BYTES).collect();
    truncate_bytes(&shown, MAX_NAME_BYTES).to_owned()
}

fn render_tool_error(id: &RawValue, kind: ErrorKind, stage: Stage, message: &str) -> String {
    let error = json!({ "error": { "type": kind, "stage": stage, "message": message } });
    let content = json!([{ "type": "text", "text": error.to_string() }]);
    let result = json!({ "content": content, "structuredContent": error, "isError": true });
    rpc::render_result(id, &result.to_string())
}

/// Audit before effect: without the record nothing is executed and nothing answered.
fn not_recorded(id: &RawValue, error: &EdgeAuditError) -> String {
    tracing::error!(error = error as &dyn std::error::Error, "recording a call failed");
    let text = format!("the call could not be recorded, so its response is withheld: {error}");
    rpc::error(Some(id), &RpcError::new(rpc::INTERNAL_ERROR, text))
}

async fn record_blocking<T: Send + 'static>(
    record: impl FnOnce() -> Result<T, EdgeAuditError> + Send + 'static,
) -> Result<T, EdgeAuditError> {
    let joined = tokio::task::spawn_blocking(record).await;
    joined.unwrap_or_else(|error| Err(EdgeAuditError::File(std::io::Error::other(error))))
}

fn count(stage: Stage, error: Option<ErrorKind>) {
    let status = if error.is_some() { "error" } else { "success" };
    metrics::counter!("cynode_edge_calls_total", "stage" => stage.as_str(), "status" => status)
        .increment(1);
}

#[cfg(test)]
mod tests;
