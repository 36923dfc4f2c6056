//! `db.run.answer`

use cynode_domain::policy::ToolScope;
use cynode_domain::question::Reply;
use cynode_resources::ActorKind;
use cynode_wire::runs::AnswerRun;
use cynode_wire::tool_calls::{DbRunAnswer, ToolCall as _};
use serde_json::Value;

use crate::tools::BuiltinToolSpec;
use crate::tools::ToolContext;
use crate::tools::ToolFault;
use crate::tools::ToolSideEffect;
use crate::tools::dispatch;
use crate::tools::schema::result_schema;
use crate::tools::to_json;

pub(crate) const TOOL: BuiltinToolSpec = BuiltinToolSpec {
    name: DbRunAnswer::NAME,
    title: "Answer the question of a run",
    description: "Answers a run whose request could not be planned: with the commands to run, or by declining it. Approvals are given by people only.",
    scope: ToolScope::Pm,
    side_effect: ToolSideEffect::Mutating,
    input: DbRunAnswer::input_schema,
    output,
    run: |context, arguments| dispatch(run, context, arguments),
};

fn output() -> Value {
    result_schema(&["id", "task_id", "state"])
}

async fn run(context: ToolContext, arguments: DbRunAnswer) -> Result<Value, ToolFault> {
    let DbRunAnswer { run_id, commands, comment, .. } = arguments;
    let reply =
        if commands.is_empty() { Reply::No {} } else { Reply::Commands { lines: commands } };
    let (run, body) = (run_id.into(), AnswerRun { reply, comment });
    let steering = &context.services.steering;
    to_json(steering.answer_as(&context.identity.caller, &run, body, ActorKind::Agent).await?)
}
