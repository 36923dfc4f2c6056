//! Executes one tool call: decide, record, execute, record, respond.
//!
//! Invariant: a call runs in a task of its own, so a disconnecting client does not affect it.
//! [`crate::audited`] writes the audit records.

use std::error::Error;
use std::sync::Arc;

use cynode_domain::ids::ServerId;
use cynode_domain::policy::{ErrorKind, Stage};
use cynode_domain::text::truncate_bytes;
use cynode_resources::audit::ToolCallRecord;
use cynode_runtime::telemetry::gen_ai::{OperationSpan, ToolCallAttributes};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::audited::AuditedRequest;
use crate::audited::CallFailure;
use crate::audited::CallResponse;
use crate::audited::ErrorForm;
use crate::audited::RequestDeadline;
use crate::audited::answer;
use crate::gateway::GatewayInner;
use crate::identity::Identity;
use crate::pipeline;
use crate::pipeline::CallScope;
use crate::pipeline::Denial;
use crate::resolution::resolve_tool;
use crate::snapshot::PolicyServer;
use crate::snapshot::PolicySnapshot;
use crate::snapshot::PolicyTool;
use crate::tools::BuiltinToolSpec;
use crate::tools::ToolContext;
use cynode_upstream::interface::SessionKey;
use cynode_upstream::interface::UpstreamClient;
use cynode_upstream::protocol;
use cynode_upstream::rpc;
use cynode_upstream::rpc::RawFields;
use cynode_upstream::rpc::RpcError;

/// Bytes of a tool's name that are recorded.
const NAME_BYTES: usize = 256;

/// A requested call.
pub(crate) struct GatewayCall {
    pub(crate) identity: Arc<Identity>,
    /// The slug of the server at `/mcp/<server>`; `None` for canonical names.
    pub(crate) server_slug: Option<String>,
    /// The request id.
    pub(crate) id: Box<RawValue>,
    /// Name, arguments, metadata.
    pub(crate) params: Box<RawValue>,
    pub(crate) is_stateless: bool,
    pub(crate) session: SessionKey,
    /// Correlates the request with the logs.
    pub(crate) request_id: String,
    /// The client outside of this call.
    pub(crate) listener: Arc<dyn UpstreamClient>,
}

/// A call that passed the pipeline.
pub(crate) struct AllowedCall {
    tool: Arc<PolicyTool>,
    arguments: Value,
    pub(crate) call_scope: CallScope,
}

/// A request to a server.
pub(crate) struct UpstreamRequest<'a> {
    pub(crate) server: &'a PolicyServer,
    pub(crate) method: &'a str,
    pub(crate) params: &'a str,
    /// The client, as the server sees it during the request.
    pub(crate) client: Arc<dyn UpstreamClient>,
    pub(crate) cancel: CancellationToken,
}

impl GatewayInner {
    /// Executes a call and returns the whole response.
    pub(crate) async fn call(
        &self,
        call: &GatewayCall,
        client: Arc<dyn UpstreamClient>,
        cancel: CancellationToken,
    ) -> String {
        let fields = match RawFields::read(&call.params) {
            Ok(fields) => fields,
            Err(fault) => return invalid_params(call, &fault.to_string()),
        };
        let Some(name) = fields.text("name") else {
            return invalid_params(call, "params.name must be a string");
        };
        let canonical = match &call.server_slug {
            Some(slug) => format!("{slug}.{name}"),
            None => name.into_owned(),
        };
        let holds = |known: &PolicySnapshot| {
            resolve_tool(known, &call.identity, &canonical)
                .is_some_and(|tool| !pipeline::is_concealed(known, tool, &call.identity))
        };
        let snapshot = self.snapshot_containing(holds).await;
        let decided =
            self.decide(&snapshot, &call.identity, &canonical, fields.get("arguments")).await;
        let response = match decided {
            Ok(admitted) => self.execute_recorded(call, admitted, client, cancel).await,
            Err(denial) => {
                let tool = resolve_tool(&snapshot, &call.identity, &canonical);
                let setting =
                    CallScope { task: call.identity.task, project: call.identity.project };
                let server = tool.map_or_else(RecordedServer::unknown, |tool| tool.as_ref().into());
                let record = record(call, &canonical, server, setting);
                let shown =
                    pipeline::conceal(&snapshot, &call.identity, &canonical, denial.clone());
                audited_request(call, record).deny(self, &denial, shown).await
            }
        };
        self.add_instructions(call, response).await
    }

