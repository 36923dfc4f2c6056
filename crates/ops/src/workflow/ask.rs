//! Putting a run down until a person has answered its question.

use cynode_store::{
    EventStore, LeaseStore, NewEvent, NewQuestion, QuestionStore, SteerStore, TaskStore, Tx,
};
use cynode_wire::steering::AskPerson;
use cynode_wire::workflow::Hold;
use serde_json::json;

use super::{Workflow, WorkflowError, check};
use crate::signals::Topic;
use crate::tasks::event;

const MAX_WORD_BYTES: usize = 64;
const MAX_KEY_BYTES: usize = 200;
const MAX_TEXT_BYTES: usize = 64 * 1024;

impl Workflow {
    /// Keeps a question and gives the task up, in one transaction: nobody drives the run until there
    /// is an answer.
    pub async fn ask(&self, request: AskPerson) -> Result<(), WorkflowError> {
        check_size(&request)?;
        self.store.write(move |tx| Box::pin(async move { ask(tx, request).await })).await?;
        self.signals.send(Topic::Events);
        Ok(())
    }
}

fn check_size(request: &AskPerson) -> Result<(), WorkflowError> {
    let fault = if !(1..=MAX_KEY_BYTES).contains(&request.key.len()) || request.key.contains('\0') {
        format!("the key of a question needs 1 to {MAX_KEY_BYTES} bytes")
    } else if !(1..=MAX_WORD_BYTES).contains(&request.node.len()) || request.node.contains('\0') {
        format!("the node that asks needs 1 to {MAX_WORD_BYTES} bytes")
    } else if json!(request.question).to_string().len() > MAX_TEXT_BYTES {
        format!("a question is longer than {MAX_TEXT_BYTES} bytes")
    } else {
        return Ok(());
    };
    Err(WorkflowError::Invalid(fault))
}

async fn ask(tx: &mut Tx, request: AskPerson) -> Result<(), WorkflowError> {
    let AskPerson { hold, key, node, question } = request;
    let Hold { task_id, lease_id, epoch } = hold;
    let task = tx.task_lock(task_id).await?.ok_or(WorkflowError::NoTask(task_id))?;
    let lease = check(tx, hold).await?;
    let within = task.asked.options.answer_within_s;
    let asked = NewQuestion {
        run: lease.run,
        task: task_id,
        key,
        asked_by: node.clone(),
        question: question.clone(),
        within_ms: within.map(|seconds| i64::from(seconds) * 1000),
    };
    let is_new = tx.question_ask(&asked).await?;
    tx.run_await(lease.run).await?;
    tx.lease_release(task_id, lease_id, epoch).await?;
    if is_new {
        let data = json!({ "asked_by": node, "question": question });
        let told = event(&task, "run.asked", data);
        tx.event_append(&NewEvent { run: Some(lease.run), ..told }).await?;
    }
    Ok(())
}
