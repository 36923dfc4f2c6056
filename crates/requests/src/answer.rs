//! A person's answer to the question of a request.

use cynode_domain::ids::TaskId;
use cynode_domain::name_or_id::NameOrId;
use cynode_domain::question::{Answer, Reply};
use cynode_domain::report::{ReviewFeedback, ReviewIssue, Verdict};
use cynode_domain::request::{AnsweredQuestion, QuestionSubject, RequestQuestion};
use cynode_domain::status::{TaskStatus, WorkUnitStatus as Status};
use cynode_domain::work::UnitKind;
use cynode_execution::tasks::{close_with_children, task_event};
use cynode_ops::work::persist_board;
use cynode_resources::Caller;
use cynode_resources::secrets::RedactSecrets as _;
use cynode_resources::signals::Topic;
use cynode_store::Tx;
use cynode_wire::requests::{AnswerRequest, RequestView};
use serde_json::json;

use crate::queries::find;
use crate::snapshot::RequestSnapshot;
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
        let body = validate(body)?;
        let (who, name, now) = (caller.clone(), request.to_owned(), self.clock.now());
        self.store
            .write(move |tx| {
                Box::pin(async move {
                    let task = find(tx, &who, &name).await?;
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
                    let answer = Answer {
                        reply: Some(body.reply),
                        comment: body.comment,
                        by: Some(who.handle.clone()),
                    };
                    let data = json!({ "subject": asked.subject, "answer": answer });
                    tx.event_append(&task_event(&task, "request.answered", data)).await?;
                    apply_answer(tx, &mut snapshot, asked, answer).await
                })
            })
            .await?;
        for topic in [Topic::Messages, Topic::Jobs, Topic::Policy] {
            self.signals.send(topic);
        }
        self.get(caller, request).await
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
    asked: RequestQuestion,
    answer: Answer,
) -> Result<(), RequestError> {
    let (subject, refusal) = (asked.subject.clone(), answer.refusal());
    let reply = answer.reply.clone();
    let by = answer.by.as_deref().unwrap_or("a person");
    let about = asked.question.about.iter();
    let accepted: Vec<String> = match &asked.subject {
        QuestionSubject::ReviewCap { .. } => {
            about.map(|issue| format!("{issue} (accepted by {by})")).collect()
        }
        QuestionSubject::Intake {}
        | QuestionSubject::Budget {}
        | QuestionSubject::Phase {}
        | QuestionSubject::UnitFailed { .. }
        | QuestionSubject::Review { .. } => vec![],
    };
    let request = &mut snapshot.request;
    request.asked_at = None;
    request.failures = 0;
    request.state.answers.push(AnsweredQuestion { asked, answer });
    if let Some(refusal) = refusal {
        tx.request_update(request).await?;
        close_with_children(tx, request.task, TaskStatus::Failed, &refusal).await?;
        return Ok(());
    }
    match subject {
        QuestionSubject::Intake {} | QuestionSubject::Phase {} => {}
        // A person grants the same amount again, on top of what was spent; calls without a price cannot be limited.
        QuestionSubject::Budget {} => {
            let sums = tx.inference_sums_of(&snapshot.task_ids()).await?;
            let settings = &mut snapshot.request.settings;
            let granted = settings.budget_micros.filter(|_| sums.unpriced == 0);
            settings.budget_micros =
                granted.map(|budget| sums.cost_micro_usd.saturating_add(budget));
        }
        QuestionSubject::UnitFailed { unit } => {
            request.state.unit_failures.remove(&unit);
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

/// `yes` approves the unit, a text sends the implementation back with it, `retry` has it reviewed again.
fn apply_review(
    snapshot: &mut RequestSnapshot,
    unit: &str,
    reply: Option<Reply>,
) -> Result<(), RequestError> {
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
