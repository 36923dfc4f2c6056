//! `db.profile.get`

use cynode_domain::name_or_id::NameOrId;
use cynode_domain::policy::ToolScope;
use cynode_wire::tool_calls::{DbProfileGet, ToolCall as _};
use serde_json::Value;

use super::profile_list::project_of;
use crate::tools::BuiltinToolSpec;
use crate::tools::ToolContext;
use crate::tools::ToolFault;
use crate::tools::ToolSideEffect;
use crate::tools::dispatch;
use crate::tools::schema::result_schema;
use crate::tools::to_json;

pub(crate) const TOOL: BuiltinToolSpec = BuiltinToolSpec {
    name: DbProfileGet::NAME,
    title: "Get a profile",
    description: "What the agents of a project may use in a profile: tools, hosts, models, limits and memory. An agent reads its own.",
    scope: ToolScope::Pm,
    side_effect: ToolSideEffect::ReadOnly,
    input: DbProfileGet::input_schema,
    output,
    run: |context, arguments| dispatch(run, context, arguments),
};

fn output() -> Value {
    result_schema(&["id", "name", "spec"])
}

async fn run(context: ToolContext, arguments: DbProfileGet) -> Result<Value, ToolFault> {
    let own = context.identity.profile_id.filter(|_| arguments.project_id.is_none());
    let named = arguments.profile.map(NameOrId::from).or(own.map(NameOrId::Id));
    let project = project_of(&context);
    let profiles = &context.services.profiles;
    to_json(profiles.get(&context.identity.caller, &project, named.as_ref()).await?)
}
