//! The project manager asks for an analyst.

use cynode_domain::ids::JobId;
use cynode_domain::verification::VerificationKey;
use cynode_store::{EventStore, JobStore, NewEvent, TaskStore, WorkflowStore};
use cynode_wire::handoff::{AnalystAnswer, Handoff, VerifyHandoff};
use serde_json::json;

use super::evidence::gather;
use super::{AnalystRequestError, Analysts, LaunchError, Requested, Seat, has_room};
use crate::handoff::Subject;
use crate::secrets::WithoutSecrets as _;
use crate::signals::Topic;
use crate::workflow::settle::round;
use crate::{Caller, tasks};

/// How often an analyst is started in all for one verification, if it dies.
const ATTEMPTS: u32 = 3;

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
            let reason = "there are no criteria in prose for the result: rules have judged it";
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
                    // The newest run verifies; the job may be one that it took over.
                    let run = tx.run_of_task(task.asked.id).await?;
                    let run = run.ok_or(AnalystRequestError::NoJob)?;
                    let sequence = tx.checkpoint_position(task.asked.id).await? + 1;
                    let round = round(tx, run.id, sequence).await?;
                    let subject = Subject {
                        project: Some(task.asked.project),
                        task: Some(task.asked.id),
                        run: Some(run.id),
                        verification: Some(VerificationKey {
                            run: run.id,
                            job: job.asked.id,
                            round,
                        }),
                        ..Subject::of(
                            crate::workflow::owner(tx, task.asked.created_by).await?,
                            run.trace.to_string(),
                        )
                    };
                    Ok((subject, gather(tx, &task, job).await?))
                })
            })
            .await
    }

    /// Waits for room, and has one analyst work to its end. One that dies is started again.
    async fn work(&self, subject: &Subject, body: VerifyHandoff) -> Result<AnalystAnswer, String> {
        let Ok(_room) = self.room.acquire().await else {
            return Err("the process stops".to_owned());
        };
        let mut attempt = 1;
        loop {
            let reason = match self.attempt(subject, &body).await {
                Ok(answer) => return Ok(answer),
                Err(LaunchError::TimedOut(reason)) => return Err(reason),
                Err(LaunchError::Died(reason)) => reason,
            };
            self.record_death(subject, &body, (attempt, &reason)).await;
            if attempt == ATTEMPTS {
                return Err(format!("{ATTEMPTS} attempts, the last one: {reason}"));
            }
            attempt += 1;
        }
    }

    /// Has one analyst work to its end, with a token of its own.
    async fn attempt(
        &self,
        subject: &Subject,
        body: &VerifyHandoff,
    ) -> Result<AnalystAnswer, LaunchError> {
        let within = self.options.within;
        let unreadable = |error: serde_json::Error| {
            LaunchError::Died(format!("its answer cannot be read: {error}"))
        };
        let opened = self.handoffs.open_for_analyst(subject, within).await;
        let mut open = opened.map_err(|error| LaunchError::Died(error.to_string()))?;
        let handoff = Handoff { context: open.context(), body: body.clone() };
        let handoff = serde_json::to_value(&handoff).map_err(unreadable)?;
        let answer = self.launcher.launch(handoff, within).await;
        let answer = answer
            .and_then(|answer| serde_json::from_value::<AnalystAnswer>(answer).map_err(unreadable));
        if let Ok(answer) = &answer {
            open.decided(answer.decisions.clone());
        }
        open.close().await;
        answer
    }

    /// Puts on record that an analyst died. What cannot be recorded is logged: the verification goes on.
    async fn record_death(
        &self,
        subject: &Subject,
        body: &VerifyHandoff,
        (attempt, reason): (u32, &str),
    ) {
        let Some(task) = subject.task else { return };
        let (run, job) = (subject.run, Some(body.job_id));
        tracing::warn!(job.id = %body.job_id, attempt, reason, "analyst died");
        let data = json!({
            "attempt": attempt,
            "attempts": ATTEMPTS,
            "reason": reason.to_owned().without_secrets(),
            "step_index": body.step_index,
        });
        let written: Result<(), cynode_store::Error> = self
            .store
            .write(move |tx| {
                Box::pin(async move {
                    let Some(task) = tx.task_get(task).await? else { return Ok(()) };
                    let event = tasks::event(&task, "analyst.died", data);
                    tx.event_append(&NewEvent { run, job, ..event }).await
                })
            })
            .await;
        if let Err(error) = written {
            let error = &error as &dyn std::error::Error;
            tracing::error!(error, "the death of an analyst was not recorded");
        }
        self.signals.send(Topic::Events);
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
        self.signals.send(Topic::Results);
    }
}
