//! Pausing a run, and letting it go on.
//!
//! A run that nobody drives is paused at once. One that a runner drives goes on to the end of its
//! node: the reply to that transition tells the runner to put the run down. Whatever happens to the
//! runner before that, nobody is granted the run any more.

use cynode_domain::run::RunVerb;
use cynode_store::SteerStore;
use cynode_wire::runs::RunDetail;
use serde_json::json;

use super::steer::{Steering, record, shown, take};
use super::{RunError, refuse_ended};
use crate::Caller;
use crate::signals::Topic;

impl Steering {
    /// Pauses a run; pausing it again changes nothing.
    pub async fn pause(&self, caller: &Caller, run: &str) -> Result<RunDetail, RunError> {
        let (caller, run) = (caller.clone(), run.to_owned());
        let paused = self
            .store
            .write(move |tx| {
                Box::pin(async move {
                    let taken = take(tx, &caller, &run).await?;
                    refuse_ended(&taken.run, "pause")?;
                    if tx.task_pause(taken.task.asked.id).await? {
                        tx.run_await(taken.run.recorded.run.id).await?;
                        let act = (RunVerb::Pause, "run.paused", json!({}));
                        record(tx, &caller, &taken, act).await?;
                    }
                    shown(tx, &taken).await
                })
            })
            .await?;
        self.signals.send(Topic::Events);
        Ok(paused)
    }

    /// Lets a paused run go on; one that is not paused stays as it is.
    pub async fn resume(&self, caller: &Caller, run: &str) -> Result<RunDetail, RunError> {
        let (caller, run) = (caller.clone(), run.to_owned());
        let resumed = self
            .store
            .write(move |tx| {
                Box::pin(async move {
                    let taken = take(tx, &caller, &run).await?;
                    refuse_ended(&taken.run, "resume")?;
                    if tx.task_resume(taken.task.asked.id).await? {
                        tx.run_await(taken.run.recorded.run.id).await?;
                        let act = (RunVerb::Resume, "run.resumed", json!({}));
                        record(tx, &caller, &taken, act).await?;
                    }
                    shown(tx, &taken).await
                })
            })
            .await?;
        self.signals.send(Topic::Runs);
        Ok(resumed)
    }
}
