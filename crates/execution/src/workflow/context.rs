//! The task context of a run: its task, preferences and run policy.
//!
//! Preferences are resolved here, because runners have no database access. An invalid preference does not stop the
//! run: it is noted in the policy, which is part of the run's state.

use std::collections::BTreeMap;

use cynode_domain::ids::TaskId;
use cynode_domain::preference::EffectivePreferences;
use cynode_domain::run_policy::{PREFIX, RunPolicy};
use cynode_wire::workflow::TaskContextView;
use serde_json::Value;

use super::{WorkflowError, WorkflowService, load_task};
use cynode_resources::preferences;

/// Total size in bytes of the preferences in the state of a run.
const MAX_PREFERENCES_BYTES: usize = 16 * 1024;

impl WorkflowService {
    /// Returns the context that the node `load_task_context` reads.
    pub async fn load_context(&self, id: TaskId) -> Result<TaskContextView, WorkflowError> {
        let read = self
            .store
            .read(move |tx| {
                Box::pin(async move {
                    let request = load_task(tx, id).await?.spec;
                    let resolved = preferences::effective_for_task(tx, &request).await?;
                    Ok::<_, WorkflowError>((request, resolved))
                })
            })
            .await;
        let (request, resolved) = match read {
            Err(WorkflowError::Store(error)) if error.is_unreadable() => {
                // Fence the runner: no retry makes the task readable.
                let fence = self.store.write(move |tx| {
                    Box::pin(async move { Ok::<_, WorkflowError>(tx.lease_fence(id).await?) })
                });
                fence.await?;
                return Err(error.into());
            }
            read => read?,
        };
        let mut policy = resolve_policy(&resolved);
        let options = request.options;
        if let Some(own) = options.max_attempts {
            policy.step_attempts = own;
        }
        let preferences = select_preferences(resolved, &mut policy.notes);
        Ok(TaskContextView {
            task_id: request.id,
            task_name: request.name,
            input_mode: request.input_mode,
            prompt: request.prompt,
            commands: request.commands,
            acceptance_criteria: request.acceptance_criteria,
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

fn resolve_policy(resolved: &EffectivePreferences) -> RunPolicy {
    let effective = resolved.effective.iter().map(|(key, winner)| (key, &winner.value));
    let mut policy = RunPolicy::from_preferences(effective);
    let skipped = resolved.skipped.iter().filter(|skipped| skipped.key.starts_with(PREFIX));
    policy.notes.extend(skipped.map(|skipped| {
        format!("{} of the {} was skipped: {}", skipped.key, skipped.scope.kind(), skipped.reason)
    }));
    policy
}

/// Selects the preferences that fit into the state of a run, in key order.
fn select_preferences(
    resolved: EffectivePreferences,
    notes: &mut Vec<String>,
) -> BTreeMap<String, Value> {
    let (mut kept, mut bytes) = (BTreeMap::new(), 0);
    for (key, winner) in resolved.effective {
        let length = key.len() + winner.value.to_string().len();
        if bytes + length > MAX_PREFERENCES_BYTES {
            notes.push(format!(
                "{key} is not kept with the run: its preferences exceed {MAX_PREFERENCES_BYTES} bytes"
            ));
            continue;
        }
        bytes += length;
        kept.insert(key, winner.value);
    }
    kept
}
