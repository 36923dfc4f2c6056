//! `db.preference.effective`

use cynode_domain::policy::ToolScope;
use cynode_resources::preferences::PreferenceSubject;
use cynode_wire::tool_calls::{DbPreferenceEffective, ToolCall as _};
use serde_json::Value;

use crate::tools::BuiltinToolSpec;
use crate::tools::ToolContext;
use crate::tools::ToolFault;
use crate::tools::ToolSideEffect;
use crate::tools::dispatch;
use crate::tools::schema::result_schema;
use crate::tools::to_json;

pub(crate) const TOOL: BuiltinToolSpec = BuiltinToolSpec {
    name: DbPreferenceEffective::NAME,
    title: "Get effective preferences",
    description: "The effective preferences of a task (or a project, or the user): for each key the value of the strongest scope, task over project over user over group over system. Entries whose value does not match their type are returned as skipped.",
    scope: ToolScope::Pm,
    side_effect: ToolSideEffect::ReadOnly,
    input: DbPreferenceEffective::input_schema,
    output,
    run: |context, arguments| dispatch(run, context, arguments),
};

fn output() -> Value {
    result_schema(&["effective", "skipped"])
}

async fn run(context: ToolContext, arguments: DbPreferenceEffective) -> Result<Value, ToolFault> {
    // The context stage has checked the ids, and filled in those that the token is bound to.
    let subject = match (context.call_scope.task, context.call_scope.project) {
        (Some(task), _) => PreferenceSubject::Task(task),
        (None, Some(project)) => PreferenceSubject::Project(project),
        (None, None) => PreferenceSubject::Caller,
    };
    let preferences = &context.services.preferences;
    to_json(
        preferences.effective(&context.identity.caller, subject, arguments.include_sources).await?,
    )
}
