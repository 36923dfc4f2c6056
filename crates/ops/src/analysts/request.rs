//! The project manager asks for an analyst.

use cynode_domain::ids::JobId;
use cynode_store::{JobStore, RunStore, TaskStore};
use cynode_wire::handoff::{AnalystAnswer, Handoff, VerifyHandoff};

use super::evidence::gather;
use super::{AnalystRequestError, Analysts, Requested, Seat, has_room};
use crate::Caller;
use crate::handoff::{HandoffError, Subject};

impl Analysts {
    /// Sets an analyst to work on the result of a job that ended. Asked again while one looks, it
    /// changes nothing.
    pub async fn request(
        &self,
        caller: &Caller,
        job: JobId,
    ) -> Result<Requested, AnalystRequestError> {
        if !self.options.is_on {
            return Err(AnalystRequestError::Off);
        }
        let (subject, body) = self.about(caller, job).await?;
        if body.criteria.is_empty() {
            let reason = "the task has no criteria in prose: rules have judged it";
            return Err(AnalystRequestError::Nothing(reason));
        }
        {
            let mut seats = self.seats();
            if seats.get(&job) == Some(&Seat::Looking) {
                return Ok(Requested::Already);
            }
            if !has_room(&mut seats) && !seats.contains_key(&job) {
                return Err(AnalystRequestError::Full);
            }
            seats.insert(job, Seat::Looking);
        }
        let analysts = self.clone();
        self.background.spawn_until_ending("analyst", async move {
            let work = async { analysts.ended(job, analysts.work(&subject, body).await) };
            analysts.seated(job, Seat::Looking, work).await;
        });
        Ok(Requested::Anew)
    }

    /// What the analyst is to look at, if the caller may see it.
    async fn about(
        &self,
        caller: &Caller,
        job: JobId,
    ) -> Result<(Subject, VerifyHandoff), AnalystRequestError> {
        let caller = caller.clone();
        self.store
            .read(move |tx| {
                Box::pin(async move {
                    let job = tx.job_get(job).await?.ok_or(AnalystRequestError::NoJob)?;
                    let task = tx.task_get(job.asked.task).await?;
                    let task = task.filter(|task| caller.may_see(task.asked.created_by));
                    let task = task.ok_or(AnalystRequestError::NoJob)?;
                    if !job.status.is_terminal() {
                        let reason = "the job has not ended: there is no result yet";
                        return Err(AnalystRequestError::Nothing(reason));
                    }
                    let run = tx.run_get(job.asked.run).await?;
                    let subject = Subject {
                        project: Some(task.asked.project),
                        task: Some(task.asked.id),
                        run: Some(job.asked.run),
                        ..Subject::of(
                            crate::workflow::owner(tx, task.asked.created_by).await?,
                            run.map(|run| run.run.trace.to_string()).unwrap_or_default(),
                        )
                    };
                    Ok((subject, gather(tx, &task, job).await?))
                })
            })
            .await
    }

    /// Waits for room, and has one analyst work to its end.
    async fn work(&self, subject: &Subject, body: VerifyHandoff) -> Result<AnalystAnswer, String> {
        let Ok(_room) = self.room.acquire().await else {
            return Err("the process stops".to_owned());
        };
        let within = self.options.within;
        let words = |error: HandoffError| error.to_string();
        let mut open = self.handoffs.open_for_analyst(subject, within).await.map_err(words)?;
        let handoff = Handoff { context: open.context(), body };
        let handoff = serde_json::to_value(&handoff).map_err(|error| error.to_string())?;
        let answer = self.launcher.launch(handoff, within).await;
        let answer = answer.and_then(|answer| {
            serde_json::from_value::<AnalystAnswer>(answer).map_err(|error| error.to_string())
        });
        if let Ok(answer) = &answer {
            open.decided(answer.decisions.clone());
        }
        open.close().await;
        answer
    }

    fn ended(&self, job: JobId, outcome: Result<AnalystAnswer, String>) {
        let seat = match outcome {
            Ok(answer) => {
                let why = answer.decisions.last().map(|decided| format!(": {}", decided.reason));
                format!("the analyst did not judge it{}", why.unwrap_or_default())
            }
            Err(reason) => {
                tracing::warn!(job.id = %job, "an analyst failed: {reason}");
                format!("the analyst failed: {reason}")
            }
        };
        // What it wrote counts all the same; this is said of criteria that it left out.
        self.seats().insert(job, Seat::gave_up(seat));
        self.signals.send(crate::signals::Topic::Results);
    }
}
