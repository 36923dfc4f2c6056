//! Requests by rule: work on a repository is submitted, and its questions are listed and answered.

use cynode_domain::git::TaskRepository;
use cynode_domain::question::{QuestionKind, ReplyForm};
use cynode_wire::page::{Page, PageQuery};
use cynode_wire::requests::RequestView;
use cynode_wire::tasks::TaskView;
use cynode_wire::tool_calls::{DbRequestAnswer, DbRequestCreate, DbRequestGet, DbRequestList};
use serde_json::{Value, json};

use super::render;
use super::reported_tools::ReportedTools;
use crate::HandoffAgentError;
use crate::context::untrusted::inline;

/// The most requests that are searched for questions.
const WAITING_REQUESTS: u32 = 50;

/// Splits `REPOSITORY: TEXT`.
pub(super) fn parse_submission(rest: &str) -> Option<(String, String)> {
    let (repository, text) = rest.trim().split_once(char::is_whitespace)?;
    let repository = repository.strip_suffix(':')?.trim_matches('`');
    let text = text.trim();
    (!repository.is_empty() && !text.is_empty()).then(|| (repository.to_owned(), text.to_owned()))
}

pub(super) async fn submit(
    tools: &ReportedTools<'_>,
    repository: &str,
    text: &str,
) -> Result<String, HandoffAgentError> {
    let Ok(repository) = serde_json::from_value::<TaskRepository>(json!({ "url": repository }))
    else {
        let shown = render::inline_code(repository);
        return Ok(format!("I did nothing: {shown} is not the address of a repository.\n"));
    };
    let call = DbRequestCreate {
        project_id: None,
        profile: None,
        text: text.to_owned(),
        repository: Some(repository),
        name: None,
        kind: None,
        scope: None,
        deliver: None,
        dry_run: false,
        idempotency_key: None,
    };
    let made: RequestView = match tools.call(&call, "submitted work").await {
        // The gateway allowed the call; the message of the rejected submission says what to do instead.
        Err(HandoffAgentError::Tool { message, .. }) => {
            return Ok(format!(
                "I submitted nothing: {}.\n",
                inline(message.trim_end_matches('.'))
            ));
        }
        made => made?,
    };
    let name = render::inline_code(&made.name);
    Ok(format!(
        "I submitted {name} (id {}). Say `what is waiting for me?` to see its questions.\n",
        made.id
    ))
}

/// One line for each request that waits for a person.
pub(super) async fn waiting_lines(
    tools: &ReportedTools<'_>,
) -> Result<Vec<String>, HandoffAgentError> {
    let page = PageQuery { limit: Some(WAITING_REQUESTS), cursor: None };
    let call = DbRequestList { waiting: true, page, ..DbRequestList::default() };
    let found: Page<RequestView> = tools.read(&call).await?;
    let line = |request: &RequestView| {
        let question = &request.question.as_ref()?.question;
        let (name, text) = (render::inline_code(&request.name), inline(&question.text));
        Some(match question.kind {
            QuestionKind::Approval => {
                format!("{name} needs your decision: {text} (`cynork pm show {}`)", request.id)
            }
            QuestionKind::Clarification => format!("{name} asks: {text}"),
        })
    };
    Ok(found.items.iter().filter_map(line).collect())
}

/// Answers the question of a request; `None` declines it.
pub(super) async fn answer(
    tools: &ReportedTools<'_>,
    task: &TaskView,
    text: Option<String>,
) -> Result<String, HandoffAgentError> {
    let name = render::inline_code(&task.task_name);
    let found: RequestView = tools.read(&DbRequestGet { task_id: task.id }).await?;
    let Some(asked) = found.question else {
        return Ok(format!("I did nothing: {name} has no open question.\n"));
    };
    if asked.question.kind == QuestionKind::Approval {
        let shown = inline(&asked.question.text);
        return Ok(format!(
            "I did nothing. Only you can decide this: {shown} (`cynork pm answer {}`)\n",
            task.id
        ));
    }
    let is_declined = text.is_none();
    let call = DbRequestAnswer {
        task_id: task.id,
        reply: if is_declined { ReplyForm::No } else { ReplyForm::Text },
        text,
        comment: None,
    };
    let summary = if is_declined { "declined" } else { "answered" };
    let _: Value = tools.call(&call, summary).await?;
    Ok(format!("I {summary} the question of {name}.\n"))
}
