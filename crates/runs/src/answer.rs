//! Answering the question of a run.
//!
//! The answer is journalled as an effect of the node that asked. The next runner enters that node again, replays its
//! effects and finds the answer among them.

use chrono::{DateTime, Utc};
use cynode_domain::ids::RunId;
use cynode_domain::name_or_id::NameOrId;
use cynode_domain::question::{Answer, Question, QuestionKind, Reply};
use cynode_domain::run::RunVerb;
use cynode_domain::text::truncate_chars;
use cynode_store::{Effect, NewEvent, RunQuestion, Store, Tx};
use cynode_wire::runs::{AnswerRun, MAX_COMMENT_CHARS, RunDetail};
use cynode_wire::tasks::{MAX_COMMANDS, MAX_COMMANDS_BYTES};
use serde_json::{Value, json};

use super::operations::{RunOperations, load_after, lock_run, record_act};
use super::{RunError, reject_ended};
use cynode_execution::tasks::task_event;
use cynode_execution::workflow::unjudged_criteria::record_criteria_answer;
use cynode_resources::secrets::RedactSecrets as _;
use cynode_resources::signals::Topic;
use cynode_resources::{ActorKind, Caller, StoreError};

const MAX_TEXT_BYTES: usize = 256 * 1024;
/// How many overdue questions one pass expires.
const MAX_OVERDUE: u32 = 100;

impl RunOperations {
    /// Answers the question of a run as the calling person; the run then continues. Repeating the same answer has no
    /// effect.
    pub async fn answer(
        &self,
        caller: &Caller,
        run: &NameOrId<RunId>,
        request: AnswerRun,
    ) -> Result<RunDetail, RunError> {
        self.answer_as(caller, run, request, ActorKind::Person).await
    }

    /// Same as [`Self::answer`], as a person or as an agent. An agent may not answer approvals.
    pub async fn answer_as(
        &self,
        caller: &Caller,
        run: &NameOrId<RunId>,
        request: AnswerRun,
        actor_kind: ActorKind,
    ) -> Result<RunDetail, RunError> {
        let faults = validate_answer(&request);
        if !faults.is_empty() {
            return Err(RunError::Invalid(faults));
        }
        let (caller, run, now) = (caller.clone(), run.to_owned(), self.clock.now());
        let answered = self
            .store
            .write(move |tx| {
                Box::pin(async move {
                    answer_question(tx, &caller, now, &run, request, actor_kind).await
                })
            })
            .await?;
        self.signals.send(Topic::Runs);
        Ok(answered)
    }
}

/// Redacts secrets in a text reply. Commands and scripts are kept verbatim, because they must work.
fn redact_reply(reply: Reply) -> Reply {
    match reply {
        Reply::Text { text } => Reply::Text { text: text.redact_secrets() },
        other @ (Reply::Yes {}
        | Reply::No {}
        | Reply::Commands { .. }
        | Reply::Script { .. }
        | Reply::Retry {}) => other,
    }
}

async fn answer_question(
    tx: &mut Tx,
    caller: &Caller,
    now: DateTime<Utc>,
    run: &NameOrId<RunId>,
    request: AnswerRun,
    actor_kind: ActorKind,
) -> Result<RunDetail, RunError> {
    let locked = lock_run(tx, caller, run).await?;
    reject_ended(&locked.run, "answered")?;
    let pending = tx.question_last(locked.run.record.run.id).await?;
    let nothing =
        || RunError::Rejected(format!("the run is {}: it has no open question", locked.run.state));
    let pending = pending.ok_or_else(nothing)?;
    let answer = Answer {
        reply: Some(redact_reply(request.reply)),
        comment: request.comment.redact_secrets(),
        by: Some(actor_kind.display_name(caller)),
    };
    match &pending.answer {
        Some(given) if *given == answer => return load_after(tx, &locked).await,
        Some(_) => return Err(nothing()),
        None => {}
    }
    if actor_kind == ActorKind::Agent && pending.question.kind == QuestionKind::Approval {
        return Err(RunError::Rejected("a person must approve this, not an agent".to_owned()));
    }
    require_accepted_form(&pending.question, &answer)?;
    persist_answer(tx, &pending, &answer, Some(caller), now).await?;
    let detail = answer_detail(&pending, &answer);
    record_act(tx, caller, &locked, RunVerb::Answer, "run.answered", detail).await?;
    load_after(tx, &locked).await
}

