//! `cuga.modular.tools.*`: tool handlers by dotted name, offered as built-in tools.
//!
//! Policy, limits and audit are those of every built-in tool. A handler gets a way to the network only if the caller may
//! use `web.fetch`, and then reaches the hosts that rules allow to the caller.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use cynode_domain::ids::TraceId;
use cynode_domain::policy::network::ALLOWED_NETWORKS_SETTING;
use cynode_domain::policy::{ErrorKind, ToolScope};
use cynode_network::fetch::{FetchError, FetchLimits, get};
use cynode_network::{NetworkReach, parse_openings};
use cynode_tool_handlers::{
    FetchDocument, FetchFailure, FetchedJson, HANDLERS, HandlerContext, HandlerError, NAMESPACE,
    NetworkUse, ToolHandler, find_handler,
};
use cynode_wire::tool_calls::{
    DateAdd, DateBetween, JsonExtract, MathEvaluate, TableFromCsv, TextDiff, TextStatistics,
    ToolCall as _, WebFetch, WebJson,
};
use reqwest::Url;
use serde_json::Value;

use super::schema::result_schema;
use super::{BuiltinToolSpec, ToolContext, ToolFault, ToolFuture, ToolSideEffect};
use crate::pipeline::{check_known, hosts, is_visible};

const LIMITS: FetchLimits = FetchLimits {
    time: Duration::from_secs(20),
    connect: Duration::from_secs(5),
    bytes: 1_000_000,
    redirects: 5,
};

/// The tools of handlers, by the type of their parameters.
macro_rules! handler_tools {
    ($($inputs:ty),* $(,)?) => {
        [$((
            <$inputs>::NAME,
            (|| results_of(<$inputs>::NAME)) as fn() -> Value,
            (|context, inputs| call(<$inputs>::NAME, context, inputs))
                as fn(ToolContext, Value) -> ToolFuture,
        )),*]
    };
}

/// Every handler as a built-in tool.
pub(super) fn all() -> Vec<BuiltinToolSpec> {
    let tools = handler_tools![
        DateAdd,
        DateBetween,
        JsonExtract,
        MathEvaluate,
        TableFromCsv,
        TextDiff,
        TextStatistics,
        WebJson,
    ];
    let to_tool = |(name, output, run)| {
        let handler: &ToolHandler = find_handler(name).ok()?;
        Some(BuiltinToolSpec {
            name: handler.name,
            title: handler.title,
            description: handler.description,
            scope: ToolScope::Both,
            side_effect: ToolSideEffect::ReadOnly,
            input: handler.parameters,
            output,
            run,
        })
    };
    tools.into_iter().filter_map(to_tool).collect()
}

/// Whether a built-in tool is offered where only these handlers are; `None` offers all.
pub(crate) fn is_offered(tool: &str, offered: Option<&[String]>) -> bool {
    !tool.starts_with(NAMESPACE)
        || offered.is_none_or(|names| names.iter().any(|name| name == tool))
}

/// What is wrong with the name of a handler to offer.
pub(crate) fn find_name_fault(name: &str) -> Option<String> {
    let names = || HANDLERS.iter().map(|handler| handler.name).collect::<Vec<_>>().join(", ");
    match find_handler(name) {
        Ok(_) => None,
        Err(error @ HandlerError::Name(_)) => Some(error.to_string()),
        Err(_) => Some(format!("one of {}", names())),
    }
}

fn results_of(name: &str) -> Value {
    result_schema(find_handler(name).map_or(&[], |handler| handler.results))
}

fn call(name: &'static str, context: ToolContext, inputs: Value) -> ToolFuture {
    Box::pin(async move {
        let handler = find_handler(name).map_err(|error| handler_fault(&error))?;
        let context = Arc::new(context);
        let may_fetch = handler.network == NetworkUse::Required && may_use_network(&context);
        let fetch = may_fetch.then(|| {
            Arc::new(CallerFetch { context: Arc::clone(&context) }) as Arc<dyn FetchDocument>
        });
        let trace = trace_of(&context).await?;
        let profile = context.identity.profile_id;
        handler
            .call(inputs, HandlerContext { profile, trace, fetch })
            .await
            .map_err(|error| handler_fault(&error))
    })
}

