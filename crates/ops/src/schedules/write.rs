//! Making, changing and deleting schedules; firing and skipping by hand.

use chrono::{DateTime, TimeDelta, Utc};
use cynode_domain::ids::{ProjectId, ScheduleId, ScheduleRunId};
use cynode_domain::schedule::{IfMissed, Overlap, Payload, Rule};
use cynode_store::{
    DueStore, EventStore, NewScheduleRun, Schedule, ScheduleRunStore, ScheduleStore, Tx,
};
use cynode_wire::schedules::{CreateSchedule, ScheduleRunView, ScheduleView, UpdateSchedule};

use super::check::{self, When};
use super::due::KEPT;
use super::events::by;
use super::look::{run_view, view};
use super::{MAX_OPEN, MAX_SCHEDULES, MAX_SKIPPED, ScheduleError, Schedules, find, lock, state};
use crate::Caller;
use crate::projects::{self, ProjectError};
use crate::signals::Topic;

/// Among how many runs the last due time is looked for: those by hand may be newer than it.
const NEWEST: u32 = 50;
/// How far ahead a time may be that is skipped after another.
const FARTHEST_SKIP: TimeDelta = TimeDelta::days(366);

impl Schedules {
    /// Makes a schedule for the caller.
    pub async fn create(
        &self,
        caller: &Caller,
        request: CreateSchedule,
    ) -> Result<ScheduleView, ScheduleError> {
        let caller = caller.clone();
        let now = self.store.read(|tx| Box::pin(async move { tx.schedule_now().await })).await?;
        // A date that never comes is searched for long: nobody waits for a transaction meanwhile.
        let draft = Draft::check(request, now)?;
        let made = self
            .store
            .write(move |tx| Box::pin(async move { create(tx, &caller, draft).await }))
            .await?;
        self.signals.send(Topic::Schedules);
        Ok(made)
    }

    /// Changes what the request names.
    pub async fn update(
        &self,
        caller: &Caller,
        schedule: &str,
        request: UpdateSchedule,
    ) -> Result<ScheduleView, ScheduleError> {
        let (caller, schedule) = (caller.clone(), schedule.to_owned());
        self.check_times(&caller, &schedule, &request).await?;
        let changed = self
            .store
            .write(move |tx| {
                Box::pin(async move {
                    let schedule = lock(tx, &caller, &schedule).await?;
                    update(tx, &caller, schedule, request).await
                })
            })
            .await?;
        self.signals.send(Topic::Schedules);
        Ok(changed)
    }

    /// Refuses new times that never come, before a transaction is opened that others wait for.
    async fn check_times(
        &self,
        caller: &Caller,
        schedule: &str,
        request: &UpdateSchedule,
    ) -> Result<(), ScheduleError> {
        let (caller, schedule) = (caller.clone(), schedule.to_owned());
        let (found, now) = self
            .store
            .read(move |tx| {
                Box::pin(async move {
                    let found = find(tx, &caller, &schedule).await?;
                    Ok::<_, ScheduleError>((found, tx.schedule_now().await?))
                })
            })
            .await?;
        let is_enabled = request.enabled.unwrap_or(found.is_enabled);
        let rule = changed(found.rule, request, now)?;
        if let Some(rule) = rule.filter(|_| is_enabled) {
            check::first_due(&rule, now)?;
        }
        Ok(())
    }

    /// Deletes a schedule and its runs. The tasks that were made for it stay.
    pub async fn delete(&self, caller: &Caller, schedule: &str) -> Result<(), ScheduleError> {
        let (caller, schedule) = (caller.clone(), schedule.to_owned());
        self.store
            .write(move |tx| {
                Box::pin(async move {
                    let schedule = find(tx, &caller, &schedule).await?;
                    if tx.schedule_delete(schedule.id).await? {
                        tx.event_append(&by(&schedule, "schedule.deleted", &caller)).await?;
                    }
                    Ok(())
                })
            })
            .await
    }

