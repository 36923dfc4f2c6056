//! Reading schedules and their runs.

use std::collections::HashMap;

use cynode_domain::ids::{ProjectId, ScheduleId, ScheduleRunId, UserId};
use cynode_domain::name_or_id::NameOrId;
use cynode_domain::schedule::{SchedulePayload, ScheduleTiming, ScheduleZone};
use cynode_store::{ListedProfiles, Schedule, ScheduleRun, ScheduledTask, Tx};
use cynode_wire::page::{Page, PageQuery};
use cynode_wire::schedules::{ScheduleQuery, ScheduleRunView, ScheduleView, ScheduledTaskView};

use super::profiles::is_in_profiles;
use super::{ScheduleError, Schedules, find_schedule, state_name};
use cynode_resources::Caller;
use cynode_resources::paging::PageRequest;
use cynode_resources::projects;

impl Schedules {
    /// Returns a page of the schedules that the caller may see, newest first.
    pub async fn list(
        &self,
        caller: &Caller,
        query: &ScheduleQuery,
    ) -> Result<Page<ScheduleView>, ScheduleError> {
        self.list_in(caller, query, ListedProfiles::All).await
    }

    /// Same as [`Self::list`], of schedules whose work is done in these profiles.
    pub async fn list_in(
        &self,
        caller: &Caller,
        query: &ScheduleQuery,
        profiles: ListedProfiles,
    ) -> Result<Page<ScheduleView>, ScheduleError> {
        let request = PageRequest::<ScheduleId>::parse(&query.page())?;
        let (caller, before, fetch) = (caller.clone(), request.before, request.fetch);
        let project = query.project.clone();
        let views = self
            .store
            .read(move |tx| {
                Box::pin(async move {
                    let project = match &project {
                        Some(name_or_id) => {
                            Some(projects::find(tx, &caller, &name_or_id.into()).await?.id)
                        }
                        None => None,
                    };
                    let selection = ScheduleSelection { owner: caller.own(), project, profiles };
                    let found = load_newest(tx, &selection, before, fetch).await?;
                    schedule_views(tx, found).await
                })
            })
            .await?;
        Ok(request.page(views, |view| view.id.to_string(), |view| view))
    }

    /// Returns a schedule by id or name.
    pub async fn get(
        &self,
        caller: &Caller,
        schedule: &NameOrId<ScheduleId>,
    ) -> Result<ScheduleView, ScheduleError> {
        self.get_in(caller, schedule, ListedProfiles::All).await
    }

    /// Same as [`Self::get`]; a schedule whose work is done in another profile is not found.
    pub async fn get_in(
        &self,
        caller: &Caller,
        schedule: &NameOrId<ScheduleId>,
        profiles: ListedProfiles,
    ) -> Result<ScheduleView, ScheduleError> {
        let (caller, name_or_id) = (caller.clone(), schedule.to_owned());
        self.store
            .read(move |tx| {
                Box::pin(async move {
                    let schedule = find_schedule(tx, &caller, &name_or_id).await?;
                    if !is_in_profiles(&schedule, profiles) {
                        return Err(ScheduleError::NotFound(name_or_id.excerpt()));
                    }
                    schedule_view(tx, schedule).await
                })
            })
            .await
    }

    /// Returns a page of a schedule's runs, newest first.
    pub async fn runs(
        &self,
        caller: &Caller,
        schedule: &NameOrId<ScheduleId>,
        query: &PageQuery,
    ) -> Result<Page<ScheduleRunView>, ScheduleError> {
        let request = PageRequest::<ScheduleRunId>::parse(query)?;
        let (caller, schedule) = (caller.clone(), schedule.to_owned());
        let (before, fetch) = (request.before, request.fetch);
        let runs = self
            .store
            .read(move |tx| {
                Box::pin(async move {
                    let schedule = find_schedule(tx, &caller, &schedule).await?;
                    let runs = tx.schedule_run_list(schedule.id, before, fetch).await?;
                    run_views(tx, &schedule, runs).await
                })
            })
            .await?;
        Ok(request.page(runs, |run| run.id.to_string(), |run| run))
    }
}

/// Selects schedules of a list.
struct ScheduleSelection {
    /// Only schedules of this user; all users if absent.
    owner: Option<UserId>,
    project: Option<ProjectId>,
    profiles: ListedProfiles,
}

/// Loads at most `wanted` selected schedules before `before`, newest first. Profiles are named in payloads and so filtered
/// after the read, which goes on until there are enough: fewer mean that no more follow.
async fn load_newest(
    tx: &mut Tx,
    selection: &ScheduleSelection,
    mut before: Option<ScheduleId>,
    wanted: u32,
) -> Result<Vec<Schedule>, ScheduleError> {
    let ScheduleSelection { owner, project, profiles } = *selection;
    let (mut selected, most) = (vec![], wanted as usize);
    loop {
        let read = tx.schedule_list(owner, project, before, wanted).await?;
        let is_last = read.len() < most;
        before = read.last().map(|schedule| schedule.id);
        selected.extend(read.into_iter().filter(|schedule| is_in_profiles(schedule, profiles)));
        if is_last || selected.len() >= most {
            selected.truncate(most);
            return Ok(selected);
        }
    }
}

