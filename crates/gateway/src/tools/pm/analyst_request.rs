//! `pm.analyst.request`

use cynode_analysts::AnalystRequestOutcome;
use cynode_domain::policy::{ErrorKind, ToolScope};
use cynode_wire::tool_calls::{PmAnalystRequest, ToolCall as _};
use serde_json::{Value, json};

use crate::tools::BuiltinToolSpec;
use crate::tools::ToolContext;
use crate::tools::ToolFault;
use crate::tools::ToolSideEffect;
use crate::tools::dispatch;
use crate::tools::schema::result_schema;

pub(crate) const TOOL: BuiltinToolSpec = BuiltinToolSpec {
    name: PmAnalystRequest::NAME,
    title: "Request an analyst",
    description: "Starts an independent analyst that verifies the result of a finished job against the prose criteria of its task. Its findings appear in db.finding.list. A repeated request while it works has no effect.",
    scope: ToolScope::Pm,
    side_effect: ToolSideEffect::Mutating,
    input: PmAnalystRequest::input_schema,
    output,
    run: |context, arguments| dispatch(run, context, arguments),
};

fn output() -> Value {
    result_schema(&["requested"])
}

async fn run(context: ToolContext, arguments: PmAnalystRequest) -> Result<Value, ToolFault> {
    let PmAnalystRequest { job_id, .. } = arguments;
    let Some(analysts) = &context.services.analysts else {
        return Err(ToolFault::new(
            ErrorKind::NotImplemented,
            "no analysts are configured on this installation",
        ));
    };
    let requested = analysts.request(&context.identity.caller, job_id).await?;
    let is_looking = requested == AnalystRequestOutcome::AlreadyRunning;
    Ok(json!({ "requested": true, "is_looking": is_looking, "job_id": job_id }))
}
