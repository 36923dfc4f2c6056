//! Processes one run of a schedule: creates its task, or hands the prompt to the project manager.

mod attempt_outcome;

use std::sync::Arc;
use std::time::Duration;

use cynode_domain::backoff::Backoff;
use cynode_domain::ids::TraceId;
use cynode_domain::request::RequestOrigin;
use cynode_domain::schedule::{SchedulePayload, ScheduleRunStatus};
use cynode_execution::{TaskError, TaskService};
use cynode_execution::{handoff::HandoffError, handoff::HandoffService, handoff::HandoffSubject};
use cynode_resources::Caller;
use cynode_runtime::failpoint;
use cynode_runtime::shutdown::Shutdown;
use cynode_store::{Error, Schedule, ScheduleClaim, ScheduleRun, Store, Tx};
use cynode_wire::handoff::ScheduledRunHandoff;
use cynode_wire::requests::SubmitRequest;
use cynode_wire::tasks::CreateTask;
use serde_json::Value;
use tokio::time::Instant;
use tracing::{info, warn};

use super::events::{clean_summary, run_ended_event};
use super::intake::{IntakeOutcome, ScheduledIntake};
use super::scheduler::SchedulerOptions;
use attempt_outcome::{
    AttemptOutcome, RetryReason, lease_lost, outcome_of_failed_handoff, shutting_down,
};

/// Lease renewal interval, unless the lease is too short for it.
const RENEW_EVERY: Duration = Duration::from_secs(3);
/// Maximum attempts that end without a result because their process died.
const TRIES_LOST: u32 = 4;
/// Delay before a failed renewal is retried.
const RENEW_RETRY_DELAY: Duration = Duration::from_secs(1);
/// Maximum backoff, unless the first is longer.
const MAX_BACKOFF: Duration = Duration::from_mins(1);

/// Processes claimed runs.
pub(super) struct ScheduleRunProcessor {
    pub(super) store: Store,
    pub(super) tasks: TaskService,
    pub(super) handoffs: HandoffService,
    /// Accepts requests; `None` if this process accepts none.
    pub(super) intake: Option<Arc<dyn ScheduledIntake>>,
    pub(super) options: SchedulerOptions,
}

impl ScheduleRunProcessor {
    /// Processes a claimed run. After an internal failure the lease expires; on shutdown the run is
    /// released, and the attempt does not count.
    pub(super) async fn process_run(&self, run: ScheduleRun, stop: &Shutdown) {
        let claim = ScheduleClaim { run: run.id, attempt: run.attempts };
        let (id, schedule) = (run.id, run.schedule);
        let dealt = async {
            let found = match self
                .store
                .read(move |tx| Box::pin(load_schedule_and_owner(tx, schedule)))
                .await
            {
                Err(error) if error.is_unreadable() => {
                    return self.fail_unreadable(claim, error).await;
                }
                found => found?,
            };
            let Some((schedule, owner)) = found else { return Ok(()) };
            failpoint::hit("schedule_claimed", "schedule");
            let outcome = self.attempt_run(&schedule, owner, &run, claim, stop).await?;
            failpoint::hit("schedule_worked", "schedule");
            self.record_outcome(schedule, &run, claim, outcome).await
        };
        let dealt: Result<(), Error> = dealt.await;
        if let Err(error) = dealt {
            let error = &error as &dyn std::error::Error;
            warn!(error, schedule.run = %id, "schedule run interrupted, retried after its lease");
        }
    }

    async fn attempt_run(
        &self,
        schedule: &Schedule,
        owner: Option<Caller>,
        run: &ScheduleRun,
        claim: ScheduleClaim,
        stop: &Shutdown,
    ) -> Result<AttemptOutcome, Error> {
        if let Some(summary) = self.load_earlier_result(run).await? {
            return Ok(AttemptOutcome::Ended(ScheduleRunStatus::Done, summary));
        }
        if run.lost_claims() >= TRIES_LOST {
            let why = format!("given up: its orchestrator stopped during {TRIES_LOST} attempts");
            return Ok(AttemptOutcome::failed(why));
        }
        if !schedule.is_enabled && !run.is_manual {
            let why = "the schedule was paused".to_owned();
            return Ok(AttemptOutcome::Ended(ScheduleRunStatus::Skipped, why));
        }
        let Some(owner) = owner else {
            return Ok(AttemptOutcome::failed("the account of the schedule's owner is not active"));
        };
        match &schedule.payload {
            SchedulePayload::Task { request } => {
                self.create_task(schedule, owner, run, request).await
            }
            SchedulePayload::Request { request } => {
                self.submit_request(schedule, &owner, run, request).await
            }
            SchedulePayload::Prompt { text } => {
                let handed = self.hand_off_prompt(schedule, owner, run, claim, text);
                tokio::select! {
                    biased;
                    () = stop.triggered() => Ok(shutting_down()),
                    outcome = handed => outcome,
                }
            }
        }
    }

