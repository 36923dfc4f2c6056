//! `git.pr.create`

use cynode_domain::policy::ToolScope;
use cynode_wire::forges::OpenPullRequest;
use cynode_wire::tool_calls::{GitPrCreate, ToolCall as _};
use serde_json::Value;

use crate::tools::BuiltinToolSpec;
use crate::tools::ToolContext;
use crate::tools::ToolFault;
use crate::tools::ToolSideEffect;
use crate::tools::dispatch;
use crate::tools::schema::result_schema;
use crate::tools::to_json;

pub(crate) const TOOL: BuiltinToolSpec = BuiltinToolSpec {
    name: GitPrCreate::NAME,
    title: "Open a pull request for a task's branch",
    description: "Opens a draft pull request for the branch of a task that was pushed, or returns the open one of that branch. Needs a forge of the project for the repository and an access rule for forge.pull_request.open. People decide what becomes of it.",
    scope: ToolScope::Pm,
    side_effect: ToolSideEffect::Mutating,
    input: GitPrCreate::input_schema,
    output,
    run: |context, arguments| dispatch(run, context, arguments),
};

fn output() -> Value {
    result_schema(&["number", "url", "is_new", "is_draft"])
}

async fn run(context: ToolContext, arguments: GitPrCreate) -> Result<Value, ToolFault> {
    let GitPrCreate { task_id, title, body } = arguments;
    let request = OpenPullRequest { title, body };
    let caller = &context.identity.caller;
    to_json(context.requests()?.open_pull_request(caller, task_id, request).await?)
}
