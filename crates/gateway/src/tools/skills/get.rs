//! `skills.get`

use cynode_domain::policy::ToolScope;
use cynode_wire::tool_calls::{SkillsGet, ToolCall as _};
use serde_json::Value;

use super::load_visible_skill;
use crate::tools::BuiltinToolSpec;
use crate::tools::ToolContext;
use crate::tools::ToolFault;
use crate::tools::ToolSideEffect;
use crate::tools::dispatch;
use crate::tools::schema::result_schema;
use crate::tools::to_json;

pub(crate) const TOOL: BuiltinToolSpec = BuiltinToolSpec {
    name: SkillsGet::NAME,
    title: "Read a skill",
    description: "A skill with its text.",
    scope: ToolScope::Both,
    side_effect: ToolSideEffect::ReadOnly,
    input: SkillsGet::input_schema,
    output,
    run: |context, arguments| dispatch(run, context, arguments),
};

fn output() -> Value {
    result_schema(&["id", "name", "scope", "content"])
}

async fn run(context: ToolContext, arguments: SkillsGet) -> Result<Value, ToolFault> {
    let SkillsGet { skill_id, .. } = arguments;
    to_json(load_visible_skill(&context, skill_id).await?)
}
