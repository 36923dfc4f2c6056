//! `node.lease.create`

use cynode_domain::policy::ToolScope;
use cynode_lease::LeasePublicKey;
use cynode_ops::capability_leases::NewLease;
use cynode_wire::tool_calls::{NodeLeaseCreate, ToolCall as _};
use serde_json::Value;

use crate::lease_policy::SnapshotPolicy;
use crate::tools::BuiltinToolSpec;
use crate::tools::ToolContext;
use crate::tools::ToolFault;
use crate::tools::ToolSideEffect;
use crate::tools::dispatch;
use crate::tools::schema::result_schema;
use crate::tools::to_json;

pub(crate) const TOOL: BuiltinToolSpec = BuiltinToolSpec {
    name: NodeLeaseCreate::NAME,
    title: "Get a capability lease",
    description: "A signed permission for an agent on the host of a worker node: with it as bearer token, the node's own MCP server runs sandbox.exec, sandbox.get_file, sandbox.put_file and sandbox.stream_logs in an open sandbox, also while the orchestrator cannot be reached. It ends after a few minutes, and earlier if the sandbox, the task or a rule changes.",
    scope: ToolScope::Pm,
    side_effect: ToolSideEffect::Mutating,
    input: NodeLeaseCreate::input_schema,
    output,
    run: |context, arguments| dispatch(run, context, arguments),
};

fn output() -> Value {
    result_schema(&["id", "node_slug", "tools", "expires_at", "token"])
}

async fn run(context: ToolContext, arguments: NodeLeaseCreate) -> Result<Value, ToolFault> {
    let NodeLeaseCreate { sandbox, tools, expires_in_s, holder_key } = arguments;
    let holder = holder_key.as_deref().map(LeasePublicKey::parse).transpose();
    let holder = holder.map_err(|error| ToolFault::invalid(format!("holder_key: {error}")))?;
    let request = NewLease {
        task: sandbox.task_id,
        sandbox: sandbox.job_id,
        tools,
        lifetime_s: expires_in_s,
        holder,
    };
    let policy = SnapshotPolicy(context.snapshot.clone());
    to_json(context.services.leases.issue(&context.identity, &policy, request).await?)
}
