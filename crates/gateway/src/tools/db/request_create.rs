//! `db.request.create`

use cynode_domain::policy::{ErrorKind, Principal, ToolScope};
use cynode_domain::request::RequestOrigin;
use cynode_wire::tool_calls::{DbRequestCreate, ToolCall as _};
use serde_json::Value;

use crate::tools::BuiltinToolSpec;
use crate::tools::ToolContext;
use crate::tools::ToolFault;
use crate::tools::ToolSideEffect;
use crate::tools::dispatch;
use crate::tools::schema::result_schema;
use crate::tools::to_json;

pub(crate) const TOOL: BuiltinToolSpec = BuiltinToolSpec {
    name: DbRequestCreate::NAME,
    title: "Submit work on a repository",
    description: "Submits work in the words of a person: it is classified, planned, carried out by agents, reviewed, tested and delivered as a branch. For one command or script use db.task.create. Not for agents that work on a task.",
    scope: ToolScope::Pm,
    side_effect: ToolSideEffect::Mutating,
    input: DbRequestCreate::input_schema,
    output,
    run: |context, arguments| dispatch(run, context, arguments),
};

fn output() -> Value {
    result_schema(&["id", "name", "status", "phase"])
}

async fn run(context: ToolContext, arguments: DbRequestCreate) -> Result<Value, ToolFault> {
    let identity = &context.identity;
    // A request starts agents. Were they, or the project manager on their behalf, to submit further ones, nothing would end it.
    if identity.task.is_some() || identity.origin.schedule_run.is_some() {
        let why =
            "requests are submitted for people: an agent of a task or of a schedule submits none";
        return Err(ToolFault::new(ErrorKind::Forbidden, why));
    }
    let origin = match (&identity.agent, identity.origin.thread) {
        (Principal::Agent(_), Some(_)) => RequestOrigin::Chat,
        (Principal::Agent(_), None) | (Principal::User, _) => RequestOrigin::Tool,
    };
    // The context stage has checked project_id; a bound caller submits in its own project.
    let profile = context.profile_for_work(arguments.profile.clone()).await?;
    let arguments = DbRequestCreate { profile, ..arguments };
    let submission = arguments.into_submission(context.call_scope.project, origin);
    to_json(context.requests()?.submit(&identity.caller, submission).await?)
}
