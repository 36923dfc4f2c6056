//! Dealing with one run of a schedule: its task is made, or the project manager makes them.

use std::time::Duration;

use cynode_domain::ids::TraceId;
use cynode_domain::schedule::{Payload, ScheduleRunStatus};
use cynode_runtime::failpoint;
use cynode_store::{
    EventStore, NewEvent, Schedule, ScheduleClaim, ScheduleRun, ScheduleRunStore, ScheduleStore,
    Store, Tx, UserStore,
};
use cynode_wire::handoff::ScheduledRunHandoff;
use cynode_wire::tasks::CreateTask;
use serde_json::{Value, json};
use tracing::{info, warn};

use crate::handoff::{HandoffError, Handoffs, Subject};
use crate::{Caller, TaskError, Tasks};

/// How long a claim lasts that nobody renews: a run whose orchestrator died is taken up that much later.
pub(super) const LEASE_MS: i64 = 10_000;
const RENEW_EVERY: Duration = Duration::from_secs(3);
/// How often a run is tried while the project manager is away or busy; with the pauses between them about
/// a quarter of an hour.
const TRIES_AWAY: u32 = 20;
/// How often a run is tried that the project manager begins and does not finish.
const TRIES_FAILED: u32 = 3;
/// The first pause; each further one is twice as long.
const BACKOFF_MS: i64 = 1000;
const LONGEST_BACKOFF_MS: i64 = 60_000;
/// The longest summary that is kept.
const MAX_SUMMARY_CHARS: usize = 2000;

/// What deals with runs.
pub(super) struct Work {
    pub(super) store: Store,
    pub(super) tasks: Tasks,
    pub(super) handoffs: Handoffs,
}

/// What came of an attempt.
enum Outcome {
    /// It is over.
    Ended(ScheduleRunStatus, String),
    /// It is tried again, unless it was tried so often already.
    Again { tries: u32, why: String },
}

impl Outcome {
    fn failed(why: impl Into<String>) -> Self {
        Self::Ended(ScheduleRunStatus::Failed, why.into())
    }
}

impl Work {
    /// Deals with a run that is claimed. What fails on our side leaves the claim to run out.
    pub(super) async fn deal(&self, run: ScheduleRun) {
        let claim = ScheduleClaim { run: run.id, attempt: run.attempts };
        let (id, schedule) = (run.id, run.schedule);
        let dealt = async {
            let found = self.store.read(move |tx| Box::pin(look(tx, schedule))).await?;
            let Some((schedule, owner)) = found else { return Ok(()) };
            failpoint::hit("schedule_claimed", "schedule");
            let outcome = self.attempt(&schedule, owner, &run, claim).await?;
            failpoint::hit("schedule_worked", "schedule");
            self.record(schedule, &run, claim, outcome).await
        };
        let dealt: Result<(), cynode_store::Error> = dealt.await;
        if let Err(error) = dealt {
            let error = &error as &dyn std::error::Error;
            warn!(error, schedule.run = %id, "the run {id} of a schedule is taken up again soon");
        }
    }

    async fn attempt(
        &self,
        schedule: &Schedule,
        owner: Option<Caller>,
        run: &ScheduleRun,
        claim: ScheduleClaim,
    ) -> Result<Outcome, cynode_store::Error> {
        if !schedule.is_enabled && !run.is_manual {
            let why = "the schedule was paused".to_owned();
            return Ok(Outcome::Ended(ScheduleRunStatus::Skipped, why));
        }
        let Some(owner) = owner else {
            return Ok(Outcome::failed("the account of its owner is not active"));
        };
        match &schedule.payload {
            Payload::Task { request } => self.make(schedule, owner, run, request).await,
            Payload::Prompt { text } => self.hand_over((schedule, owner), run, claim, text).await,
        }
    }

