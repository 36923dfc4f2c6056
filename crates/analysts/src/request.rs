//! Requests of the project manager for an analyst.

use cynode_domain::ids::JobId;
use cynode_domain::verification::VerificationKey;
use cynode_execution::handoff::HandoffSubject;
use cynode_execution::tasks;
use cynode_execution::workflow::unjudged_criteria::round;
use cynode_resources::Caller;
use cynode_resources::secrets::RedactSecrets as _;
use cynode_resources::signals::Topic;
use cynode_store::NewEvent;
use cynode_wire::handoff::{AnalystAnswer, Handoff, TracedAnswer, VerifyHandoff};
use serde_json::json;

use crate::evidence::load_verify_handoff;
use crate::{
    AnalystLaunchError, AnalystRequestError, AnalystRequestOutcome, AnalystService,
    VerificationSlot, has_free_slot,
};

/// Total attempts of one verification if the analyst dies.
const MAX_ATTEMPTS: u32 = 3;

impl AnalystService {
    /// Starts an analyst for the result of an ended job. Has no effect while one runs.
    pub async fn request(
        &self,
        caller: &Caller,
        job: JobId,
    ) -> Result<AnalystRequestOutcome, AnalystRequestError> {
        if !self.options.is_enabled {
            return Err(AnalystRequestError::Disabled);
        }
        let (subject, mut body) = self.load_request(caller, job).await?;
        if body.criteria.is_empty() {
            let reason = "the result has no criteria in prose: rules have judged it";
            return Err(AnalystRequestError::NothingToJudge(reason));
        }
        if let Some(task) = subject.task {
            body.changes = self.load_changes(task, job).await;
        }
        {
            let mut seats = self.lock_slots();
            if seats.get(&job) == Some(&VerificationSlot::Running) {
                return Ok(AnalystRequestOutcome::AlreadyRunning);
            }
            if !has_free_slot(&mut seats) && !seats.contains_key(&job) {
                return Err(AnalystRequestError::TooManyVerifications);
            }
            seats.insert(job, VerificationSlot::Running);
        }
        let analysts = self.clone();
        self.background.spawn_until_finish("analyst", async move {
            let work =
                async { analysts.record_end(job, analysts.run_with_retries(&subject, body).await) };
            analysts.run_in_slot(job, VerificationSlot::Running, work).await;
        });
        Ok(AnalystRequestOutcome::Started)
    }

    /// Loads the handoff; fails if the caller may not see the task.
    async fn load_request(
        &self,
        caller: &Caller,
        job: JobId,
    ) -> Result<(HandoffSubject, VerifyHandoff), AnalystRequestError> {
        let caller = caller.clone();
        self.store
            .read(move |tx| {
                Box::pin(async move {
                    let job = tx.job_get(job).await?.ok_or(AnalystRequestError::NoJob)?;
                    let task = tx.task_get(job.spec.task).await?;
                    let task = task.filter(|task| caller.may_see(task.spec.created_by));
                    let task = task.ok_or(AnalystRequestError::NoJob)?;
                    if !job.status.is_terminal() {
                        let reason = "the job has not ended: there is no result yet";
                        return Err(AnalystRequestError::NothingToJudge(reason));
                    }
                    // The newest run verifies; the job may belong to its parent run.
                    let run = tx.run_of_task(task.spec.id).await?;
                    let run = run.ok_or(AnalystRequestError::NoJob)?;
                    let sequence = tx.checkpoint_position(task.spec.id).await? + 1;
                    let round = round(tx, run.id, sequence).await?;
                    let subject = HandoffSubject {
                        project: Some(task.spec.project),
                        task: Some(task.spec.id),
                        run: Some(run.id),
                        verification: Some(VerificationKey {
                            run: run.id,
                            job: job.spec.id,
                            round,
                        }),
                        ..HandoffSubject::for_caller(
                            cynode_execution::workflow::task_owner(tx, task.spec.created_by)
                                .await?,
                            run.trace.to_string(),
                        )
                    };
                    Ok((subject, load_verify_handoff(tx, &task, job).await?))
                })
            })
            .await
    }

