//! Pausing and resuming a run.
//!
//! A run without a live lease is paused at once. A leased run continues to the end of its node: the response to that
//! transition tells the runner to release the run. If the runner fails before that, the run is not granted again.

use cynode_domain::ids::RunId;
use cynode_domain::name_or_id::NameOrId;
use cynode_domain::run::RunVerb;
use cynode_wire::runs::RunDetail;
use serde_json::json;

use super::operations::{RunOperations, load_after, lock_run, record_act};
use super::{RunError, reject_ended};
use cynode_resources::Caller;
use cynode_resources::signals::Topic;

impl RunOperations {
    /// Pauses a run; has no effect on a paused run.
    pub async fn pause(
        &self,
        caller: &Caller,
        run: &NameOrId<RunId>,
    ) -> Result<RunDetail, RunError> {
        let (caller, run) = (caller.clone(), run.to_owned());
        let paused = self
            .store
            .write(move |tx| {
                Box::pin(async move {
                    let locked = lock_run(tx, &caller, &run).await?;
                    reject_ended(&locked.run, "paused")?;
                    if tx.task_pause(locked.task.spec.id).await? {
                        tx.run_update_wait(locked.run.record.run.id).await?;
                        record_act(tx, &caller, &locked, RunVerb::Pause, "run.paused", json!({}))
                            .await?;
                    }
                    load_after(tx, &locked).await
                })
            })
            .await?;
        self.signals.send(Topic::Events);
        Ok(paused)
    }

    /// Resumes a paused run; has no effect on other runs.
    pub async fn resume(
        &self,
        caller: &Caller,
        run: &NameOrId<RunId>,
    ) -> Result<RunDetail, RunError> {
        let (caller, run) = (caller.clone(), run.to_owned());
        let resumed = self
            .store
            .write(move |tx| {
                Box::pin(async move {
                    let locked = lock_run(tx, &caller, &run).await?;
                    reject_ended(&locked.run, "resumed")?;
                    if tx.task_resume(locked.task.spec.id).await? {
                        tx.run_update_wait(locked.run.record.run.id).await?;
                        record_act(tx, &caller, &locked, RunVerb::Resume, "run.resumed", json!({}))
                            .await?;
                    }
                    load_after(tx, &locked).await
                })
            })
            .await?;
        self.signals.send(Topic::Runs);
        Ok(resumed)
    }
}
