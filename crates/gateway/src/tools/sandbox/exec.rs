//! `sandbox.exec`

use cynode_domain::policy::ToolScope;
use cynode_ops::sandboxes::SandboxCommand;
use cynode_wire::tool_calls::{SandboxExec, SandboxIds, ToolCall as _};
use serde_json::Value;

use crate::tools::BuiltinToolSpec;
use crate::tools::ToolContext;
use crate::tools::ToolFault;
use crate::tools::ToolSideEffect;
use crate::tools::dispatch;
use crate::tools::schema::result_schema;
use crate::tools::to_json;

pub(crate) const TOOL: BuiltinToolSpec = BuiltinToolSpec {
    name: SandboxExec::NAME,
    title: "Run a command in a sandbox",
    description: "Runs a command in the workspace of a task, as a job in addition to the run's steps. Returns the exit code and the tails of both streams. If the status is `running` after wait_ms, call sandbox.stream_logs.",
    scope: ToolScope::Pm,
    side_effect: ToolSideEffect::Mutating,
    input: SandboxExec::input_schema,
    output,
    run: |context, arguments| dispatch(run, context, arguments),
};

fn output() -> Value {
    result_schema(&["exec_id", "status", "exit_code", "stdout", "stderr", "truncated"])
}

async fn run(context: ToolContext, arguments: SandboxExec) -> Result<Value, ToolFault> {
    let SandboxExec { sandbox, command, argv, timeout_s, wait_ms, idempotency_key: key } =
        arguments;
    let SandboxIds { task_id: task, job_id: sandbox_job } = sandbox;
    let request =
        SandboxCommand { task, sandbox: sandbox_job, command, argv, timeout_s, wait_ms, key };
    to_json(context.services.sandboxes.run_command(context.calling_user(), request).await?)
}
