//! `skills.create`

use cynode_domain::policy::ToolScope;
use cynode_wire::skills::CreateSkill;
use cynode_wire::tool_calls::{SkillsCreate, ToolCall as _};
use serde_json::Value;

use crate::tools::BuiltinToolSpec;
use crate::tools::ToolContext;
use crate::tools::ToolFault;
use crate::tools::ToolSideEffect;
use crate::tools::dispatch;
use crate::tools::schema::result_schema;
use crate::tools::to_json;

pub(crate) const TOOL: BuiltinToolSpec = BuiltinToolSpec {
    name: SkillsCreate::NAME,
    title: "Create a skill",
    description: "Stores instructions for agents. The text is scanned first: hidden text, prompt injection and requests for secrets are rejected with the passage.",
    scope: ToolScope::Pm,
    side_effect: ToolSideEffect::Mutating,
    input: SkillsCreate::input_schema,
    output,
    run: |context, arguments| dispatch(run, context, arguments),
};

fn output() -> Value {
    result_schema(&["id", "name", "scope", "version"])
}

async fn run(context: ToolContext, arguments: SkillsCreate) -> Result<Value, ToolFault> {
    // The context stage has checked project_id, or filled in the project of the task.
    let project_id = context.call_scope.project;
    let request = CreateSkill { project_id, ..arguments.skill };
    to_json(context.services.skills.create(&context.identity.caller, request).await?)
}
