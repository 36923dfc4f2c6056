//! One tool call from decision to answer: decide, record, act, record, answer.
//!
//! Invariant: whoever goes away meanwhile changes nothing about a call: it runs beside the request
//! that asked for it. What is on record and when, [`crate::recorded`] sees to.

use std::error::Error;
use std::sync::Arc;

use cynode_domain::policy::{ErrorKind, Stage};
use cynode_ops::audit::CallRecord;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::gateway::Inner;
use crate::identity::Identity;
use crate::pipeline::{self, Denial, Setting};
use crate::protocol;
use crate::recorded::{Answer, Failure, Form, Patience, Request, answer};
use crate::rpc::{self, Fields, RpcError};
use crate::seams::{ClientSide, SessionKey};
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

/// What a server is asked.
pub(crate) struct Errand<'a> {
    pub(crate) server: &'a Server,
    pub(crate) method: &'a str,
    pub(crate) params: &'a str,
    /// The client, as the server sees it meanwhile.
    pub(crate) client: Arc<dyn ClientSide>,
    pub(crate) cancel: CancellationToken,
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
            Err(denial) => {
                let server = snapshot.tool(&canonical).map(|tool| server_of(tool));
                let setting = Setting { task: call.who.task, project: call.who.project };
                let server = server.unwrap_or_else(|| "unknown".to_owned());
                let record = record(call, &canonical, server, setting);
                let shown = pipeline::conceal(&snapshot, &call.who, &canonical, denial.clone());
                request(call, record).refuse(self, &denial, shown).await
            }
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
        pipeline::rules_in_advance(&tool, who)?;
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
        Some(Denial::new(Stage::Limits, ErrorKind::ServiceUnavailable, fault.to_string()))
    }

    async fn carry_out(
        &self,
        call: &Call,
        admitted: Admitted,
        client: Arc<dyn ClientSide>,
        cancel: CancellationToken,
    ) -> String {
        let tool = &admitted.tool;
        let record = record(call, &tool.name, server_of(tool), admitted.setting);
        let request = request(call, record);
        if let Some(denial) = tool.server.as_ref().and_then(|server| self.rests(server)) {
            return request.refuse(self, &denial.clone(), denial).await;
        }
        let at_most = Some(self.options.call_timeout());
        let acting = self.act(call, admitted, client, cancel.clone());
        request.carry_out(self, acting, Patience { at_most, cancel }).await
    }

    async fn act(
        &self,
        call: &Call,
        admitted: Admitted,
        client: Arc<dyn ClientSide>,
        cancel: CancellationToken,
    ) -> Result<Answer, Failure> {
        let tool = Arc::clone(&admitted.tool);
        match &tool.server {
            Some(server) => {
                let params = match &call.face {
                    Some(_) => call.params.get().to_owned(),
                    None => Fields::read(&call.params)
                        .map(|fields| fields.with("name", tool.bare_name()))
                        .unwrap_or_default(),
                };
                let (method, params) = ("tools/call", params.as_str());
                let errand = Errand { server, method, params, client, cancel };
                self.ask(call, errand, |result| judged(call, &tool, result)).await
            }
            None => self.act_here(call, admitted).await,
        }
    }

    async fn act_here(&self, call: &Call, admitted: Admitted) -> Result<Answer, Failure> {
        let Some(Builtin { run, .. }) = self.builtins.get(admitted.tool.name.as_str()) else {
            return Err(Failure::new(
                ErrorKind::NotImplemented,
                "this process does not have the tool",
            ));
        };
        let context = ToolContext {
            services: Arc::clone(&self.services),
            who: Arc::clone(&call.who),
            setting: admitted.setting,
            snapshot: self.snapshot(),
        };
        let value = run(context, admitted.arguments).await?;
        check_output(&admitted.tool, &value)?;
        let text = value.to_string();
        let result =
            json!({ "content": [{ "type": "text", "text": text }], "structuredContent": value });
        Ok(Answer { response: answer(call, result), error_type: None })
    }

    /// Asks a server; `told` makes its result an answer. Its own errors pass as they are.
    pub(crate) async fn ask(
        &self,
        call: &Call,
        errand: Errand<'_>,
        told: impl FnOnce(&RawValue) -> Result<Answer, Failure>,
    ) -> Result<Answer, Failure> {
        let Errand { server, method, params, client, cancel } = errand;
        let upstream =
            self.upstreams.open(server.id, &call.session, Arc::clone(&call.listener)).await?;
        let message = rpc::request(call.id.get(), method, params);
        let response = upstream.request(message, client, cancel).await?;
        let fields = Fields::read(&response).map_err(bad_response)?;
        match (fields.get("result"), fields.get("error")) {
            (Some(result), None) => told(result),
            (None, Some(error)) => {
                let (id, error) = (call.id.get(), error.get());
                let response = format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#);
                Ok(Answer { response, error_type: Some(ErrorKind::UpstreamError) })
            }
            _ => Err(bad_response("the server's answer is no response")),
        }
    }
}

/// A server's result as an answer; refuses results that break the tool's own schema.
fn judged(call: &Call, tool: &Tool, result: &RawValue) -> Result<Answer, Failure> {
    let fields = Fields::read(result).map_err(bad_response)?;
    let has_failed = fields.get("isError").is_some_and(|flag| flag.get() == "true");
    let structured = fields.get("structuredContent").filter(|_| !has_failed);
    if let (Some(_), Some(structured)) = (&tool.output, structured) {
        check_output(tool, &rpc::read_strictly(structured).map_err(bad_response)?)?;
    }
    let text = if call.is_stateless { protocol::complete_raw(result) } else { result.get().into() };
    let error_type = has_failed.then_some(ErrorKind::ToolError);
    Ok(Answer { response: rpc::result(&call.id, &text), error_type })
}

fn bad_response(why: impl Into<Box<dyn Error>>) -> Failure {
    Failure::new(ErrorKind::BadResponse, why.into().to_string())
}

fn check_output(tool: &Tool, value: &Value) -> Result<(), Failure> {
    match &tool.output {
        None => Ok(()),
        Some(Ok(validator)) if validator.is_valid(value) => Ok(()),
        Some(_) => Err(bad_response("the result is not what the tool's schema promises")),
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

fn request(call: &Call, record: CallRecord) -> Request<'_> {
    Request { call, form: Form::Result, record: Some(record) }
}

fn invalid(call: &Call, fault: &str) -> String {
    rpc::error(Some(&call.id), &RpcError::new(rpc::INVALID_PARAMS, fault))
}
