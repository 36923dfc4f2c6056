//! Answering the question of a run.
//!
//! The answer is kept as an effect of the node that asked. Whoever goes on with the run enters that
//! node again with its effects replayed, and finds the answer among them.

use chrono::{DateTime, Utc};
use cynode_domain::question::{Answer, Question, QuestionKind, Reply};
use cynode_domain::run::RunVerb;
use cynode_store::{
    Asked, Effect, EventStore, NewEvent, QuestionStore, SteerStore, Store, TaskStore, Tx,
    WorkflowStore,
};
use cynode_wire::runs::{AnswerRun, RunDetail};
use serde_json::{Value, json};

use super::steer::{Steering, record, shown, take};
use super::{RunError, refuse_ended};
use crate::secrets::WithoutSecrets as _;
use crate::signals::Topic;
use crate::tasks::event;
use crate::workflow::settle::record_answer;
use crate::{Caller, StoreError};

const MAX_COMMENT_CHARS: usize = 1000;
const MAX_COMMANDS: usize = 200;
const MAX_COMMANDS_BYTES: usize = 64 * 1024;
const MAX_TEXT_BYTES: usize = 256 * 1024;
/// How many questions one look finds whose time is over.
const MAX_OVERDUE: u32 = 100;

/// Who answers, changes or runs something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Voice {
    /// A person.
    Person,
    /// An agent that acts for a person.
    Agent,
}

impl Voice {
    /// Who speaks for a caller, in words.
    pub(crate) fn of(self, caller: &Caller) -> String {
        match self {
            Self::Person => caller.handle.clone(),
            Self::Agent => format!("an agent of {}", caller.handle),
        }
    }
}

impl Steering {
    /// Answers the question of a run as the person who asks, which then goes on. The same answer again
    /// changes nothing.
    pub async fn answer(
        &self,
        caller: &Caller,
        run: &str,
        request: AnswerRun,
    ) -> Result<RunDetail, RunError> {
        self.answer_as(caller, run, request, Voice::Person).await
    }

    /// The same, as the person or as an agent that acts for them. An agent approves nothing.
    pub async fn answer_as(
        &self,
        caller: &Caller,
        run: &str,
        request: AnswerRun,
        voice: Voice,
    ) -> Result<RunDetail, RunError> {
        let faults = faults(&request);
        if !faults.is_empty() {
            return Err(RunError::Invalid(faults));
        }
        let (caller, run, now) = (caller.clone(), run.to_owned(), self.clock.now());
        let answered = self
            .store
            .write(move |tx| {
                Box::pin(async move { answer(tx, (&caller, now), &run, (request, voice)).await })
            })
            .await?;
        self.signals.send(Topic::Runs);
        Ok(answered)
    }
}

/// A reply as it is kept: commands and scripts must work as they were written.
fn cleaned(reply: Reply) -> Reply {
    match reply {
        Reply::Text { text } => Reply::Text { text: text.without_secrets() },
        other @ (Reply::Yes {}
        | Reply::No {}
        | Reply::Commands { .. }
        | Reply::Script { .. }
        | Reply::Retry {}) => other,
    }
}

async fn answer(
    tx: &mut Tx,
    (caller, now): (&Caller, DateTime<Utc>),
    run: &str,
    (request, voice): (AnswerRun, Voice),
) -> Result<RunDetail, RunError> {
    let taken = take(tx, caller, run).await?;
    refuse_ended(&taken.run, "answer")?;
    let asked = tx.question_last(taken.run.recorded.run.id).await?;
    let nothing = || RunError::Refused(format!("the run is {}: it asks nothing", taken.run.state));
    let asked = asked.ok_or_else(nothing)?;
    let answer = Answer {
        reply: Some(cleaned(request.reply)),
        comment: request.comment.without_secrets(),
        by: Some(voice.of(caller)),
    };
    match &asked.answer {
        Some(given) if *given == answer => return shown(tx, &taken).await,
        Some(_) => return Err(nothing()),
        None => {}
    }
    if voice == Voice::Agent && asked.question.kind == QuestionKind::Approval {
        return Err(RunError::Refused("a person must approve this, not an agent".to_owned()));
    }
    fits(&asked.question, &answer)?;
    keep(tx, &asked, &answer, (Some(caller), now)).await?;
    let act = (RunVerb::Answer, "run.answered", detail(&asked, &answer));
    record(tx, caller, &taken, act).await?;
    shown(tx, &taken).await
}

