//! A person's answer to the question of a request.

use chrono::{DateTime, Utc};
use cynode_domain::ids::TaskId;
use cynode_domain::name_or_id::NameOrId;
use cynode_domain::question::{Answer, QuestionKind, Reply};
use cynode_domain::report::{ReviewFeedback, ReviewIssue, Verdict};
use cynode_domain::request::{
    AnswerAuthor, AnsweredQuestion, BudgetGrant, QuestionSubject, RequestQuestion,
};
use cynode_domain::status::{TaskStatus, WorkUnitStatus as Status};
use cynode_domain::work::UnitKind;
use cynode_execution::tasks::{close_with_children, task_event};
use cynode_ops::messages::answer_unit_message;
use cynode_ops::work::persist_board;
use cynode_resources::ActorKind;
use cynode_resources::Caller;
use cynode_resources::secrets::RedactSecrets as _;
use cynode_resources::signals::Topic;
use cynode_store::{Tx, WorkRequest};
use cynode_wire::requests::{AnswerRequest, RequestView};
use serde_json::json;

use crate::queries::{find, find_shared};
use crate::remember::remember_answer;
use crate::snapshot::{INTEGRATE, MERGE, REVISE, RequestSnapshot};
use crate::steps::review::implementation_index;
use crate::{RequestError, RequestService};

const MAX_TEXT_BYTES: usize = 16 * 1024;

impl RequestService {
    /// Answers the open question of a request, which goes on or ends.
    pub async fn answer(
        &self,
        caller: &Caller,
        request: &NameOrId<TaskId>,
        body: AnswerRequest,
    ) -> Result<RequestView, RequestError> {
        self.answer_as(caller, request, body, ActorKind::Person).await
    }

    /// Answers for a person, or as an agent, which approves nothing.
    pub async fn answer_as(
        &self,
        caller: &Caller,
        request: &NameOrId<TaskId>,
        body: AnswerRequest,
        actor: ActorKind,
    ) -> Result<RequestView, RequestError> {
        let body = validate(body)?;
        let (who, name, now) = (caller.clone(), request.to_owned(), self.clock.now());
        self.store
            .write(move |tx| {
                Box::pin(async move {
                    // What is shared with a person is not shared with their agents.
                    let task = match actor {
                        ActorKind::Person => find_shared(tx, &who, &name).await?,
                        ActorKind::Agent => find(tx, &who, &name).await?,
                    };
                    // The task before the request, as everywhere.
                    tx.task_lock(task.spec.id).await?;
                    tx.request_lock(task.spec.id).await?;
                    let snapshot = RequestSnapshot::load(tx, task.spec.id, now).await?;
                    let mut snapshot =
                        snapshot.ok_or_else(|| RequestError::NotFound(name.excerpt()))?;
                    if task.status.is_terminal() {
                        return Err(RequestError::NoQuestion);
                    }
                    let asked = snapshot.request.question.take().ok_or(RequestError::NoQuestion)?;
                    check_form(&asked, &body.reply)?;
                    if actor == ActorKind::Agent
                        && asked.question.kind != QuestionKind::Clarification
                    {
                        return Err(RequestError::PeopleOnly);
                    }
                    let author = author_of(actor);
                    let answer = Answer {
                        reply: Some(body.reply),
                        comment: body.comment,
                        by: Some(actor.display_name(&who)),
                    };
                    let data = json!({
                        "subject": asked.subject, "answer": answer, "author": author,
                    });
                    tx.event_append(&task_event(&task, "request.answered", data)).await?;
                    let answered = AnsweredQuestion { asked, answer, author };
                    apply_answer(tx, &mut snapshot, answered, now).await
                })
            })
            .await?;
        for topic in [Topic::Messages, Topic::Jobs, Topic::Policy] {
            self.signals.send(topic);
        }
        self.get(caller, request).await
    }
}

fn author_of(actor: ActorKind) -> AnswerAuthor {
    match actor {
        ActorKind::Person => AnswerAuthor::Person,
        ActorKind::Agent => AnswerAuthor::Agent,
    }
}

fn validate(body: AnswerRequest) -> Result<AnswerRequest, RequestError> {
    let mut reply = body.reply;
    let mut length = 0;
    if let Reply::Text { text } = &mut reply {
        *text = std::mem::take(text).redact_secrets();
        length = text.len();
    }
    let length = length.max(body.comment.as_ref().map_or(0, String::len));
    if length > MAX_TEXT_BYTES {
        let fault = format!("the answer is longer than {MAX_TEXT_BYTES} bytes");
        return Err(RequestError::Invalid(vec![fault]));
    }
    if matches!(&reply, Reply::Text { text } if text.trim().is_empty()) {
        return Err(RequestError::Invalid(vec!["the answer is empty".to_owned()]));
    }
    Ok(AnswerRequest { reply, comment: body.comment.redact_secrets() })
}

fn check_form(asked: &RequestQuestion, reply: &Reply) -> Result<(), RequestError> {
    if asked.question.accepts.contains(&reply.form()) {
        return Ok(());
    }
    let accepted: Vec<_> = asked.question.accepts.iter().map(|form| form.as_str()).collect();
    Err(RequestError::WrongReply { accepted: accepted.join(", ") })
}