    /// Returns what an earlier attempt created but did not record. It is complete, because tasks
    /// are created in one transaction. The project manager is not asked again, because its answer
    /// could differ.
    async fn load_earlier_result(&self, run: &ScheduleRun) -> Result<Option<String>, Error> {
        if run.attempts < 2 {
            return Ok(None);
        }
        let id = run.id;
        let tasks = self
            .store
            .read(move |tx| Box::pin(async move { tx.scheduled_tasks_of(&[id]).await }))
            .await?;
        let names: Vec<_> = tasks.into_iter().map(|task| task.name).collect();
        Ok(match (names.is_empty(), run.made_at) {
            (false, _) => Some(format!("made {}", names.join(", "))),
            (true, Some(_)) => Some("no task was needed this time".to_owned()),
            (true, None) => None,
        })
    }

    /// Creates the task of the schedule.
    async fn create_task(
        &self,
        schedule: &Schedule,
        owner: Caller,
        run: &ScheduleRun,
        request: &Value,
    ) -> Result<AttemptOutcome, Error> {
        let request: CreateTask = match serde_json::from_value(request.clone()) {
            Ok(request) => request,
            Err(error) => {
                return Ok(AttemptOutcome::failed(format!(
                    "the schedule's task cannot be parsed: {error}"
                )));
            }
        };
        let due = run.due_at.timestamp_micros();
        let request = CreateTask {
            project: Some(schedule.project.to_string()),
            task_name: request.task_name.or_else(|| Some(schedule.name.clone())),
            idempotency_key: Some(format!("schedule/{}/{due}/0", schedule.id)),
            ..request
        };
        match self.tasks.create_for_schedule(&owner, run.id, request).await {
            Ok(task) => {
                let summary = format!("made {}", task.task_name);
                Ok(AttemptOutcome::Ended(ScheduleRunStatus::Done, summary))
            }
            Err(TaskError::Store(error)) => Err(error),
            Err(error) => Ok(AttemptOutcome::failed(error.to_string())),
        }
    }

    /// Submits the request of the schedule. One with the same text that is still open is no failure of the schedule.
    async fn submit_request(
        &self,
        schedule: &Schedule,
        owner: &Caller,
        run: &ScheduleRun,
        request: &Value,
    ) -> Result<AttemptOutcome, Error> {
        let Some(intake) = &self.intake else {
            return Ok(AttemptOutcome::failed("this orchestrator accepts no requests"));
        };
        let request: SubmitRequest = match serde_json::from_value(request.clone()) {
            Ok(request) => request,
            Err(error) => {
                let why = format!("the schedule's request cannot be parsed: {error}");
                return Ok(AttemptOutcome::failed(why));
            }
        };
        let due = run.due_at.timestamp_micros();
        let request = SubmitRequest {
            project: Some(schedule.project.to_string()),
            name: request.name.or_else(|| Some(schedule.name.clone())),
            origin: Some(RequestOrigin::Schedule),
            reference: Some(schedule.name.clone()),
            idempotency_key: Some(format!("schedule/{}/{due}/0", schedule.id)),
            ..request
        };
        Ok(match intake.submit_scheduled(owner, run.id, request).await? {
            IntakeOutcome::Submitted { name } => {
                AttemptOutcome::Ended(ScheduleRunStatus::Done, format!("submitted {name}"))
            }
            IntakeOutcome::AlreadyOpen { name } => {
                let why = format!("the request {name} with the same text is still open");
                AttemptOutcome::Ended(ScheduleRunStatus::Skipped, why)
            }
            IntakeOutcome::Rejected { reason } => AttemptOutcome::failed(reason),
        })
    }

    /// Hands the prompt to the project manager and renews the lease meanwhile.
    async fn hand_off_prompt(
        &self,
        schedule: &Schedule,
        owner: Caller,
        run: &ScheduleRun,
        claim: ScheduleClaim,
        text: &str,
    ) -> Result<AttemptOutcome, Error> {
        if !self.handoffs.is_configured() {
            return Ok(AttemptOutcome::failed(
                "no project manager is configured to interpret it: start one (`cynode up` does), or \
                 schedule a task with commands instead of a prompt",
            ));
        }
        if !self.renew_lease(claim).await? {
            return Ok(lease_lost());
        }
        let subject = HandoffSubject {
            project: Some(schedule.project),
            schedule_run: Some(run.id),
            ..HandoffSubject::for_caller(owner, TraceId::generate().to_string())
        };
        let body = ScheduledRunHandoff {
            schedule_id: schedule.id,
            schedule: schedule.name.clone(),
            due_at: run.due_at,
            payload: text.to_owned(),
        };
        tokio::select! {
            answer = self.handoffs.scheduled_run(&subject, body) => match answer {
                Ok(answer) => Ok(AttemptOutcome::Ended(ScheduleRunStatus::Done, answer.summary)),
                Err(HandoffError::Store(error)) => Err(error),
                Err(error) => Ok(outcome_of_failed_handoff(&error)),
            },
            kept = self.renew_lease_until_lost(claim) => kept.map(|()| lease_lost()),
        }
    }

