//! Creating, changing and deleting schedules; firing and skipping manually.

use chrono::{DateTime, TimeDelta, Utc};
use cynode_domain::ids::{ProjectId, ScheduleId, ScheduleRunId};
use cynode_domain::name_or_id::NameOrId;
use cynode_domain::schedule::{IfMissed, Overlap, SchedulePayload, ScheduleRule};
use cynode_store::{NewScheduleRun, Schedule, Tx};
use cynode_wire::schedules::{CreateSchedule, ScheduleRunView, ScheduleView, UpdateSchedule};

use super::due::RUNS_RETAINED;
use super::events::change_event;
use super::queries::{run_view, schedule_view};
use super::validate::{self, TimingFields};
use super::{
    MAX_OPEN, MAX_SCHEDULES, MAX_SKIPPED, ScheduleError, Schedules, find_schedule, lock_schedule,
    state_name,
};
use cynode_resources::Caller;
use cynode_resources::signals::Topic;
use cynode_resources::{projects, projects::ProjectError};

/// Runs searched for the last due time: manual ones may be newer.
const MAX_RUNS_SEARCHED: u32 = 50;
/// How far ahead a time may be skipped after another one.
const MAX_SKIP_AHEAD: TimeDelta = TimeDelta::days(366);

impl Schedules {
    /// Creates a schedule for the caller.
    pub async fn create(
        &self,
        caller: &Caller,
        request: CreateSchedule,
    ) -> Result<ScheduleView, ScheduleError> {
        let caller = caller.clone();
        let now = self.store.read(|tx| Box::pin(async move { tx.schedule_now().await })).await?;
        // The search for a date that never comes is slow, so it runs outside the transaction.
        let draft = ScheduleDraft::validate(request, now)?;
        let made = self
            .store
            .write(move |tx| Box::pin(async move { insert_schedule(tx, &caller, draft).await }))
            .await?;
        self.signals.send(Topic::Schedules);
        Ok(made)
    }

    pub async fn update(
        &self,
        caller: &Caller,
        schedule: &NameOrId<ScheduleId>,
        request: UpdateSchedule,
    ) -> Result<ScheduleView, ScheduleError> {
        let (caller, schedule) = (caller.clone(), schedule.to_owned());
        self.check_has_due_time(&caller, &schedule, &request).await?;
        let changed = self
            .store
            .write(move |tx| {
                Box::pin(async move {
                    let schedule = lock_schedule(tx, &caller, &schedule).await?;
                    update_schedule(tx, &caller, schedule, request).await
                })
            })
            .await?;
        self.signals.send(Topic::Schedules);
        Ok(changed)
    }

    /// Rejects times that never come, before a transaction is opened.
    async fn check_has_due_time(
        &self,
        caller: &Caller,
        schedule: &NameOrId<ScheduleId>,
        request: &UpdateSchedule,
    ) -> Result<(), ScheduleError> {
        let (caller, schedule) = (caller.clone(), schedule.to_owned());
        let (found, now) = self
            .store
            .read(move |tx| {
                Box::pin(async move {
                    let found = find_schedule(tx, &caller, &schedule).await?;
                    Ok::<_, ScheduleError>((found, tx.schedule_now().await?))
                })
            })
            .await?;
        let is_enabled = request.enabled.unwrap_or(found.is_enabled);
        let rule = apply_rule_changes(found.rule, request, now)?;
        if let Some(rule) = rule.filter(|_| is_enabled) {
            validate::first_due(&rule, now)?;
        }
        Ok(())
    }

    /// Deletes a schedule and its runs. The tasks it created are kept.
    pub async fn delete(
        &self,
        caller: &Caller,
        schedule: &NameOrId<ScheduleId>,
    ) -> Result<(), ScheduleError> {
        let (caller, schedule) = (caller.clone(), schedule.to_owned());
        self.store
            .write(move |tx| {
                Box::pin(async move {
                    let schedule = find_schedule(tx, &caller, &schedule).await?;
                    if tx.schedule_delete(schedule.id).await? {
                        tx.event_append(&change_event(&schedule, "schedule.deleted", &caller))
                            .await?;
                    }
                    Ok(())
                })
            })
            .await
    }