pub(super) async fn schedule_view(
    tx: &mut Tx,
    schedule: Schedule,
) -> Result<ScheduleView, ScheduleError> {
    let id = schedule.id.to_string();
    schedule_views(tx, vec![schedule]).await?.pop().ok_or(ScheduleError::NotFound(id))
}

/// Adds their last runs to schedules. The number of statements does not depend on the number of schedules.
async fn schedule_views(
    tx: &mut Tx,
    schedules: Vec<Schedule>,
) -> Result<Vec<ScheduleView>, ScheduleError> {
    let ids: Vec<ScheduleId> = schedules.iter().map(|schedule| schedule.id).collect();
    let runs = tx.newest_schedule_runs_of(&ids).await?;
    let mut tasks = load_tasks(tx, &runs).await?;
    let mut last: HashMap<ScheduleId, ScheduleRun> =
        runs.into_iter().map(|run| (run.schedule, run)).collect();
    let view = |schedule: Schedule| {
        let last_run = last.remove(&schedule.id).map(|run| {
            let tasks = tasks.remove(&run.id).unwrap_or_default();
            run_view(schedule.rule.zone, run, tasks)
        });
        view_with_run(schedule, last_run)
    };
    Ok(schedules.into_iter().map(view).collect())
}

fn view_with_run(schedule: Schedule, last_run: Option<ScheduleRunView>) -> ScheduleView {
    let (zone, state) = (schedule.rule.zone, state_name(&schedule).to_owned());
    let (cron, every_s, at) = match schedule.rule.timing {
        ScheduleTiming::Cron { expression } => (Some(expression), None, None),
        ScheduleTiming::Every { seconds } => (None, Some(seconds), None),
        ScheduleTiming::At { at } => (None, None, Some(at)),
    };
    let (prompt, task, request) = match schedule.payload {
        SchedulePayload::Prompt { text } => (Some(text), None, None),
        SchedulePayload::Task { request } => {
            (None, serde_json::from_value(request).ok().map(Box::new), None)
        }
        SchedulePayload::Request { request } => {
            (None, None, serde_json::from_value(request).ok().map(Box::new))
        }
    };
    ScheduleView {
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
        request,
        enabled: schedule.is_enabled,
        if_missed: schedule.if_missed,
        overlap: schedule.overlap,
        next_due_at: schedule.next_due_at,
        next_due_local: schedule.next_due_at.map(|due| zone.format_rfc3339(due)),
        last_run,
        created_at: schedule.created_at,
        updated_at: schedule.updated_at,
    }
}

/// Adds the tasks to the runs of one schedule.
async fn run_views(
    tx: &mut Tx,
    schedule: &Schedule,
    runs: Vec<ScheduleRun>,
) -> Result<Vec<ScheduleRunView>, ScheduleError> {
    let mut tasks = load_tasks(tx, &runs).await?;
    let view = |run: ScheduleRun| {
        let tasks = tasks.remove(&run.id).unwrap_or_default();
        run_view(schedule.rule.zone, run, tasks)
    };
    Ok(runs.into_iter().map(view).collect())
}

/// The tasks that were created for runs.
async fn load_tasks(
    tx: &mut Tx,
    runs: &[ScheduleRun],
) -> Result<HashMap<ScheduleRunId, Vec<ScheduledTask>>, ScheduleError> {
    let ids: Vec<ScheduleRunId> = runs.iter().map(|run| run.id).collect();
    let mut tasks: HashMap<ScheduleRunId, Vec<ScheduledTask>> = HashMap::new();
    for task in tx.scheduled_tasks_of(&ids).await? {
        tasks.entry(task.run).or_default().push(task);
    }
    Ok(tasks)
}

pub(super) fn run_view(
    zone: ScheduleZone,
    run: ScheduleRun,
    tasks: Vec<ScheduledTask>,
) -> ScheduleRunView {
    let task = |task: ScheduledTask| ScheduledTaskView {
        id: task.task,
        name: task.name,
        status: task.status.to_shown(),
    };
    ScheduleRunView {
        id: run.id,
        due_at: run.due_at,
        due_local: zone.format_rfc3339(run.due_at),
        manual: run.is_manual,
        status: run.status,
        summary: run.summary,
        tasks: tasks.into_iter().map(task).collect(),
        attempts: run.attempts,
        ended_at: run.ended_at,
    }
}
