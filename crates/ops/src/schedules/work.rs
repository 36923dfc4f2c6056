//! Dealing with one run of a schedule: its task is made, or the project manager makes them.

use std::time::Duration;

use cynode_domain::ids::TraceId;
use cynode_domain::schedule::{Payload, ScheduleRunStatus};
use cynode_runtime::failpoint;
use cynode_runtime::shutdown::Shutdown;
use cynode_store::{
    Error, EventStore, PutOff, Schedule, ScheduleClaim, ScheduleRun, ScheduleRunStore,
    ScheduleStore, ScheduledTaskStore, Store, Tx, UserStore,
};
use cynode_wire::handoff::ScheduledRunHandoff;
use cynode_wire::tasks::CreateTask;
use serde_json::Value;
use tokio::time::Instant;
use tracing::{info, warn};

use super::events::{clean, ran};
use super::scheduler::SchedulerOptions;
use crate::handoff::{HandoffError, Handoffs, Subject};
use crate::{Caller, TaskError, Tasks};

/// How often a claim is renewed, unless it is too short for that.
const RENEW_EVERY: Duration = Duration::from_secs(3);
/// How often a run is tried while the project manager is away or busy, failures not counted; with the
/// pauses between them about a quarter of an hour.
const TRIES_AWAY: u32 = 20;
/// How often a run is tried that the project manager begins and fails at, other tries not counted.
const TRIES_FAILED: u32 = 3;
/// How often a run is taken up that whoever dealt with it left without a word.
const TRIES_LOST: u32 = 4;
/// The pause before a renewal that the database did not take is tried again.
const RENEW_AGAIN: Duration = Duration::from_secs(1);
/// The longest pause, unless the first is longer.
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// What deals with runs.
pub(super) struct Work {
    pub(super) store: Store,
    pub(super) tasks: Tasks,
    pub(super) handoffs: Handoffs,
    pub(super) options: SchedulerOptions,
}

/// What came of an attempt.
enum Outcome {
    /// It is over.
    Ended(ScheduleRunStatus, String),
    /// It is tried again, unless it was tried so often for that reason.
    Again(Reason, String),
}

/// Why something is tried again.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reason {
    /// Nobody was there to do it.
    Away,
    /// It was begun, and failed.
    Failed,
    /// Somebody else has it: what is recorded now changes nothing.
    Lost,
    /// This process stops: whoever takes it up next begins as if this one had not.
    Stopped,
}

impl Reason {
    /// How often it was tried for this reason, this time included, and how often it is tried at most.
    fn tries(self, run: &ScheduleRun) -> (u32, u32) {
        match self {
            Self::Away => (run.put_off.saturating_add(1), TRIES_AWAY),
            Self::Failed => (run.failures + 1, TRIES_FAILED),
            Self::Lost | Self::Stopped => (0, u32::MAX),
        }
    }

    /// As what it counts.
    const fn counts(self) -> PutOff {
        match self {
            Self::Away | Self::Lost => PutOff::Away,
            Self::Failed => PutOff::Failed,
            Self::Stopped => PutOff::GivenBack,
        }
    }
}

impl Outcome {
    fn failed(why: impl Into<String>) -> Self {
        Self::Ended(ScheduleRunStatus::Failed, why.into())
    }
}

impl Work {
    /// Deals with a run that is claimed. What fails on our side leaves the claim to run out; when the
    /// process stops it is given back, and does not count as tried.
    pub(super) async fn deal(&self, run: ScheduleRun, stop: &Shutdown) {
        let claim = ScheduleClaim { run: run.id, attempt: run.attempts };
        let (id, schedule) = (run.id, run.schedule);
        let dealt = async {
            let found = match self.store.read(move |tx| Box::pin(look(tx, schedule))).await {
                Err(error) if error.is_unreadable() => return self.end(claim, error).await,
                found => found?,
            };
            let Some((schedule, owner)) = found else { return Ok(()) };
            failpoint::hit("schedule_claimed", "schedule");
            let outcome = self.attempt((&schedule, owner), &run, claim, stop).await?;
            failpoint::hit("schedule_worked", "schedule");
            self.record(schedule, &run, claim, outcome).await
        };
        let dealt: Result<(), Error> = dealt.await;
        if let Err(error) = dealt {
            let error = &error as &dyn std::error::Error;
            warn!(error, schedule.run = %id, "the run {id} of a schedule is taken up again soon");
        }
    }

    async fn attempt(
        &self,
        (schedule, owner): (&Schedule, Option<Caller>),
        run: &ScheduleRun,
        claim: ScheduleClaim,
        stop: &Shutdown,
    ) -> Result<Outcome, Error> {
        if let Some(summary) = self.made_before(run).await? {
            return Ok(Outcome::Ended(ScheduleRunStatus::Done, summary));
        }
        if run.lost() >= TRIES_LOST {
            let why = format!(
                "given up: {TRIES_LOST} times whoever dealt with it stopped before its end"
            );
            return Ok(Outcome::failed(why));
        }
        if !schedule.is_enabled && !run.is_manual {
            let why = "the schedule was paused".to_owned();
            return Ok(Outcome::Ended(ScheduleRunStatus::Skipped, why));
        }
        let Some(owner) = owner else {
            return Ok(Outcome::failed("the account of its owner is not active"));
        };
        match &schedule.payload {
            Payload::Task { request } => self.make(schedule, owner, run, request).await,
            Payload::Prompt { text } => {
                let handed = self.hand_over((schedule, owner), run, claim, text);
                tokio::select! {
                    biased;
                    () = stop.triggered() => Ok(stopped()),
                    outcome = handed => outcome,
                }
            }
        }
    }