/// Keeps an answer for the run, and lets it go on.
async fn keep(
    tx: &mut Tx,
    asked: &Asked,
    answer: &Answer,
    (by, now): (Option<&Caller>, DateTime<Utc>),
) -> Result<(), StoreError> {
    let person = by.map(|caller| caller.user);
    tx.question_answer(asked, answer, person).await?;
    record_answer(tx, asked, answer, (person, now)).await?;
    let sequence = tx.checkpoint_position(asked.task).await? + 1;
    let effect = Effect { key: asked.key.clone(), answer: json!(answer) };
    tx.effect_record(asked.run, sequence, &effect).await?;
    tx.run_await(asked.run).await
}

/// Answers what nobody answered in time: the run goes on, and is told so. Gives their number.
pub(crate) async fn expire(store: &Store) -> Result<usize, StoreError> {
    store
        .write(move |tx| {
            Box::pin(async move {
                let overdue = tx.question_overdue(MAX_OVERDUE).await?;
                let mut expired = 0;
                for asked in &overdue {
                    match expire_one(tx, asked).await {
                        // What cannot be read is on record, and keeps no other question open.
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

async fn expire_one(tx: &mut Tx, seen: &Asked) -> Result<(), StoreError> {
    let Some(task) = tx.task_lock(seen.task).await? else {
        return Ok(());
    };
    // Somebody may have answered, or ended the task, before the lock was had.
    let asked = tx.question_last(seen.run).await?;
    let Some(asked) = asked.filter(|asked| asked.answered_at.is_none() && asked.key == seen.key)
    else {
        return Ok(());
    };
    let deadline = asked.answer_by.unwrap_or(asked.asked_at);
    keep(tx, &asked, &Answer::too_late(), (None, deadline)).await?;
    let data = json!({ "question": asked.question.text });
    let told = event(&task, "run.unanswered", data);
    tx.event_append(&NewEvent { run: Some(asked.run), ..told }).await
}

/// Refuses an answer in a form that the question does not take.
fn fits(question: &Question, answer: &Answer) -> Result<(), RunError> {
    let form = answer.reply.as_ref().map(Reply::form);
    if form.is_some_and(|form| question.accepts.contains(&form)) {
        return Ok(());
    }
    let forms: Vec<_> = question.accepts.iter().map(|form| form.as_str()).collect();
    let rule = format!("this question is answered with one of: {}", forms.join(", "));
    Err(RunError::Invalid(vec![rule]))
}

fn detail(asked: &Asked, answer: &Answer) -> Value {
    let reply = match &answer.reply {
        Some(Reply::Commands { lines }) => format!("commands: {}", lines.join("; ")),
        Some(Reply::Script { .. }) => "a script".to_owned(),
        Some(Reply::Text { text }) => text.clone(),
        Some(Reply::Yes {}) => "yes".to_owned(),
        Some(Reply::No {}) => "no".to_owned(),
        Some(Reply::Retry {}) => "retry".to_owned(),
        None => "nothing".to_owned(),
    };
    let reply: String = reply.chars().take(MAX_COMMENT_CHARS).collect();
    json!({ "question": asked.question.text, "reply": reply, "comment": answer.comment })
}

/// Everything that is wrong with an answer by itself, in words.
fn faults(request: &AnswerRun) -> Vec<String> {
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
        faults.push(format!("a comment has {MAX_COMMENT_CHARS} characters at most"));
    }
    if has_nul || comment.contains('\0') {
        faults.push("an answer must not hold NUL characters".to_owned());
    }
    faults
}
