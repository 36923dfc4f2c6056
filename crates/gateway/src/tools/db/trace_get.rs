//! `db.trace.get`

use cynode_domain::ids::{TaskId, TraceId};
use cynode_domain::policy::{ErrorKind, Principal, ToolScope};
use cynode_wire::tool_calls::{DbTraceGet, ToolCall as _};
use cynode_wire::traces::{TraceQuery, TraceSpanKind, TraceView};
use serde_json::Value;

use crate::pipeline::context::is_profile_reachable;
use crate::tools::BuiltinToolSpec;
use crate::tools::ToolContext;
use crate::tools::ToolFault;
use crate::tools::ToolSideEffect;
use crate::tools::dispatch;
use crate::tools::schema::result_schema;
use crate::tools::to_json;

/// Spans of one kind by default: a model reads them.
const DEFAULT_SPANS: u32 = 100;

pub(crate) const TOOL: BuiltinToolSpec = BuiltinToolSpec {
    name: DbTraceGet::NAME,
    title: "Get a trace",
    description: "One request from its start to its end, as a tree of spans with times and cost: tasks, runs, transitions, jobs, \
                  steps of agents, tool calls, model calls and decisions. Says what failed; holds no prompts and results.",
    scope: ToolScope::Pm,
    side_effect: ToolSideEffect::ReadOnly,
    input: DbTraceGet::input_schema,
    output,
    run: |context, arguments| dispatch(run, context, arguments),
};

fn output() -> Value {
    result_schema(&["trace_id", "started_at", "usage", "spans"])
}

async fn run(context: ToolContext, arguments: DbTraceGet) -> Result<Value, ToolFault> {
    let DbTraceGet { trace_id, limit } = arguments;
    let query = TraceQuery { limit: Some(limit.unwrap_or(DEFAULT_SPANS)) };
    let trace = context.services.runs.get_trace(&context.identity.caller, trace_id, query).await?;
    let is_reachable = match (context.identity.agent, context.identity.task) {
        (Principal::User, _) => true,
        (Principal::Agent(_), Some(task)) => has_task(&trace, task),
        (Principal::Agent(_), None) => is_of_profile(&context, trace_id).await?,
    };
    if is_reachable {
        return to_json(trace);
    }
    // In the words for a trace that does not exist.
    Err(ToolFault::new(ErrorKind::NotFound, format!("there is no trace \"{trace_id}\"")))
}

/// Whether every task and conversation of the trace is of the project and the profile of the agent.
async fn is_of_profile(context: &ToolContext, trace: TraceId) -> Result<bool, ToolFault> {
    let identity = &context.identity;
    let found = context.services.runs.get_trace_profiles(&identity.caller, trace).await?;
    // A trace without a project is that of a request which failed early: it is of no project.
    let is_of_project = identity.project.is_none() || !found.is_empty();
    Ok(is_of_project
        && found.iter().all(|it| {
            identity.project.is_none_or(|own| own == it.project)
                && is_profile_reachable(identity, it.project, it.profile)
        }))
}

/// Whether a task is a part of the trace: an agent of a task reads the traces of that task.
fn has_task(trace: &TraceView, task: TaskId) -> bool {
    let ids = [TraceSpanKind::Task, TraceSpanKind::Request];
    let ids = ids.map(|kind| format!("{}:{task}", kind.as_str()));
    trace.spans.iter().any(|span| ids.contains(&span.id))
}