/// The trace of a call: that of the work that the token was issued for, else of its run, else of the newest run of its task,
/// else a new one.
async fn trace_of(context: &ToolContext) -> Result<TraceId, ToolFault> {
    let ToolContext { services, identity, call_scope, .. } = context;
    if let Some(trace) = identity.origin.trace {
        return Ok(trace);
    }
    if identity.run.is_none() && call_scope.task.is_none() {
        return Ok(TraceId::generate());
    }
    let found = services.runs.find_trace_of_work(identity.run, call_scope.task).await?;
    Ok(found.unwrap_or_else(TraceId::generate))
}

/// Whether rules and profile of the caller allow `web.fetch`.
pub(super) fn may_use_network(context: &ToolContext) -> bool {
    let ToolContext { snapshot, identity, .. } = context;
    check_known(snapshot, identity, WebFetch::NAME)
        .is_ok_and(|tool| is_visible(snapshot, identity, tool))
}

/// Fetches what the caller of a tool may reach.
struct CallerFetch {
    context: Arc<ToolContext>,
}

#[async_trait]
impl FetchDocument for CallerFetch {
    async fn fetch_json(&self, url: &str) -> Result<FetchedJson, FetchFailure> {
        let ToolContext { snapshot, identity, call_scope, .. } = &*self.context;
        let failed = |text: &str| FetchFailure::Failed(text.to_owned());
        let url = Url::parse(url).map_err(|_| failed("url is not a URL"))?;
        let openings = parse_openings(snapshot.setting(ALLOWED_NETWORKS_SETTING));
        let allow = |url: &Url| {
            hosts::check_host(snapshot, identity, *call_scope, url).map_err(|it| it.message)
        };
        let fetched = get(&NetworkReach::Public(openings), url, LIMITS, allow).await;
        let fetched = fetched.map_err(|error| match error {
            FetchError::Internal | FetchError::Host(_) => {
                FetchFailure::Forbidden(error.to_string())
            }
            FetchError::Url(_)
            | FetchError::Timeout
            | FetchError::Redirect(_)
            | FetchError::Unreachable
            | FetchError::Compressed => FetchFailure::Failed(error.to_string()),
        })?;
        if !fetched.status.is_success() {
            return Err(failed(&format!("the server answered {}", fetched.status)));
        }
        if fetched.is_truncated {
            return Err(failed("the document is too large"));
        }
        let document = serde_json::from_slice(&fetched.body)
            .map_err(|error| failed(&format!("the document is not JSON: {error}")))?;
        Ok(FetchedJson { url: fetched.url.to_string(), document })
    }
}

fn handler_fault(error: &HandlerError) -> ToolFault {
    let kind = match error {
        HandlerError::Name(_) | HandlerError::Inputs(_) => ErrorKind::InvalidArguments,
        HandlerError::Unknown(_) => ErrorKind::NotFound,
        HandlerError::NetworkNotAllowed | HandlerError::Fetch(FetchFailure::Forbidden(_)) => {
            ErrorKind::PolicyViolation
        }
        HandlerError::Fetch(FetchFailure::Failed(_)) => ErrorKind::FetchFailed,
    };
    ToolFault::new(kind, error.to_string())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_handler_of_the_table_is_a_built_in_tool() {
        let tools = all();
        let offered: BTreeSet<&str> = tools.iter().map(|tool| tool.name).collect();
        let table: BTreeSet<&str> = HANDLERS.iter().map(|handler| handler.name).collect();
        assert_eq!(offered, table);
    }

    #[test]
    fn only_the_configured_handlers_are_offered_and_other_tools_always() {
        let offered = [MathEvaluate::NAME.to_owned()];
        assert!(is_offered(MathEvaluate::NAME, Some(&offered)));
        assert!(!is_offered(DateAdd::NAME, Some(&offered)));
        assert!(is_offered(DateAdd::NAME, None));
        assert!(is_offered("db.task.get", Some(&[])));
    }
}