    /// What was made by somebody who did not come to record it: all of it, as it is made at once. Nobody
    /// is asked again then, because the answer could be another one.
    async fn made_before(&self, run: &ScheduleRun) -> Result<Option<String>, Error> {
        if run.attempts < 2 {
            return Ok(None);
        }
        let (schedule, id) = (run.schedule, run.id);
        let tasks = self
            .store
            .read(move |tx| {
                Box::pin(async move { tx.scheduled_task_list(schedule, (id, id)).await })
            })
            .await?;
        let names: Vec<_> = tasks.into_iter().map(|task| task.name).collect();
        Ok(match (names.is_empty(), run.made_at) {
            (false, _) => Some(format!("made {}", names.join(", "))),
            (true, Some(_)) => Some("no task was to be made this time".to_owned()),
            (true, None) => None,
        })
    }

    /// Makes the task that the schedule names.
    async fn make(
        &self,
        schedule: &Schedule,
        owner: Caller,
        run: &ScheduleRun,
        request: &Value,
    ) -> Result<Outcome, Error> {
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
    ) -> Result<Outcome, Error> {
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

    /// Renews the claim until it is lost. A database that is away for a moment does not end the work:
    /// the claim lasts longer than that.
    async fn keep_on(&self, claim: ScheduleClaim) -> Result<(), Error> {
        let lease = self.options.lease;
        let renew_every = RENEW_EVERY.min(lease / 3);
        let (mut until, mut pause) = (Instant::now() + lease, renew_every);
        loop {
            tokio::time::sleep(pause).await;
            pause = renew_every;
            match self.keep(claim).await {
                Ok(true) => until = Instant::now() + lease,
                Ok(false) => return Ok(()),
                Err(_) if Instant::now() < until => pause = RENEW_AGAIN,
                Err(error) => return Err(error),
            }
        }
    }

    async fn keep(&self, claim: ScheduleClaim) -> Result<bool, Error> {
        let (status, lease_ms) = (ScheduleRunStatus::HandedOver, millis(self.options.lease));
        self.store
            .write(move |tx| {
                Box::pin(async move { tx.schedule_run_keep(claim, status, lease_ms).await })
            })
            .await
    }

    async fn record(
        &self,
        schedule: Schedule,
        run: &ScheduleRun,
        claim: ScheduleClaim,
        outcome: Outcome,
    ) -> Result<(), Error> {
        let id = run.id;
        let (status, summary) = match outcome {
            Outcome::Ended(status, summary) => (status, summary),
            Outcome::Again(reason, why) => match reason.tries(run) {
                (tries, most) if tries < most => {
                    let pause = pause_after(tries, self.options.pause);
                    let wait = if reason == Reason::Stopped { 0 } else { millis(pause) };
                    info!(schedule.run = %id, "the run {id} of a schedule is tried again in {wait} ms");
                    return self.put_off(claim, wait, reason, &why).await;
                }
                (tries, _) => {
                    (ScheduleRunStatus::Failed, format!("given up after {tries} tries: {why}"))
                }
            },
        };
        let summary = clean(&summary);
        info!(schedule.run = %id, schedule.id = %schedule.id, "the run {id} of a schedule is {status}");
        let event = ran(&schedule, run, status, &summary);
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
        reason: Reason,
        why: &str,
    ) -> Result<(), Error> {
        let (why, counts) = (clean(why), reason.counts());
        self.store
            .write(move |tx| {
                Box::pin(async move {
                    tx.schedule_run_retry(claim, wait_ms, (&why, counts)).await.map(drop)
                })
            })
            .await
    }

    /// Ends a run whose schedule cannot be read, and so cannot be told of either.
    async fn end(&self, claim: ScheduleClaim, why: Error) -> Result<(), Error> {
        let id = claim.run;
        warn!(error = &why as &dyn std::error::Error, schedule.run = %id, "the run {id} has failed");
        let (failed, why) = (ScheduleRunStatus::Failed, clean(&why.to_string()));
        self.store
            .write(move |tx| {
                Box::pin(async move { tx.schedule_run_end(claim, failed, &why).await.map(drop) })
            })
            .await
    }
}

/// The schedule, and its owner while that account is active.
async fn look(
    tx: &mut Tx,
    id: cynode_domain::ids::ScheduleId,
) -> Result<Option<(Schedule, Option<Caller>)>, Error> {
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
            Outcome::Again(Reason::Away, why)
        }
        HandoffError::Timeout(_) | HandoffError::Failed(_) | HandoffError::Store(_) => {
            Outcome::Again(Reason::Failed, why)
        }
        HandoffError::Invalid(_) => Outcome::failed(why),
    }
}

fn lost() -> Outcome {
    Outcome::Again(Reason::Lost, "its claim was lost".to_owned())
}

fn stopped() -> Outcome {
    Outcome::Again(Reason::Stopped, "its orchestrator was stopped".to_owned())
}

/// The pause after so many tries, where the first is this long.
fn pause_after(tries: u32, first: Duration) -> Duration {
    // More doublings than these are longer than the longest pause by far, or overflow.
    let doublings = tries.saturating_sub(1).min(10);
    first.saturating_mul(1 << doublings).min(LONGEST_PAUSE.max(first))
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
            [1, 2, 3, 7, 63, 64, 200].map(|tries| pause_after(tries, first).as_secs()),
            [1, 2, 4, 60, 60, 60, 60]
        );
        let hour = Duration::from_hours(1);
        assert_eq!([1, 2, 200].map(|tries| pause_after(tries, hour)), [hour; 3]);
    }
}
