//! What a run is told before it begins: its task, and how hard it is to try.
//!
//! Preferences are resolved here, because runners see no database. What cannot be taken as it is does
//! not stop the run: it is noted in the policy, which is kept with the run's state.

use std::collections::BTreeMap;

use cynode_domain::ids::TaskId;
use cynode_domain::preference::Resolved;
use cynode_domain::run_policy::{PREFIX, RunPolicy};
use cynode_store::LeaseStore;
use cynode_wire::workflow::TaskContextView;
use serde_json::Value;

use super::{Workflow, WorkflowError, task_of};
use crate::preferences;

/// What a run keeps of preferences in all, in bytes: they are part of its state.
const MAX_KEPT_BYTES: usize = 16 * 1024;

impl Workflow {
    /// What `load_task_context` reads.
    pub async fn context(&self, id: TaskId) -> Result<TaskContextView, WorkflowError> {
        let read = self
            .store
            .read(move |tx| {
                Box::pin(async move {
                    let asked = task_of(tx, id).await?.asked;
                    let resolved = preferences::for_task(tx, &asked).await?;
                    Ok::<_, WorkflowError>((asked, resolved))
                })
            })
            .await;
        let (asked, resolved) = match read {
            Err(WorkflowError::Store(error)) if error.is_unreadable() => {
                // Its runner is to stop at once: nothing it does makes the task readable.
                let fence = self.store.write(move |tx| {
                    Box::pin(async move { Ok::<_, WorkflowError>(tx.lease_fence(id).await?) })
                });
                fence.await?;
                return Err(error.into());
            }
            read => read?,
        };
        let mut policy = policy(&resolved);
        let options = asked.options;
        if let Some(own) = options.max_attempts {
            policy.step_attempts = own;
        }
        let preferences = kept(resolved, &mut policy.notes);
        Ok(TaskContextView {
            task_id: asked.id,
            task_name: asked.name,
            input_mode: asked.input_mode,
            prompt: asked.prompt,
            commands: asked.commands,
            acceptance_criteria: asked.acceptance_criteria,
            expected_outputs: options.expected_outputs,
            step_criteria: options.step_criteria,
            limits: options.limits,
            retry_interrupted: options.retry_interrupted,
            approve_plan: options.approve_plan,
            max_attempts: policy.step_attempts,
            policy,
            preferences,
        })
    }
}

fn policy(resolved: &Resolved) -> RunPolicy {
    let effective = resolved.effective.iter().map(|(key, winner)| (key, &winner.value));
    let mut policy = RunPolicy::from_preferences(effective);
    let skipped = resolved.skipped.iter().filter(|skipped| skipped.key.starts_with(PREFIX));
    policy.notes.extend(skipped.map(|skipped| {
        format!("{} of the {} was skipped: {}", skipped.key, skipped.scope.kind(), skipped.reason)
    }));
    policy
}

/// The preferences that a run keeps, in the order of their keys.
fn kept(resolved: Resolved, notes: &mut Vec<String>) -> BTreeMap<String, Value> {
    let (mut kept, mut bytes) = (BTreeMap::new(), 0);
    for (key, winner) in resolved.effective {
        let length = key.len() + winner.value.to_string().len();
        if bytes + length > MAX_KEPT_BYTES {
            notes.push(format!("{key} is not kept with the run: all together are too long"));
            continue;
        }
        bytes += length;
        kept.insert(key, winner.value);
    }
    kept
}
