//! `git.repo.validate`

use cynode_domain::policy::ToolScope;
use cynode_wire::tool_calls::{GitRepoValidate, ToolCall as _};
use serde_json::Value;

use crate::tools::BuiltinToolSpec;
use crate::tools::ToolContext;
use crate::tools::ToolFault;
use crate::tools::ToolSideEffect;
use crate::tools::dispatch;
use crate::tools::schema::result_schema;
use crate::tools::to_json;

pub(crate) const TOOL: BuiltinToolSpec = BuiltinToolSpec {
    name: GitRepoValidate::NAME,
    title: "Validate the address of a repository",
    description: "Whether an address is one of a repository, whether access rules allow to clone it and to push to it, and whether it is the repository of the project or has a forge there. Nothing is connected to: the repository may still be missing or need a credential.",
    scope: ToolScope::Pm,
    side_effect: ToolSideEffect::ReadOnly,
    input: GitRepoValidate::input_schema,
    output,
    run: |context, arguments| dispatch(run, context, arguments),
};

fn output() -> Value {
    result_schema(&["is_valid", "may_clone", "may_push", "is_of_project", "has_forge"])
}

async fn run(context: ToolContext, arguments: GitRepoValidate) -> Result<Value, ToolFault> {
    let (projects, caller) = (&context.services.projects, &context.identity.caller);
    // The context stage has checked project_id; a bound caller asks for its own project.
    let project = context.call_scope.project;
    to_json(projects.validate_repository(caller, project, arguments.repository).await?)
}