    /// Every stage, in order.
    pub(crate) async fn decide(
        &self,
        snapshot: &PolicySnapshot,
        identity: &Identity,
        name: &str,
        arguments: Option<&RawValue>,
    ) -> Result<AllowedCall, Denial> {
        let tool = Arc::clone(pipeline::check_reach(snapshot, identity, name)?);
        pipeline::precheck_rules(snapshot, &tool, identity)?;
        let max_bytes = self.options.max_request_bytes;
        let arguments = pipeline::arguments::check(&tool, arguments, max_bytes)?;
        let setting = self.check_context(&tool, identity, &arguments).await?;
        pipeline::rules(snapshot, &tool, identity, setting)?;
        pipeline::hosts::check_named_host(snapshot, &tool, identity, setting, &arguments)?;
        Ok(AllowedCall { tool, arguments, call_scope: setting })
    }

    /// Stage `limits`: rejects while the circuit of the server is open, so that callers do not
    /// wait.
    pub(crate) fn circuit_denial(&self, server: &PolicyServer) -> Option<Denial> {
        let fault = self.upstreams.circuit_error(server.id)?;
        Some(Denial::new(Stage::Limits, ErrorKind::ServiceUnavailable, fault.to_string()))
    }

    async fn execute_recorded(
        &self,
        call: &GatewayCall,
        admitted: AllowedCall,
        client: Arc<dyn UpstreamClient>,
        cancel: CancellationToken,
    ) -> String {
        let tool = &admitted.tool;
        let record = record(call, &tool.name, tool.as_ref().into(), admitted.call_scope);
        let request = audited_request(call, record);
        if let Some(denial) = tool.server.as_ref().and_then(|server| self.circuit_denial(server)) {
            return request.deny(self, &denial.clone(), denial).await;
        }
        let request = AuditedRequest { span: open_span(call, tool), ..request };
        let at_most = Some(self.options.call_timeout());
        let acting = self.execute(call, admitted, client, cancel.clone());
        request.execute(self, acting, RequestDeadline { limit: at_most, cancel }).await
    }

    async fn execute(
        &self,
        call: &GatewayCall,
        admitted: AllowedCall,
        client: Arc<dyn UpstreamClient>,
        cancel: CancellationToken,
    ) -> Result<CallResponse, CallFailure> {
        let tool = Arc::clone(&admitted.tool);
        match &tool.server {
            Some(server) => {
                let params = match &call.server_slug {
                    Some(_) => call.params.get().to_owned(),
                    None => RawFields::read(&call.params)
                        .map(|fields| fields.with("name", tool.bare_name()))
                        .unwrap_or_default(),
                };
                let (method, params) = ("tools/call", params.as_str());
                let request = UpstreamRequest { server, method, params, client, cancel };
                self.ask(call, request, |result| check_result(call, &tool, result)).await
            }
            None => self.execute_builtin(call, admitted).await,
        }
    }

    async fn execute_builtin(
        &self,
        call: &GatewayCall,
        admitted: AllowedCall,
    ) -> Result<CallResponse, CallFailure> {
        let Some(BuiltinToolSpec { run, .. }) = self.builtins.get(admitted.tool.name.as_str())
        else {
            return Err(CallFailure::new(
                ErrorKind::NotImplemented,
                "this version of CyNode does not have the tool",
            ));
        };
        let context = ToolContext {
            services: Arc::clone(&self.services),
            identity: Arc::clone(&call.identity),
            call_scope: admitted.call_scope,
            snapshot: self.snapshot(),
        };
        let value = run(context, admitted.arguments).await?;
        check_output(&admitted.tool, &value)?;
        let text = value.to_string();
        let result =
            json!({ "content": [{ "type": "text", "text": text }], "structuredContent": value });
        Ok(CallResponse { response: answer(call, result), error_type: None })
    }