    /// Fires now, whatever the clock says: also while the schedule is paused or earlier work is open, as
    /// long as that is not too much. When it is due next stays as it is.
    pub async fn fire(
        &self,
        caller: &Caller,
        schedule: &str,
    ) -> Result<ScheduleRunView, ScheduleError> {
        let (caller, schedule) = (caller.clone(), schedule.to_owned());
        let fired = self
            .store
            .write(move |tx| {
                Box::pin(async move {
                    let schedule = lock(tx, &caller, &schedule).await?;
                    if tx.schedule_open_runs(schedule.id).await? >= MAX_OPEN {
                        return Err(ScheduleError::TooManyOpen(schedule.name));
                    }
                    let run = NewScheduleRun {
                        id: ScheduleRunId::generate(),
                        schedule: schedule.id,
                        due_at: None,
                        is_manual: true,
                        skipped: None,
                    };
                    tx.schedule_run_insert(&run).await?;
                    tx.schedule_run_forget(schedule.id, KEPT).await?;
                    tx.event_append(&by(&schedule, "schedule.fired", &caller)).await?;
                    told(tx, &schedule, run.id).await
                })
            })
            .await?;
        self.signals.send(Topic::Schedules);
        Ok(fired)
    }

    /// Passes over the next due time; the record says so.
    pub async fn skip_next(
        &self,
        caller: &Caller,
        schedule: &str,
    ) -> Result<ScheduleView, ScheduleError> {
        let (caller, schedule) = (caller.clone(), schedule.to_owned());
        let skipped = self
            .store
            .write(move |tx| {
                Box::pin(async move {
                    let mut schedule = lock(tx, &caller, &schedule).await?;
                    let Some(due) = schedule.next_due_at else {
                        return Err(ScheduleError::NothingAhead(state(&schedule)));
                    };
                    may_skip(tx, schedule.id, due).await?;
                    schedule.next_due_at = schedule.rule.next_after(due);
                    tx.schedule_advance(schedule.id, due, schedule.next_due_at).await?;
                    let run = NewScheduleRun {
                        id: ScheduleRunId::generate(),
                        schedule: schedule.id,
                        due_at: Some(due),
                        is_manual: false,
                        skipped: Some(format!("{} wanted it skipped", caller.handle)),
                    };
                    tx.schedule_run_insert(&run).await?;
                    tx.schedule_run_forget(schedule.id, KEPT).await?;
                    tx.event_append(&by(&schedule, "schedule.skipped", &caller)).await?;
                    view(tx, schedule).await
                })
            })
            .await?;
        self.signals.send(Topic::Schedules);
        Ok(skipped)
    }
}

/// A schedule that breaks no rule of its own.
struct Draft {
    request: CreateSchedule,
    name: String,
    rule: Rule,
    payload: Payload,
    first: DateTime<Utc>,
}

impl Draft {
    fn check(mut request: CreateSchedule, now: DateTime<Utc>) -> Result<Self, ScheduleError> {
        let missing = |what: &str| ScheduleError::Invalid(vec![what.to_owned()]);
        let zone = check::zone(request.time_zone.as_deref())?;
        let (cron, at) = (request.cron.as_deref(), request.at.as_deref());
        let timing = check::timing(&When { cron, every_s: request.every_s, at }, zone)?
            .ok_or_else(|| missing("say when: one of cron, every_s and at is needed"))?;
        let rule = Rule { timing, zone, anchor: now };
        let first = check::first_due(&rule, now)?;
        let task = request.task.take().map(|task| *task);
        let payload = check::payload(request.prompt.take(), task)?
            .ok_or_else(|| missing("say what: one of prompt and task is needed"))?;
        let name = check::name(&request.name)?;
        Ok(Self { request, name, rule, payload, first })
    }
}

async fn create(tx: &mut Tx, caller: &Caller, draft: Draft) -> Result<ScheduleView, ScheduleError> {
    let Draft { request, name, rule, payload, first } = draft;
    let now = rule.anchor;
    let project = project(tx, caller, request.project.as_deref(), now).await?;
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
    tx.event_append(&by(&schedule, "schedule.created", caller)).await?;
    view(tx, schedule).await
}

/// The caller's own project: in that of somebody else nothing could be made when the time comes.
async fn project(
    tx: &mut Tx,
    caller: &Caller,
    wanted: Option<&str>,
    now: DateTime<Utc>,
) -> Result<ProjectId, ScheduleError> {
    let Some(wanted) = wanted else {
        return Ok(projects::default_of(tx, caller.user, now).await?.id);
    };
    let project = projects::find(tx, caller, wanted).await?;
    if project.owner != caller.user {
        return Err(ProjectError::NotFound(wanted.chars().take(100).collect()).into());
    }
    if !project.is_active {
        let fault = format!("project \"{}\" takes no new tasks", project.slug);
        return Err(ProjectError::Invalid(vec![fault]).into());
    }
    Ok(project.id)
}

