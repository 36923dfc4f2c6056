//! `db.finding.create`

use cynode_domain::policy::ToolScope;
use cynode_execution::findings::Source;
use cynode_wire::tool_calls::{DbFindingCreate, ToolCall as _};
use serde_json::Value;

use crate::tools::BuiltinToolSpec;
use crate::tools::ToolContext;
use crate::tools::ToolFault;
use crate::tools::ToolSideEffect;
use crate::tools::dispatch;
use crate::tools::schema::result_schema;
use crate::tools::to_json;

pub(crate) const TOOL: BuiltinToolSpec = BuiltinToolSpec {
    name: DbFindingCreate::NAME,
    title: "Create a finding",
    description: "Stores a finding of a verification: status, severity, message, location and suggestion. Findings are immutable. An analyst may only write about the job that it was started to verify.",
    scope: ToolScope::Pm,
    side_effect: ToolSideEffect::Mutating,
    input: DbFindingCreate::input_schema,
    output,
    run: |context, arguments| dispatch(run, context, arguments),
};

fn output() -> Value {
    result_schema(&["id", "task_id", "status", "severity", "message"])
}

async fn run(context: ToolContext, arguments: DbFindingCreate) -> Result<Value, ToolFault> {
    let DbFindingCreate { task_id, finding } = arguments;
    let identity = &context.identity;
    let source = Source {
        author: identity.agent.into(),
        token: Some(identity.token_id),
        verification: identity.origin.verification,
    };
    let task = task_id.into();
    to_json(context.services.findings.create(&identity.caller, source, &task, finding).await?)
}