    /// Makes the task that the schedule names.
    async fn make(
        &self,
        schedule: &Schedule,
        owner: Caller,
        run: &ScheduleRun,
        request: &Value,
    ) -> Result<Outcome, cynode_store::Error> {
        let request: CreateTask = match serde_json::from_value(request.clone()) {
            Ok(request) => request,
            Err(error) => return Ok(Outcome::failed(format!("its task cannot be read: {error}"))),
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
                Ok(Outcome::Ended(ScheduleRunStatus::Done, summary))
            }
            Err(TaskError::Store(error)) => Err(error),
            Err(error) => Ok(Outcome::failed(error.to_string())),
        }
    }

    /// Hands prose to the project manager, and keeps the claim as long as that takes.
    async fn hand_over(
        &self,
        (schedule, owner): (&Schedule, Caller),
        run: &ScheduleRun,
        claim: ScheduleClaim,
        text: &str,
    ) -> Result<Outcome, cynode_store::Error> {
        if !self.handoffs.is_configured() {
            return Ok(Outcome::failed(
                "no project manager is configured to interpret it: start one (`cynode up` does), or \
                 schedule a task with commands instead of a prompt",
            ));
        }
        if !self.keep(claim).await? {
            return Ok(lost());
        }
        let subject = Subject {
            project: Some(schedule.project),
            schedule_run: Some(run.id),
            ..Subject::of(owner, TraceId::generate().to_string())
        };
        let body = ScheduledRunHandoff {
            schedule_id: schedule.id,
            schedule: schedule.name.clone(),
            due_at: run.due_at,
            payload: text.to_owned(),
        };
        tokio::select! {
            answer = self.handoffs.scheduled_run(&subject, body) => match answer {
                Ok(answer) => Ok(Outcome::Ended(ScheduleRunStatus::Done, answer.summary)),
                Err(HandoffError::Store(error)) => Err(error),
                Err(error) => Ok(after(&error)),
            },
            kept = self.keep_on(claim) => kept.map(|()| lost()),
        }
    }

    /// Renews the claim until it is lost.
    async fn keep_on(&self, claim: ScheduleClaim) -> Result<(), cynode_store::Error> {
        loop {
            tokio::time::sleep(RENEW_EVERY).await;
            if !self.keep(claim).await? {
                return Ok(());
            }
        }
    }

    async fn keep(&self, claim: ScheduleClaim) -> Result<bool, cynode_store::Error> {
        let status = ScheduleRunStatus::HandedOver;
        self.store
            .write(move |tx| {
                Box::pin(async move { tx.schedule_run_keep(claim, status, LEASE_MS).await })
            })
            .await
    }

    async fn record(
        &self,
        schedule: Schedule,
        run: &ScheduleRun,
        claim: ScheduleClaim,
        outcome: Outcome,
    ) -> Result<(), cynode_store::Error> {
        let (status, summary) = match outcome {
            Outcome::Again { tries, why } if claim.attempt < tries => {
                let wait = backoff_ms(claim.attempt);
                info!(schedule.run = %run.id, "{} is tried again in {wait} ms: {why}", schedule.name);
                return self.put_off(claim, wait, why).await;
            }
            Outcome::Again { why, .. } => (
                ScheduleRunStatus::Failed,
                format!("given up after {} tries: {why}", claim.attempt),
            ),
            Outcome::Ended(status, summary) => (status, summary),
        };
        let summary: String =
            summary.chars().filter(|c| *c != '\0').take(MAX_SUMMARY_CHARS).collect();
        info!(schedule.run = %run.id, "{} is {status}: {summary}", schedule.name);
        let event = event(&schedule, run, status, &summary);
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

    async fn put_off(
        &self,
        claim: ScheduleClaim,
        wait_ms: i64,
        why: String,
    ) -> Result<(), cynode_store::Error> {
        self.store
            .write(move |tx| {
                Box::pin(async move { tx.schedule_run_retry(claim, wait_ms, &why).await.map(drop) })
            })
            .await
    }
}

/// The schedule, and its owner while that account is active.
async fn look(
    tx: &mut Tx,
    id: cynode_domain::ids::ScheduleId,
) -> Result<Option<(Schedule, Option<Caller>)>, cynode_store::Error> {
    let Some(schedule) = tx.schedule_get(id).await? else { return Ok(None) };
    let owner = tx.user_get(schedule.owner).await?.filter(|user| user.is_active);
    let owner = owner.map(|user| Caller::on_behalf_of(user.id, user.handle, false));
    Ok(Some((schedule, owner)))
}

/// What follows from a handoff that brought no answer.
fn after(error: &HandoffError) -> Outcome {
    let why = error.to_string();
    match error {
        HandoffError::Away(_) | HandoffError::Busy { .. } | HandoffError::Lost(_) => {
            Outcome::Again { tries: TRIES_AWAY, why }
        }
        HandoffError::Timeout(_) | HandoffError::Failed(_) | HandoffError::Store(_) => {
            Outcome::Again { tries: TRIES_FAILED, why }
        }
        HandoffError::Invalid(_) => Outcome::failed(why),
    }
}

/// Somebody else has the run; what is recorded now changes nothing.
fn lost() -> Outcome {
    Outcome::Again { tries: u32::MAX, why: "its claim was lost".to_owned() }
}

fn backoff_ms(attempt: u32) -> i64 {
    // More doublings than these are longer than the longest pause.
    let doublings = attempt.saturating_sub(1).min(10);
    (BACKOFF_MS << doublings).min(LONGEST_BACKOFF_MS)
}

fn event(
    schedule: &Schedule,
    run: &ScheduleRun,
    status: ScheduleRunStatus,
    summary: &str,
) -> NewEvent {
    NewEvent {
        kind: "schedule.ran",
        owner: Some(schedule.owner),
        project: Some(schedule.project),
        task: None,
        run: None,
        job: None,
        data: json!({
            "schedule_id": schedule.id, "name": schedule.name, "due_at": run.due_at,
            "status": status, "summary": summary,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_a_minute_and_stay_there() {
        assert_eq!(
            [1, 2, 3, 7, 63, 64, 200].map(backoff_ms),
            [1000, 2000, 4000, 60_000, 60_000, 60_000, 60_000]
        );
    }
}