    /// Waits for a permit, and runs analysts until one finishes or the attempts are used up.
    async fn run_with_retries(
        &self,
        subject: &HandoffSubject,
        body: VerifyHandoff,
    ) -> Result<AnalystAnswer, String> {
        let Ok(_room) = self.permits.acquire().await else {
            return Err("the orchestrator is shutting down".to_owned());
        };
        let mut attempt = 1;
        loop {
            let reason = match self.run_once(subject, &body).await {
                Ok(answer) => return Ok(answer),
                Err(AnalystLaunchError::TimedOut(reason)) => return Err(reason),
                Err(AnalystLaunchError::Died(reason)) => reason,
            };
            self.record_death(subject, &body, attempt, &reason).await;
            if attempt == MAX_ATTEMPTS {
                return Err(format!("{MAX_ATTEMPTS} attempts, the last one: {reason}"));
            }
            attempt += 1;
        }
    }

    /// Runs one analyst to completion, with its own token.
    async fn run_once(
        &self,
        subject: &HandoffSubject,
        body: &VerifyHandoff,
    ) -> Result<AnalystAnswer, AnalystLaunchError> {
        let timeout = self.options.timeout;
        let unreadable = |error: serde_json::Error| {
            AnalystLaunchError::Died(format!("its answer cannot be read: {error}"))
        };
        let opened = self.handoffs.open_for_analyst(subject, timeout).await;
        let mut open = opened.map_err(|error| AnalystLaunchError::Died(error.to_string()))?;
        let handoff = Handoff { context: open.context(), body: body.clone() };
        let handoff = serde_json::to_value(&handoff).map_err(unreadable)?;
        let answer = self.launcher.launch(handoff, timeout).await;
        let answer = answer.and_then(|answer| {
            serde_json::from_value::<TracedAnswer<_>>(answer).map_err(unreadable)
        });
        let answer = answer.map(|TracedAnswer::<AnalystAnswer> { answer, trace }| {
            open.decided(answer.decisions.clone());
            open.recorded(trace);
            answer
        });
        open.close().await;
        answer
    }

    /// Records that an analyst died. A failure to record it is logged; the verification continues.
    async fn record_death(
        &self,
        subject: &HandoffSubject,
        body: &VerifyHandoff,
        attempt: u32,
        reason: &str,
    ) {
        let Some(task) = subject.task else { return };
        let (run, job) = (subject.run, Some(body.job_id));
        tracing::warn!(job.id = %body.job_id, attempt, reason, "analyst died");
        let data = json!({
            "attempt": attempt,
            "attempts": MAX_ATTEMPTS,
            "reason": reason.to_owned().redact_secrets(),
            "step_index": body.step_index,
        });
        let written: Result<(), cynode_store::Error> = self
            .store
            .write(move |tx| {
                Box::pin(async move {
                    let Some(task) = tx.task_get(task).await? else { return Ok(()) };
                    let event = tasks::task_event(&task, "analyst.died", data);
                    tx.event_append(&NewEvent { run, job, ..event }).await
                })
            })
            .await;
        if let Err(error) = written {
            let error = &error as &dyn std::error::Error;
            tracing::error!(error, "analyst death not recorded");
        }
        self.signals.send(Topic::Events);
    }

    fn record_end(&self, job: JobId, outcome: Result<AnalystAnswer, String>) {
        let seat = match outcome {
            Ok(answer) => {
                let why = answer.decisions.last().map(|decided| format!(": {}", decided.reason));
                format!("the analyst did not judge it{}", why.unwrap_or_default())
            }
            Err(reason) => {
                tracing::warn!(job.id = %job, reason, "analyst failed");
                format!("the analyst failed: {reason}")
            }
        };
        // Findings that it wrote count; this reason applies to the remaining criteria.
        self.lock_slots().insert(job, VerificationSlot::finished(seat));
        self.signals.send(Topic::Results);
    }
}