/// The rule with what a request changes of it, if it names a time or a zone.
fn changed(
    mut rule: Rule,
    request: &UpdateSchedule,
    now: DateTime<Utc>,
) -> Result<Option<Rule>, ScheduleError> {
    if let Some(zone) = &request.time_zone {
        rule.zone = check::zone(Some(zone))?;
    }
    let (cron, at) = (request.cron.as_deref(), request.at.as_deref());
    let timing = check::timing(&When { cron, every_s: request.every_s, at }, rule.zone)?;
    let is_new = timing.is_some() || request.time_zone.is_some();
    if let Some(timing) = timing {
        (rule.timing, rule.anchor) = (timing, now);
    }
    Ok(is_new.then_some(rule))
}

async fn update(
    tx: &mut Tx,
    caller: &Caller,
    mut schedule: Schedule,
    request: UpdateSchedule,
) -> Result<ScheduleView, ScheduleError> {
    let now = tx.schedule_now().await?;
    if let Some(name) = &request.name {
        schedule.name = check::name(name)?;
    }
    let rule = changed(schedule.rule.clone(), &request, now)?;
    let is_new_time = rule.is_some();
    schedule.rule = rule.unwrap_or(schedule.rule);
    if let Some(payload) = check::payload(request.prompt, request.task.map(|task| *task))? {
        schedule.payload = payload;
    }
    let was_enabled = schedule.is_enabled;
    schedule.is_enabled = request.enabled.unwrap_or(was_enabled);
    schedule.if_missed = request.if_missed.unwrap_or(schedule.if_missed);
    schedule.overlap = request.overlap.unwrap_or(schedule.overlap);
    schedule.next_due_at = match (schedule.is_enabled, was_enabled) {
        (false, _) => None,
        // What did not change keeps the time that is waited for, one that has just come included.
        (true, true) if !is_new_time => schedule.next_due_at,
        (true, false) if !is_new_time => {
            let dealt_with = dealt_with(tx, schedule.id).await?;
            Some(check::first_due(&schedule.rule, dealt_with.map_or(now, |last| last.max(now)))?)
        }
        (true, _) => Some(check::first_due(&schedule.rule, now)?),
    };
    schedule.updated_at = now;
    match tx.schedule_update(&schedule).await {
        Ok(()) => {
            tx.event_append(&by(&schedule, "schedule.updated", caller)).await?;
            view(tx, schedule).await
        }
        Err(error) if error.is_duplicate() => Err(ScheduleError::NameTaken(schedule.name)),
        Err(error) => Err(error.into()),
    }
}

/// Refuses to skip ever more of what is to come. The next time of all can always be skipped.
async fn may_skip(
    tx: &mut Tx,
    schedule: ScheduleId,
    due: DateTime<Utc>,
) -> Result<(), ScheduleError> {
    let skipped = tx.schedule_skipped_ahead(schedule).await?;
    let is_far = due > tx.schedule_now().await? + FARTHEST_SKIP;
    if skipped >= MAX_SKIPPED || (skipped > 0 && is_far) {
        return Err(ScheduleError::TooFarAhead);
    }
    Ok(())
}

/// The last time that was dealt with; it may be one ahead that somebody wanted skipped.
async fn dealt_with(
    tx: &mut Tx,
    schedule: ScheduleId,
) -> Result<Option<DateTime<Utc>>, ScheduleError> {
    let newest = tx.schedule_run_list(schedule, None, NEWEST).await?;
    Ok(newest.into_iter().map(|run| run.due_at).max())
}

async fn told(
    tx: &mut Tx,
    schedule: &Schedule,
    run: ScheduleRunId,
) -> Result<ScheduleRunView, ScheduleError> {
    let run = tx.schedule_run_get(run).await?;
    let run = run.ok_or_else(|| ScheduleError::NotFound(schedule.name.clone()))?;
    Ok(run_view(schedule.rule.zone, run, vec![]))
}
