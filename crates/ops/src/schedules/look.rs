//! Looking at schedules and at what came of them.

use std::collections::HashMap;

use cynode_domain::ids::{ScheduleId, ScheduleRunId};
use cynode_domain::schedule::{Payload, Timing, Zone};
use cynode_store::{
    Schedule, ScheduleRun, ScheduleRunStore, ScheduleStore, ScheduledTask, ScheduledTaskStore, Tx,
};
use cynode_wire::page::{Page, PageQuery};
use cynode_wire::schedules::{ScheduleQuery, ScheduleRunView, ScheduleView, ScheduledTaskView};

use super::{ScheduleError, Schedules, find, state};
use crate::Caller;
use crate::paging::PageRequest;
use crate::projects;

impl Schedules {
    /// A page of the schedules the caller may see, newest first.
    pub async fn list(
        &self,
        caller: &Caller,
        query: &ScheduleQuery,
    ) -> Result<Page<ScheduleView>, ScheduleError> {
        let request = PageRequest::<ScheduleId>::check(&query.page())?;
        let (caller, before, fetch) = (caller.clone(), request.before, request.fetch);
        let project = query.project.clone();
        let views = self
            .store
            .read(move |tx| {
                Box::pin(async move {
                    let project = match &project {
                        Some(wanted) => Some(projects::find(tx, &caller, wanted).await?.id),
                        None => None,
                    };
                    let of = (caller.own(), project);
                    let mut views = vec![];
                    for schedule in tx.schedule_list(of, before, fetch).await? {
                        views.push(view(tx, schedule).await?);
                    }
                    Ok::<_, ScheduleError>(views)
                })
            })
            .await?;
        Ok(request.page(views, |view| view.id.to_string(), |view| view))
    }

    /// A schedule, by id or name.
    pub async fn get(
        &self,
        caller: &Caller,
        schedule: &str,
    ) -> Result<ScheduleView, ScheduleError> {
        let (caller, schedule) = (caller.clone(), schedule.to_owned());
        self.store
            .read(move |tx| {
                Box::pin(async move {
                    let schedule = find(tx, &caller, &schedule).await?;
                    view(tx, schedule).await
                })
            })
            .await
    }

    /// A page of a schedule's runs, newest first.
    pub async fn runs(
        &self,
        caller: &Caller,
        schedule: &str,
        query: &PageQuery,
    ) -> Result<Page<ScheduleRunView>, ScheduleError> {
        let request = PageRequest::<ScheduleRunId>::check(query)?;
        let (caller, schedule) = (caller.clone(), schedule.to_owned());
        let (before, fetch) = (request.before, request.fetch);
        let runs = self
            .store
            .read(move |tx| {
                Box::pin(async move {
                    let schedule = find(tx, &caller, &schedule).await?;
                    let runs = tx.schedule_run_list(schedule.id, before, fetch).await?;
                    with_tasks(tx, &schedule, runs).await
                })
            })
            .await?;
        Ok(request.page(runs, |run| run.id.to_string(), |run| run))
    }
}

pub(super) async fn view(tx: &mut Tx, schedule: Schedule) -> Result<ScheduleView, ScheduleError> {
    let last = tx.schedule_run_list(schedule.id, None, 1).await?;
    let last_run = with_tasks(tx, &schedule, last).await?.pop();
    let (zone, state) = (schedule.rule.zone, state(&schedule).to_owned());
    let (cron, every_s, at) = match schedule.rule.timing {
        Timing::Cron { expression } => (Some(expression), None, None),
        Timing::Every { seconds } => (None, Some(seconds), None),
        Timing::At { at } => (None, None, Some(at)),
    };
    let (prompt, task) = match schedule.payload {
        Payload::Prompt { text } => (Some(text), None),
        Payload::Task { request } => (None, serde_json::from_value(request).ok().map(Box::new)),
    };
    Ok(ScheduleView {
        id: schedule.id,
        name: schedule.name,
        owner_id: schedule.owner,
        project_id: schedule.project,
        state,
        cron,
        every_s,
        at,
        time_zone: zone.to_string(),
        prompt,
        task,
        enabled: schedule.is_enabled,
        if_missed: schedule.if_missed,
        overlap: schedule.overlap,
        next_due_at: schedule.next_due_at,
        next_due_local: schedule.next_due_at.map(|due| zone.local(due)),
        last_run,
        created_at: schedule.created_at,
        updated_at: schedule.updated_at,
    })
}

/// Runs, newest first, each with its tasks.
async fn with_tasks(
    tx: &mut Tx,
    schedule: &Schedule,
    runs: Vec<ScheduleRun>,
) -> Result<Vec<ScheduleRunView>, ScheduleError> {
    let (Some(newest), Some(oldest)) = (runs.first(), runs.last()) else { return Ok(vec![]) };
    let mut tasks: HashMap<ScheduleRunId, Vec<ScheduledTask>> = HashMap::new();
    for task in tx.scheduled_task_list(schedule.id, (oldest.id, newest.id)).await? {
        tasks.entry(task.run).or_default().push(task);
    }
    let told = |run: ScheduleRun| {
        let tasks = tasks.remove(&run.id).unwrap_or_default();
        run_view(schedule.rule.zone, run, tasks)
    };
    Ok(runs.into_iter().map(told).collect())
}

pub(super) fn run_view(zone: Zone, run: ScheduleRun, tasks: Vec<ScheduledTask>) -> ScheduleRunView {
    let task = |task: ScheduledTask| ScheduledTaskView {
        id: task.task,
        name: task.name,
        status: task.status.shown(),
    };
    ScheduleRunView {
        id: run.id,
        due_at: run.due_at,
        due_local: zone.local(run.due_at),
        manual: run.is_manual,
        status: run.status,
        summary: run.summary,
        tasks: tasks.into_iter().map(task).collect(),
        attempts: run.attempts,
        ended_at: run.ended_at,
    }
}