/// Persists an answer and makes the run claimable.
async fn persist_answer(
    tx: &mut Tx,
    pending: &RunQuestion,
    answer: &Answer,
    by: Option<&Caller>,
    now: DateTime<Utc>,
) -> Result<(), StoreError> {
    let person = by.map(|caller| caller.user);
    tx.question_answer(pending, answer, person).await?;
    record_criteria_answer(tx, pending, answer, person, now).await?;
    let sequence = tx.checkpoint_position(pending.task).await? + 1;
    let effect = Effect { key: pending.key.clone(), answer: json!(answer) };
    tx.effect_record(pending.run, sequence, &effect).await?;
    tx.run_update_wait(pending.run).await
}

/// Expires overdue questions: each run continues with the answer "too late". Returns their number.
pub(crate) async fn expire_questions(store: &Store) -> Result<usize, StoreError> {
    store
        .write(move |tx| {
            Box::pin(async move {
                let overdue = tx.question_list_overdue(MAX_OVERDUE).await?;
                let mut expired = 0;
                for pending in &overdue {
                    match expire_question(tx, pending).await {
                        // An unreadable row is quarantined and does not block the other questions.
                        Err(error) if error.is_unreadable() => {}
                        outcome => {
                            outcome?;
                            expired += 1;
                        }
                    }
                }
                Ok(expired)
            })
        })
        .await
}

async fn expire_question(tx: &mut Tx, seen: &RunQuestion) -> Result<(), StoreError> {
    let Some(task) = tx.task_lock(seen.task).await? else {
        return Ok(());
    };
    // Read again under the lock: the question may have been answered, or the task closed.
    let pending = tx.question_last(seen.run).await?;
    let Some(pending) =
        pending.filter(|pending| pending.answered_at.is_none() && pending.key == seen.key)
    else {
        return Ok(());
    };
    let deadline = pending.answer_by.unwrap_or(pending.asked_at);
    persist_answer(tx, &pending, &Answer::too_late(), None, deadline).await?;
    let data = json!({ "question": pending.question.text });
    let event = task_event(&task, "run.unanswered", data);
    tx.event_append(&NewEvent { run: Some(pending.run), ..event }).await
}

/// Rejects a form of answer that the question does not accept.
fn require_accepted_form(question: &Question, answer: &Answer) -> Result<(), RunError> {
    let form = answer.reply.as_ref().map(Reply::form);
    if form.is_some_and(|form| question.accepts.contains(&form)) {
        return Ok(());
    }
    let forms: Vec<_> = question.accepts.iter().map(|form| form.as_str()).collect();
    let rule = format!("this question is answered with one of: {}", forms.join(", "));
    Err(RunError::Invalid(vec![rule]))
}

fn answer_detail(pending: &RunQuestion, answer: &Answer) -> Value {
    let reply = match &answer.reply {
        Some(Reply::Commands { lines }) => format!("commands: {}", lines.join("; ")),
        Some(Reply::Script { .. }) => "a script".to_owned(),
        Some(Reply::Text { text }) => text.clone(),
        Some(Reply::Yes {}) => "yes".to_owned(),
        Some(Reply::No {}) => "no".to_owned(),
        Some(Reply::Retry {}) => "retry".to_owned(),
        None => "nothing".to_owned(),
    };
    let reply = truncate_chars(&reply, MAX_COMMENT_CHARS);
    json!({ "question": pending.question.text, "reply": reply, "comment": answer.comment })
}

/// Returns every validation error of an answer.
fn validate_answer(request: &AnswerRun) -> Vec<String> {
    let mut faults = vec![];
    let has_nul = match &request.reply {
        Reply::Commands { lines } => {
            if lines.is_empty() || lines.len() > MAX_COMMANDS {
                faults.push(format!("lines needs 1 to {MAX_COMMANDS} entries"));
            }
            if lines.iter().any(|line| line.trim().is_empty()) {
                faults.push("a command is empty".to_owned());
            }
            if lines.iter().map(String::len).sum::<usize>() > MAX_COMMANDS_BYTES {
                faults.push(format!("commands are longer than {MAX_COMMANDS_BYTES} bytes in all"));
            }
            lines.iter().any(|line| line.contains('\0'))
        }
        Reply::Script { text } | Reply::Text { text } => {
            if text.trim().is_empty() || text.len() > MAX_TEXT_BYTES {
                faults.push(format!("text needs 1 to {MAX_TEXT_BYTES} bytes"));
            }
            text.contains('\0')
        }
        Reply::Yes {} | Reply::No {} | Reply::Retry {} => false,
    };
    let comment = request.comment.as_deref().unwrap_or_default();
    if comment.chars().count() > MAX_COMMENT_CHARS {
        faults.push(format!("comment may not exceed {MAX_COMMENT_CHARS} characters"));
    }
    if has_nul || comment.contains('\0') {
        faults.push("an answer must not contain NUL characters".to_owned());
    }
    faults
}