    /// Fires now, also while the schedule is paused or earlier runs are open, up to the limit. The
    /// next due time is unchanged.
    pub async fn fire(
        &self,
        caller: &Caller,
        schedule: &NameOrId<ScheduleId>,
    ) -> Result<ScheduleRunView, ScheduleError> {
        let (caller, schedule) = (caller.clone(), schedule.to_owned());
        let fired = self
            .store
            .write(move |tx| {
                Box::pin(async move {
                    let schedule = lock_schedule(tx, &caller, &schedule).await?;
                    if tx.schedule_count_open_runs(schedule.id).await? >= MAX_OPEN {
                        return Err(ScheduleError::TooManyOpen(schedule.name));
                    }
                    let run = NewScheduleRun {
                        id: ScheduleRunId::generate(),
                        schedule: schedule.id,
                        due_at: None,
                        is_manual: true,
                        skip_reason: None,
                    };
                    tx.schedule_run_insert(&run).await?;
                    tx.schedule_run_delete_old(schedule.id, RUNS_RETAINED).await?;
                    tx.event_append(&change_event(&schedule, "schedule.fired", &caller)).await?;
                    load_run_view(tx, &schedule, run.id).await
                })
            })
            .await?;
        self.signals.send(Topic::Schedules);
        Ok(fired)
    }

    /// Skips the next due time and records it.
    pub async fn skip_next(
        &self,
        caller: &Caller,
        schedule: &NameOrId<ScheduleId>,
    ) -> Result<ScheduleView, ScheduleError> {
        let (caller, schedule) = (caller.clone(), schedule.to_owned());
        let skipped = self
            .store
            .write(move |tx| {
                Box::pin(async move {
                    let mut schedule = lock_schedule(tx, &caller, &schedule).await?;
                    let Some(due) = schedule.next_due_at else {
                        return Err(ScheduleError::NoNextTime(state_name(&schedule)));
                    };
                    check_skip_limit(tx, schedule.id, due).await?;
                    schedule.next_due_at = schedule.rule.next_after(due);
                    tx.schedule_advance(schedule.id, due, schedule.next_due_at).await?;
                    let run = NewScheduleRun {
                        id: ScheduleRunId::generate(),
                        schedule: schedule.id,
                        due_at: Some(due),
                        is_manual: false,
                        skip_reason: Some(format!("requested by {}", caller.handle)),
                    };
                    tx.schedule_run_insert(&run).await?;
                    tx.schedule_run_delete_old(schedule.id, RUNS_RETAINED).await?;
                    tx.event_append(&change_event(&schedule, "schedule.skipped", &caller)).await?;
                    schedule_view(tx, schedule).await
                })
            })
            .await?;
        self.signals.send(Topic::Schedules);
        Ok(skipped)
    }
}

/// A validated schedule.
struct ScheduleDraft {
    request: CreateSchedule,
    name: String,
    rule: ScheduleRule,
    payload: SchedulePayload,
    first: DateTime<Utc>,
}

impl ScheduleDraft {
    fn validate(mut request: CreateSchedule, now: DateTime<Utc>) -> Result<Self, ScheduleError> {
        let missing = |what: &str| ScheduleError::Invalid(vec![what.to_owned()]);
        let zone = validate::parse_zone(request.time_zone.as_deref())?;
        let (cron, at) = (request.cron.as_deref(), request.at.as_deref());
        let timing =
            validate::parse_timing(&TimingFields { cron, every_s: request.every_s, at }, zone)?
                .ok_or_else(|| missing("one of cron, every_s and at is required"))?;
        let rule = ScheduleRule { timing, zone, anchor: now };
        let first = validate::first_due(&rule, now)?;
        let task = request.task.take().map(|task| *task);
        let submission = request.request.take().map(|submission| *submission);
        let payload = validate::validate_payload(request.prompt.take(), task, submission)?
            .ok_or_else(|| missing("one of prompt, task and request is required"))?;
        let name = validate::validate_name(&request.name)?;
        Ok(Self { request, name, rule, payload, first })
    }
}

async fn insert_schedule(
    tx: &mut Tx,
    caller: &Caller,
    draft: ScheduleDraft,
) -> Result<ScheduleView, ScheduleError> {
    let ScheduleDraft { request, name, rule, payload, first } = draft;
    let now = rule.anchor;
    let project = resolve_or_create_project(tx, caller, request.project.as_deref(), now).await?;
    if tx.schedule_count(caller.user).await? >= MAX_SCHEDULES {
        return Err(ScheduleError::TooMany);
    }
    let is_enabled = request.enabled.unwrap_or(true);
    let schedule = Schedule {
        id: ScheduleId::generate(),
        owner: caller.user,
        project,
        name,
        rule,
        payload,
        is_enabled,
        if_missed: request.if_missed.unwrap_or(IfMissed::Once),
        overlap: request.overlap.unwrap_or(Overlap::Skip),
        next_due_at: is_enabled.then_some(first),
        created_at: now,
        updated_at: now,
    };
    if !tx.schedule_insert(&schedule).await? {
        return Err(ScheduleError::NameTaken(schedule.name));
    }
    tx.event_append(&change_event(&schedule, "schedule.created", caller)).await?;
    schedule_view(tx, schedule).await
}

