//! Suspending a run until a person has answered its question.

use cynode_store::{NewEvent, NewRunQuestion, Tx};
use cynode_wire::run_suspension::SuspendForQuestion;
use cynode_wire::workflow::LeaseToken;
use serde_json::json;

use super::{WorkflowError, WorkflowService, check_lease};
use crate::tasks::task_event;
use cynode_resources::signals::Topic;

const MAX_WORD_BYTES: usize = 64;
const MAX_KEY_BYTES: usize = 200;
const MAX_TEXT_BYTES: usize = 64 * 1024;

impl WorkflowService {
    /// Persists a question and releases the lease, in one transaction: no runner claims the run until there is an
    /// answer.
    pub async fn ask(&self, request: SuspendForQuestion) -> Result<(), WorkflowError> {
        validate_question(&request)?;
        self.store
            .write(move |tx| Box::pin(async move { suspend_with_question(tx, request).await }))
            .await?;
        self.signals.send(Topic::Events);
        Ok(())
    }
}

fn validate_question(request: &SuspendForQuestion) -> Result<(), WorkflowError> {
    let fault = if !(1..=MAX_KEY_BYTES).contains(&request.key.len()) || request.key.contains('\0') {
        format!("the key of a question needs 1 to {MAX_KEY_BYTES} bytes")
    } else if !(1..=MAX_WORD_BYTES).contains(&request.node.len()) || request.node.contains('\0') {
        format!("the name of the asking node needs 1 to {MAX_WORD_BYTES} bytes")
    } else if json!(request.question).to_string().len() > MAX_TEXT_BYTES {
        format!("a question is longer than {MAX_TEXT_BYTES} bytes")
    } else {
        return Ok(());
    };
    Err(WorkflowError::Invalid(fault))
}

async fn suspend_with_question(
    tx: &mut Tx,
    request: SuspendForQuestion,
) -> Result<(), WorkflowError> {
    let SuspendForQuestion { lease, key, node, question } = request;
    let LeaseToken { task_id, lease_id, epoch } = lease;
    let task = tx.task_lock(task_id).await?.ok_or(WorkflowError::TaskNotFound(task_id))?;
    let lease = check_lease(tx, lease).await?;
    let timeout = task.spec.options.answer_within_s;
    let pending = NewRunQuestion {
        run: lease.run,
        task: task_id,
        key,
        asked_by: node.clone(),
        question: question.clone(),
        within_ms: timeout.map(|seconds| i64::from(seconds) * 1000),
    };
    let is_new = tx.question_insert(&pending).await?;
    tx.run_update_wait(lease.run).await?;
    tx.lease_release(task_id, lease_id, epoch).await?;
    if is_new {
        let data = json!({ "asked_by": node, "question": question });
        let event = task_event(&task, "run.asked", data);
        tx.event_append(&NewEvent { run: Some(lease.run), ..event }).await?;
    }
    Ok(())
}
