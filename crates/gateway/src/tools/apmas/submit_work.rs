//! `apmas_submit_work`

use cynode_domain::policy::ToolScope;
use cynode_wire::tool_calls::ToolCall as _;
use cynode_wire::work::SubmitWork;
use serde_json::Value;

use crate::tools::BuiltinToolSpec;
use crate::tools::ToolContext;
use crate::tools::ToolFault;
use crate::tools::ToolSideEffect;
use crate::tools::dispatch;
use crate::tools::schema::result_schema;
use crate::tools::to_json;

pub(crate) const TOOL: BuiltinToolSpec = BuiltinToolSpec {
    name: SubmitWork::NAME,
    title: "Submit work",
    description: "Submits a work unit of the agent's role: the file that shows it and a summary. It then waits for the project manager's verdict; the agent may continue with other units.",
    scope: ToolScope::Sandbox,
    side_effect: ToolSideEffect::Mutating,
    input: SubmitWork::input_schema,
    output,
    run: |context, arguments| dispatch(run, context, arguments),
};

fn output() -> Value {
    result_schema(&["work_unit", "repeated", "instructions"])
}

async fn run(context: ToolContext, request: SubmitWork) -> Result<Value, ToolFault> {
    to_json(context.services.work.submit_unit(&context.identity, request).await?)
}