/// Resolves a project of the caller: tasks could not be created in another user's project.
async fn resolve_or_create_project(
    tx: &mut Tx,
    caller: &Caller,
    name_or_id: Option<&str>,
    now: DateTime<Utc>,
) -> Result<ProjectId, ScheduleError> {
    let Some(name_or_id) = name_or_id else {
        return Ok(projects::load_or_create_default_project(tx, caller.user, now).await?.id);
    };
    let name_or_id = NameOrId::from(name_or_id);
    let project = projects::find(tx, caller, &name_or_id).await?;
    if project.owner != caller.user {
        return Err(ProjectError::NotFound(name_or_id.excerpt()).into());
    }
    projects::require_active(&project)?;
    Ok(project.id)
}

/// Applies the timing and zone of a request to a rule; `None` if it names neither.
fn apply_rule_changes(
    mut rule: ScheduleRule,
    request: &UpdateSchedule,
    now: DateTime<Utc>,
) -> Result<Option<ScheduleRule>, ScheduleError> {
    if let Some(zone) = &request.time_zone {
        rule.zone = validate::parse_zone(Some(zone))?;
    }
    let (cron, at) = (request.cron.as_deref(), request.at.as_deref());
    let timing =
        validate::parse_timing(&TimingFields { cron, every_s: request.every_s, at }, rule.zone)?;
    let is_new = timing.is_some() || request.time_zone.is_some();
    if let Some(timing) = timing {
        (rule.timing, rule.anchor) = (timing, now);
    }
    Ok(is_new.then_some(rule))
}

async fn update_schedule(
    tx: &mut Tx,
    caller: &Caller,
    mut schedule: Schedule,
    request: UpdateSchedule,
) -> Result<ScheduleView, ScheduleError> {
    let now = tx.schedule_now().await?;
    if let Some(name) = &request.name {
        schedule.name = validate::validate_name(name)?;
    }
    let rule = apply_rule_changes(schedule.rule.clone(), &request, now)?;
    let is_new_time = rule.is_some();
    schedule.rule = rule.unwrap_or(schedule.rule);
    if let Some(payload) = validate::validate_payload(
        request.prompt,
        request.task.map(|task| *task),
        request.request.map(|submission| *submission),
    )? {
        schedule.payload = payload;
    }
    let was_enabled = schedule.is_enabled;
    schedule.is_enabled = request.enabled.unwrap_or(was_enabled);
    schedule.if_missed = request.if_missed.unwrap_or(schedule.if_missed);
    schedule.overlap = request.overlap.unwrap_or(schedule.overlap);
    schedule.next_due_at = match (schedule.is_enabled, was_enabled) {
        (false, _) => None,
        // An unchanged schedule keeps its next time, also one that is due right now.
        (true, true) if !is_new_time => schedule.next_due_at,
        (true, false) if !is_new_time => {
            let last_due_at = last_processed_time(tx, schedule.id).await?;
            Some(validate::first_due(
                &schedule.rule,
                last_due_at.map_or(now, |last| last.max(now)),
            )?)
        }
        (true, _) => Some(validate::first_due(&schedule.rule, now)?),
    };
    schedule.updated_at = now;
    match tx.schedule_update(&schedule).await {
        Ok(()) => {
            tx.event_append(&change_event(&schedule, "schedule.updated", caller)).await?;
            schedule_view(tx, schedule).await
        }
        Err(error) if error.is_duplicate() => Err(ScheduleError::NameTaken(schedule.name)),
        Err(error) => Err(error.into()),
    }
}

/// Limits skipping ahead. The very next time can always be skipped.
async fn check_skip_limit(
    tx: &mut Tx,
    schedule: ScheduleId,
    due: DateTime<Utc>,
) -> Result<(), ScheduleError> {
    let skipped = tx.schedule_count_skipped_ahead(schedule).await?;
    let is_far = due > tx.schedule_now().await? + MAX_SKIP_AHEAD;
    if skipped >= MAX_SKIPPED || (skipped > 0 && is_far) {
        return Err(ScheduleError::SkipLimit);
    }
    Ok(())
}

/// Returns the last processed time; it may be a skipped one in the future.
async fn last_processed_time(
    tx: &mut Tx,
    schedule: ScheduleId,
) -> Result<Option<DateTime<Utc>>, ScheduleError> {
    let newest = tx.schedule_run_list(schedule, None, MAX_RUNS_SEARCHED).await?;
    Ok(newest.into_iter().map(|run| run.due_at).max())
}

async fn load_run_view(
    tx: &mut Tx,
    schedule: &Schedule,
    run: ScheduleRunId,
) -> Result<ScheduleRunView, ScheduleError> {
    let run = tx.schedule_run_get(run).await?;
    let run = run.ok_or_else(|| ScheduleError::NotFound(schedule.name.clone()))?;
    Ok(run_view(schedule.rule.zone, run, vec![]))
}
