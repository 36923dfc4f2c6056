//! `db.request.answer`

use cynode_domain::policy::{ErrorKind, ToolScope};
use cynode_domain::question::{Reply, ReplyForm};
use cynode_wire::requests::AnswerRequest;
use cynode_wire::tool_calls::{DbRequestAnswer, ToolCall as _};
use serde_json::Value;

use crate::tools::BuiltinToolSpec;
use crate::tools::ToolContext;
use crate::tools::ToolFault;
use crate::tools::ToolSideEffect;
use crate::tools::dispatch;
use crate::tools::schema::result_schema;
use crate::tools::to_json;

pub(crate) const TOOL: BuiltinToolSpec = BuiltinToolSpec {
    name: DbRequestAnswer::NAME,
    title: "Answer the question of a request",
    description: "Answers the open question of a request, which goes on or ends. An agent answers clarifications only; approvals, reviews and budgets are decided by people.",
    scope: ToolScope::Pm,
    side_effect: ToolSideEffect::Mutating,
    input: DbRequestAnswer::input_schema,
    output,
    run: |context, arguments| dispatch(run, context, arguments),
};

fn output() -> Value {
    result_schema(&["id", "name", "status", "phase"])
}

async fn run(context: ToolContext, arguments: DbRequestAnswer) -> Result<Value, ToolFault> {
    let DbRequestAnswer { task_id, reply, text, comment } = arguments;
    if context.identity.task.is_some() {
        let why = "an agent of a task answers no questions of requests";
        return Err(ToolFault::new(ErrorKind::Forbidden, why));
    }
    let reply = match (reply, text) {
        (ReplyForm::Yes, None) => Reply::Yes {},
        (ReplyForm::No, None) => Reply::No {},
        (ReplyForm::Retry, None) => Reply::Retry {},
        (ReplyForm::Text, Some(text)) => Reply::Text { text },
        _ => {
            let why = "reply is yes, no or retry without text, or text with text";
            return Err(ToolFault::new(ErrorKind::InvalidArguments, why));
        }
    };
    let (request, body) = (task_id.into(), AnswerRequest { reply, comment });
    let actor = context.calling_user();
    let requests = context.requests()?;
    to_json(requests.answer_as(actor.caller, &request, body, actor.kind).await?)
}