    /// Renews the lease until it is lost. The lease outlasts a short database outage.
    async fn renew_lease_until_lost(&self, claim: ScheduleClaim) -> Result<(), Error> {
        let lease = self.options.lease;
        let renew_every = RENEW_EVERY.min(lease / 3);
        let (mut until, mut pause) = (Instant::now() + lease, renew_every);
        loop {
            tokio::time::sleep(pause).await;
            pause = renew_every;
            match self.renew_lease(claim).await {
                Ok(true) => until = Instant::now() + lease,
                Ok(false) => return Ok(()),
                Err(_) if Instant::now() < until => pause = RENEW_RETRY_DELAY,
                Err(error) => return Err(error),
            }
        }
    }

    async fn renew_lease(&self, claim: ScheduleClaim) -> Result<bool, Error> {
        let (status, lease_ms) = (ScheduleRunStatus::HandedOver, millis(self.options.lease));
        self.store
            .write(move |tx| {
                Box::pin(async move { tx.schedule_run_renew(claim, status, lease_ms).await })
            })
            .await
    }

    async fn record_outcome(
        &self,
        schedule: Schedule,
        run: &ScheduleRun,
        claim: ScheduleClaim,
        outcome: AttemptOutcome,
    ) -> Result<(), Error> {
        let id = run.id;
        let (status, summary) = match outcome {
            AttemptOutcome::Ended(status, summary) => (status, summary),
            AttemptOutcome::Retry(reason, why) => match reason.attempts_and_limit(run) {
                (tries, most) if tries < most => {
                    let pause = backoff_after(tries, self.options.pause);
                    let wait = if reason == RetryReason::ShuttingDown { 0 } else { millis(pause) };
                    info!(schedule.run = %id, wait_ms = wait, "schedule run postponed");
                    return self.postpone(claim, wait, reason, &why).await;
                }
                (tries, _) => {
                    (ScheduleRunStatus::Failed, format!("given up after {tries} attempts: {why}"))
                }
            },
        };
        let summary = clean_summary(&summary);
        info!(schedule.run = %id, schedule.id = %schedule.id, %status, "schedule run ended");
        let event = run_ended_event(&schedule, run, status, &summary);
        self.store
            .write(move |tx| {
                Box::pin(async move {
                    if tx.schedule_run_end(claim, status, &summary).await? {
                        tx.event_append(&event).await?;
                    }
                    Ok(())
                })
            })
            .await
    }

    async fn postpone(
        &self,
        claim: ScheduleClaim,
        wait_ms: i64,
        reason: RetryReason,
        why: &str,
    ) -> Result<(), Error> {
        let (why, counts) = (clean_summary(why), reason.postponement());
        self.store
            .write(move |tx| {
                Box::pin(async move {
                    tx.schedule_run_release(claim, wait_ms, &why, counts).await.map(drop)
                })
            })
            .await
    }

    /// Ends a run whose schedule cannot be parsed; no event is possible either.
    async fn fail_unreadable(&self, claim: ScheduleClaim, why: Error) -> Result<(), Error> {
        let id = claim.run;
        warn!(error = &why as &dyn std::error::Error, schedule.run = %id, "schedule run failed");
        let (failed, why) = (ScheduleRunStatus::Failed, clean_summary(&why.to_string()));
        self.store
            .write(move |tx| {
                Box::pin(async move { tx.schedule_run_end(claim, failed, &why).await.map(drop) })
            })
            .await
    }
}

/// Loads the schedule, and its owner if that account is active.
async fn load_schedule_and_owner(
    tx: &mut Tx,
    id: cynode_domain::ids::ScheduleId,
) -> Result<Option<(Schedule, Option<Caller>)>, Error> {
    let Some(schedule) = tx.schedule_get(id).await? else { return Ok(None) };
    let owner = tx.user_get(schedule.owner).await?.filter(|user| user.is_active);
    let owner = owner.map(|user| Caller::on_behalf_of(user.id, user.handle, false));
    Ok(Some((schedule, owner)))
}

/// Returns the backoff after `tries` attempts, starting with `first`.
fn backoff_after(tries: u32, first: Duration) -> Duration {
    Backoff { first, cap: MAX_BACKOFF.max(first) }.delay(tries)
}

pub(super) fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_a_minute_and_stay_there() {
        let first = SchedulerOptions::default().pause;
        assert_eq!(
            [1, 2, 3, 7, 63, 64, 200].map(|tries| backoff_after(tries, first).as_secs()),
            [1, 2, 4, 60, 60, 60, 60]
        );
        let hour = Duration::from_hours(1);
        assert_eq!([1, 2, 200].map(|tries| backoff_after(tries, hour)), [hour; 3]);
    }
}
