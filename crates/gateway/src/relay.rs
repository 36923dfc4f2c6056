//! Server features beside tools: resources, prompts, completion, subscriptions, tasks. Requests are
//! forwarded unchanged, under the same rules and audit as tool calls.

use std::sync::Arc;

use cynode_runtime::telemetry::gen_ai::OperationSpan;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use tracing::debug;

use crate::audited::AuditedRequest;
use crate::audited::CallResponse;
use crate::audited::DENIED;
use crate::audited::ErrorForm;
use crate::audited::RequestDeadline;
use crate::gateway::GatewayInner;
use crate::identity::Identity;
use crate::invoke::GatewayCall;
use crate::invoke::RecordedServer;
use crate::invoke::UpstreamRequest;
use crate::invoke::record;
use crate::pipeline;
use crate::pipeline::CallScope;
use crate::resolution::resolve_server;
use cynode_upstream::interface::SessionKey;
use cynode_upstream::interface::UpstreamClient;
use cynode_upstream::protocol;
use cynode_upstream::rpc;
use cynode_upstream::rpc::RpcError;

/// Methods that are forwarded in revisions with sessions.
pub(crate) const SESSION_METHODS: [&str; 13] = [
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
/// Methods that are forwarded in the revision without sessions.
pub(crate) const STATELESS_METHODS: [&str; 10] = [
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
/// Read-only methods, which are not recorded.
const UNRECORDED_METHODS: [&str; 7] = [
    "logging/setLevel",
    "prompts/list",
    "resources/list",
    "resources/templates/list",
    "resources/unsubscribe",
    "subscriptions/listen",
    "tasks/list",
];
/// Results that stateless clients may cache.
const CACHEABLE_METHODS: [&str; 4] =
    ["prompts/list", "resources/list", "resources/read", "resources/templates/list"];

/// A caller at `/mcp/<server>`.
pub(crate) struct ServerRequest<'a> {
    pub(crate) identity: &'a Identity,
    pub(crate) slug: &'a str,
    pub(crate) session: &'a SessionKey,
    pub(crate) listener: Arc<dyn UpstreamClient>,
}

impl GatewayInner {
    /// Forwards a request to the server of this address and returns the whole response.
    pub(crate) async fn relay(
        &self,
        call: &GatewayCall,
        method: &str,
        client: Arc<dyn UpstreamClient>,
        cancel: CancellationToken,
    ) -> String {
        let slug = call.server_slug.as_deref().unwrap_or_default();
        let name = format!("{slug}.{method}");
        let snapshot = self.snapshot();
        let admitted = pipeline::check_server(&snapshot, &call.identity, slug, method)
            .and_then(|server| self.circuit_denial(&server).map_or(Ok(server), Err));
        let setting = CallScope { task: call.identity.task, project: call.identity.project };
        let server = resolve_server(&snapshot, &call.identity, slug);
        let server = server.map_or_else(RecordedServer::unknown, |server| RecordedServer {
            slug: server.slug.clone(),
            id: Some(server.id),
        });
        let record =
            (!UNRECORDED_METHODS.contains(&method)).then(|| record(call, &name, server, setting));
        let span = OperationSpan::disabled();
        let request = AuditedRequest { call, form: ErrorForm::Code, record, span };
        let server = match admitted {
            Ok(server) => server,
            Err(denial) => {
                let shown =
                    pipeline::conceal_server(&snapshot, &call.identity, slug, denial.clone());
                return request.deny(self, &denial, shown).await;
            }
        };
        // A subscription lasts as long as its client listens.
        let at_most = (method != "subscriptions/listen").then(|| self.options.call_timeout());
        let (params, patience) =
            (call.params.get(), RequestDeadline { limit: at_most, cancel: cancel.clone() });
        let upstream_request = UpstreamRequest { server: &server, method, params, client, cancel };
        let acting = self.ask(call, upstream_request, |result| {
            Ok(CallResponse {
                response: render_relay_result(call, method, result),
                error_type: None,
            })
        });
        request.execute(self, acting, patience).await
    }

    /// Forwards a notification, if its sender may use the server.
    pub(crate) async fn relay_notification(
        &self,
        visitor: ServerRequest<'_>,
        message: Box<RawValue>,
    ) {
        let ServerRequest { identity, slug, session, listener } = visitor;
        let Ok(server) = pipeline::check_may_open(&self.snapshot(), identity, slug) else { return };
        let delivered = match self.upstreams.open(server.id, session, listener).await {
            Ok(upstream) => upstream.notify(message).await,
            Err(fault) => Err(fault),
        };
        if let Err(fault) = delivered {
            debug!("forwarding a notification to {slug} failed: {fault}");
        }
    }

    /// The capabilities of a server, for a stateless client.
    pub(crate) async fn capabilities(&self, visitor: ServerRequest<'_>) -> Result<Value, RpcError> {
        let ServerRequest { identity, slug, session, listener } = visitor;
        let snapshot = self.snapshot_with_server(identity, slug).await;
        let server = pipeline::check_may_open(&snapshot, identity, slug)
            .map_err(|denial| pipeline::conceal_server(&snapshot, identity, slug, denial))
            .map_err(|shown| RpcError::new(DENIED, shown.message))?;
        let upstream = self
            .upstreams
            .open(server.id, session, listener)
            .await
            .map_err(|fault| RpcError::new(rpc::INTERNAL_ERROR, fault.to_string()))?;
        Ok(serde_json::from_str(upstream.about().capabilities.get()).unwrap_or_else(|_| json!({})))
    }
}

fn render_relay_result(call: &GatewayCall, method: &str, result: &RawValue) -> String {
    if !call.is_stateless {
        return rpc::render_result(&call.id, result.get());
    }
    let text = protocol::add_result_type_raw(result);
    if CACHEABLE_METHODS.contains(&method) {
        return rpc::render_result(&call.id, &protocol::add_cache_members(&text));
    }
    rpc::render_result(&call.id, &text)
}