    /// Sends a request to a server; `map_response` turns its result into an answer. Errors of the server
    /// are passed through.
    pub(crate) async fn ask(
        &self,
        call: &GatewayCall,
        request: UpstreamRequest<'_>,
        map_response: impl FnOnce(&RawValue) -> Result<CallResponse, CallFailure>,
    ) -> Result<CallResponse, CallFailure> {
        let UpstreamRequest { server, method, params, client, cancel } = request;
        let upstream =
            self.upstreams.open(server.id, &call.session, Arc::clone(&call.listener)).await?;
        let message = rpc::request(call.id.get(), method, params);
        let response = upstream.request(message, client, cancel).await?;
        let fields = RawFields::read(&response).map_err(bad_response)?;
        match (fields.get("result"), fields.get("error")) {
            (Some(result), None) => map_response(result),
            (None, Some(error)) => {
                let (id, error) = (call.id.get(), error.get());
                let response = format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#);
                Ok(CallResponse { response, error_type: Some(ErrorKind::UpstreamError) })
            }
            _ => Err(bad_response("the server did not send a valid response")),
        }
    }
}

/// Turns a server's result into an answer; rejects results that violate the tool's output schema.
fn check_result(
    call: &GatewayCall,
    tool: &PolicyTool,
    result: &RawValue,
) -> Result<CallResponse, CallFailure> {
    let fields = RawFields::read(result).map_err(bad_response)?;
    let has_failed = fields.get("isError").is_some_and(|flag| flag.get() == "true");
    let structured = fields.get("structuredContent").filter(|_| !has_failed);
    if let (Some(_), Some(structured)) = (&tool.output, structured) {
        check_output(tool, &rpc::parse_strict(structured).map_err(bad_response)?)?;
    }
    let text =
        if call.is_stateless { protocol::add_result_type_raw(result) } else { result.get().into() };
    let error_type = has_failed.then_some(ErrorKind::ToolError);
    Ok(CallResponse { response: rpc::render_result(&call.id, &text), error_type })
}

fn bad_response(why: impl Into<Box<dyn Error>>) -> CallFailure {
    CallFailure::new(ErrorKind::BadResponse, why.into().to_string())
}

fn check_output(tool: &PolicyTool, value: &Value) -> Result<(), CallFailure> {
    match &tool.output {
        None => Ok(()),
        Some(Ok(schema)) if schema.is_valid(value) => Ok(()),
        Some(_) => Err(bad_response("the result does not match the tool's output schema")),
    }
}

/// The server in an audit record. The id distinguishes servers of the same name.
pub(crate) struct RecordedServer {
    pub(crate) slug: String,
    pub(crate) id: Option<ServerId>,
}

impl RecordedServer {
    pub(crate) fn unknown() -> Self {
        Self { slug: "unknown".to_owned(), id: None }
    }
}

impl From<&PolicyTool> for RecordedServer {
    fn from(tool: &PolicyTool) -> Self {
        match &tool.server {
            Some(server) => Self { slug: server.slug.clone(), id: Some(server.id) },
            None => Self { slug: "builtin".to_owned(), id: None },
        }
    }
}

/// The audit record of an allowed call.
pub(crate) fn record(
    call: &GatewayCall,
    name: &str,
    server: RecordedServer,
    setting: CallScope,
) -> ToolCallRecord {
    ToolCallRecord {
        agent: Some(call.identity.agent),
        token: Some(call.identity.token_id),
        user: Some(call.identity.user),
        groups: call.identity.groups.clone(),
        roles: call.identity.roles.clone(),
        project: setting.project,
        task: setting.task,
        run: call.identity.run,
        job: call.identity.job,
        tool: truncate_name(name),
        server: server.slug,
        server_id: server.id,
        stage: Stage::Invoke,
        error_type: None,
        origin: "gateway".to_owned(),
        request_id: call.request_id.clone(),
    }
}

/// A name truncated for the record.
pub(crate) fn truncate_name(name: &str) -> String {
    truncate_bytes(name, NAME_BYTES).to_owned()
}

fn audited_request(call: &GatewayCall, record: ToolCallRecord) -> AuditedRequest<'_> {
    let span = OperationSpan::disabled();
    AuditedRequest { call, form: ErrorForm::Result, record: Some(record), span }
}

/// The span of an allowed call, in the trace of its audit record.
fn open_span(call: &GatewayCall, tool: &PolicyTool) -> OperationSpan {
    let attributes = ToolCallAttributes {
        trace_id: &call.request_id,
        tool: &tool.name,
        call_id: Some(call.id.get().trim_matches('"')),
        agent: Some(call.identity.agent.as_str()),
    };
    attributes.open_span()
}

fn invalid_params(call: &GatewayCall, fault: &str) -> String {
    rpc::error(Some(&call.id), &RpcError::new(rpc::INVALID_PARAMS, fault))
}
