//! What servers offer beside tools: resources, prompts, completion, subscriptions, their own tasks.
//! It is handed on as it is, under the same rules and on the same record as tool calls.

use std::sync::Arc;

use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use tracing::debug;

use crate::gateway::Inner;
use crate::identity::Identity;
use crate::invoke::{Call, Errand, record};
use crate::pipeline::{self, Setting};
use crate::protocol;
use crate::recorded::{Answer, DENIED, Form, Patience, Request};
use crate::rpc::{self, RpcError};
use crate::seams::{ClientSide, SessionKey};

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
        let name = format!("{slug}.{method}");
        let snapshot = self.snapshot();
        let admitted = pipeline::reach_server(&snapshot, &call.who, slug, method)
            .and_then(|server| self.rests(&server).map_or(Ok(server), Err));
        let setting = Setting { task: call.who.task, project: call.who.project };
        let record =
            (!UNRECORDED.contains(&method)).then(|| record(call, &name, slug.to_owned(), setting));
        let request = Request { call, form: Form::Code, record };
        let server = match admitted {
            Ok(server) => server,
            Err(denial) => {
                let shown = pipeline::conceal_server(&snapshot, &call.who, slug, denial.clone());
                return request.refuse(self, &denial, shown).await;
            }
        };
        // A subscription lasts as long as its client listens.
        let at_most = (method != "subscriptions/listen").then(|| self.options.call_timeout());
        let (params, patience) = (call.params.get(), Patience { at_most, cancel: cancel.clone() });
        let errand = Errand { server: &server, method, params, client, cancel };
        let acting = self.ask(call, errand, |result| {
            Ok(Answer { response: finished(call, method, result), error_type: None })
        });
        request.carry_out(self, acting, patience).await
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
            .map_err(|denial| pipeline::conceal_server(&snapshot, who, slug, denial))
            .map_err(|shown| RpcError::new(DENIED, shown.message))?;
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