/// Applies an answer and wakes the request.
async fn apply_answer(
    tx: &mut Tx,
    snapshot: &mut RequestSnapshot,
    answered: AnsweredQuestion,
    now: DateTime<Utc>,
) -> Result<(), RequestError> {
    let AnsweredQuestion { asked, answer, .. } = &answered;
    let (subject, refusal) = (asked.subject.clone(), answer.refusal());
    let reply = answer.reply.clone();
    let by = answer.by.clone().unwrap_or_else(|| "a person".to_owned());
    let about_lines = asked.question.about.clone();
    let about = asked.question.about.iter();
    let accepted: Vec<String> = match &asked.subject {
        QuestionSubject::ReviewCap { .. } => {
            about.map(|issue| format!("{issue} (accepted by {by})")).collect()
        }
        QuestionSubject::Intake {}
        | QuestionSubject::Budget { .. }
        | QuestionSubject::Phase {}
        | QuestionSubject::UnitFailed { .. }
        | QuestionSubject::AgentMessage { .. }
        | QuestionSubject::Review { .. } => vec![],
    };
    let number = snapshot.request.state.answers.len();
    remember_answer(tx, &snapshot.task, &answered, number, now).await?;
    let request = &mut snapshot.request;
    request.asked_at = None;
    request.failures = 0;
    request.state.answers.push(answered);
    if let Some(refusal) = refusal {
        tx.request_update(request).await?;
        close_with_children(tx, request.task, TaskStatus::Failed, &refusal).await?;
        return Ok(());
    }
    match subject {
        QuestionSubject::Intake {} | QuestionSubject::Phase {} => {}
        // A person grants the same amount again, on top of what was spent; calls without a price cannot be limited.
        QuestionSubject::Budget { is_unpriced } => {
            let spent = tx.request_cost(snapshot.request.task).await?;
            grant_budget(&mut snapshot.request, spent, is_unpriced, now);
        }
        QuestionSubject::UnitFailed { unit } => {
            request.state.unit_failures.remove(&unit);
            if unit == INTEGRATE {
                request_correction(request, reply.as_ref(), &about_lines);
            }
        }
        QuestionSubject::AgentMessage { message_id, .. } => {
            if let Some(Reply::Text { text }) = reply {
                answer_unit_message(tx, message_id, text, &by, now).await?;
            }
        }
        QuestionSubject::Review { unit } | QuestionSubject::ReviewCap { unit } => {
            if reply == Some(Reply::Yes {}) {
                snapshot.request.state.notes.extend(accepted);
            }
            apply_review(snapshot, &unit, reply)?;
        }
    }
    if let Some(board) = &snapshot.board {
        persist_board(tx, &snapshot.task, board).await?;
    }
    tx.request_update(&snapshot.request).await?;
    tx.request_wake(snapshot.request.task).await?;
    Ok(())
}

/// Has an agent correct the merged result, if the person said so: `yes`, or a text that helps it.
fn request_correction(request: &mut WorkRequest, reply: Option<&Reply>, output: &[String]) {
    let hint = match reply {
        Some(Reply::Yes {}) => None,
        Some(Reply::Text { text }) => Some(text.as_str()),
        _ => return,
    };
    let lines: Vec<&str> = output.iter().map(String::as_str).chain(hint).collect();
    request.state.fix.feedback = Some(lines.join("\n"));
    request.state.fix.rounds += 1;
}

/// Raises the budget by what was submitted, on top of what was granted or spent: a single call may need more than one grant. The part for reviews stays what it is.
fn grant_budget(request: &mut WorkRequest, spent: i64, is_unpriced: bool, now: DateTime<Utc>) {
    let Some(budget) = request.settings.budget_micros else { return };
    let known = request.state.grant.as_ref().map(|grant| grant.step_micros);
    let step_micros = known.unwrap_or(budget);
    request.state.grant = Some(BudgetGrant { step_micros, granted_at: now });
    if is_unpriced {
        request.settings.budget_micros = None;
        request.settings.review_reserve_micros = None;
    } else {
        request.settings.review_reserve_micros = Some(request.settings.review_reserve());
        request.settings.budget_micros = Some(budget.max(spent).saturating_add(step_micros));
    }
}

/// `yes` approves the unit, a text sends the implementation back with it, `retry` has it reviewed again.
fn apply_review(
    snapshot: &mut RequestSnapshot,
    unit: &str,
    reply: Option<Reply>,
) -> Result<(), RequestError> {
    // Steps are no units of the plan: the driver concludes the attempt by the answer.
    if matches!(unit, MERGE | REVISE) {
        return Ok(());
    }
    let Some(board) = &mut snapshot.board else { return Ok(()) };
    let index = board.find_unit(unit)?;
    match reply {
        Some(Reply::Yes {}) => {
            if board.unit(index).status == Status::InProgress {
                board.transition(index, Status::Submitted)?;
            }
            board.approve(index)?;
        }
        Some(Reply::Text { text }) => {
            let target = match board.unit(index).kind {
                UnitKind::Review | UnitKind::Test => implementation_index(board, index),
                UnitKind::Spec | UnitKind::Design | UnitKind::Implementation => Some(index),
            };
            let issue = ReviewIssue {
                description: text,
                file_location: String::new(),
                how_to_fix: String::new(),
            };
            let feedback = ReviewFeedback {
                verdict: Verdict::ChangesRequested,
                critical_issues: vec![issue],
                major_issues: vec![],
                minor_issues: vec![],
                summary: "a person requests changes".to_owned(),
            };
            if board.unit(index).status == Status::InProgress {
                board.transition(index, Status::Submitted)?;
            }
            if let Some(target) = target {
                // A person may ask for more revisions than the limit grants.
                let status = board.unit(target).status;
                if matches!(status, Status::RevisionRequested | Status::InProgress) {
                    board.edit_unit(target).revision_feedback = Some(json!(feedback));
                } else {
                    board.revise_for_person(target, json!(feedback))?;
                }
            }
        }
        _ => {
            snapshot.request.state.unit_failures.remove(unit);
        }
    }
    Ok(())
}
