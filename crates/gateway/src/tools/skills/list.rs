//! `skills.list`

use cynode_domain::policy::ToolScope;
use cynode_wire::tool_calls::{SkillsList, ToolCall as _};
use serde_json::Value;

use crate::tools::BuiltinToolSpec;
use crate::tools::ToolContext;
use crate::tools::ToolFault;
use crate::tools::ToolSideEffect;
use crate::tools::dispatch;
use crate::tools::schema::result_schema;
use crate::tools::to_json;

pub(crate) const TOOL: BuiltinToolSpec = BuiltinToolSpec {
    name: SkillsList::NAME,
    title: "List skills",
    description: "Skills that the user can read, newest first, without their texts.",
    scope: ToolScope::Both,
    side_effect: ToolSideEffect::ReadOnly,
    input: SkillsList::input_schema,
    output,
    run: |context, arguments| dispatch(run, context, arguments),
};

fn output() -> Value {
    result_schema(&["items"])
}

async fn run(context: ToolContext, arguments: SkillsList) -> Result<Value, ToolFault> {
    let (skills, caller) = (&context.services.skills, &context.identity.caller);
    let mut page =
        skills.list_in_project(caller, &arguments.query, context.identity.project).await?;
    for skill in &mut page.items {
        // Agents see that a skill is in quarantine, but not the text that the scan rejected.
        skill.quarantine = skill.quarantine.take().map(|_| vec![]);
    }
    to_json(page)
}
