//! Tests of traces.

use chrono::{DateTime, TimeDelta, Utc};
use cynode_domain::ids::{JobId, ProfileId, RunId, TaskId, TraceEventId, TraceId, UserId};
use cynode_domain::status::RunStatus;
use cynode_domain::trace::{
    TraceActor, TraceEntry, TraceEvent, TraceEventKind, TraceField, TraceStop,
};
use cynode_store::{NewJob, Run, Store, TraceEventRow, TraceFilter, TraceListFilter, TraceProfile};
use serde_json::json;

use crate::world::{World, at};

fn event(trace: TraceId, user: UserId, entry: TraceEntry) -> TraceEventRow {
    TraceEventRow {
        id: TraceEventId::generate(),
        user,
        task: Some(TaskId::generate()),
        run: Some(RunId::generate()),
        job: None,
        handoff: Some("plan".to_owned()),
        event: TraceEvent {
            trace,
            profile: Some(ProfileId::generate()),
            actor: TraceActor::Planner,
            at: at(1),
            entry,
        },
        recorded_at: at(2),
    }
}

fn all_of(trace: TraceId) -> TraceFilter {
    TraceFilter { trace, owner: None, limit: 100 }
}

/// Any time: no conversation of these tests is outside.
fn always() -> (DateTime<Utc>, DateTime<Utc>) {
    (at(0), at(0) + TimeDelta::days(365))
}

/// A task with a run of this trace and a job.
async fn traced_task(world: &World, name: &str, trace: TraceId) -> (TaskId, RunId) {
    let task = world.task(name).await;
    let run = Run { id: RunId::generate(), task, trace, status: RunStatus::Pending };
    let job = NewJob {
        id: JobId::generate(),
        task,
        run: run.id,
        step_index: 0,
        attempt: 1,
        pinned_node: None,
        payload: json!({}),
    };
    write_tx!(world.store, tx => {
        tx.run_insert(&run).await?;
        tx.job_insert(&job).await
    });
    (task, run.id)
}

pub(crate) async fn events_read_back_in_order_and_to_their_user_only(store: Store) {
    let world = World::new(store).await;
    let (trace, other) = (TraceId::generate(), world.other_user("eve").await);
    let entries = [
        TraceEntry::new(TraceEventKind::ToolsSelected)
            .at_step(3)
            .with(TraceField::Tools, vec!["git.diff".to_owned()])
            .with(TraceField::Candidates, 96_u32),
        TraceEntry::plan_finished(TraceStop::NoRelevantTool),
    ];
    let mine: Vec<_> = entries.into_iter().map(|entry| event(trace, world.user, entry)).collect();
    let theirs = event(trace, other, TraceEntry::new(TraceEventKind::Error));
    let elsewhere = event(TraceId::generate(), world.user, TraceEntry::new(TraceEventKind::Error));
    for row in mine.iter().cloned().chain([theirs.clone(), elsewhere]) {
        write_tx!(world.store, tx => tx.trace_event_insert(&row).await);
    }
    let of_user = TraceFilter { owner: Some(world.user), ..all_of(trace) };

    let found = read_tx!(world.store, tx => tx.trace_event_list(&of_user).await);
    let everything = read_tx!(world.store, tx => tx.trace_event_list(&all_of(trace)).await);

    assert_eq!(found, mine);
    assert_eq!(everything.len(), 3);
    assert_eq!(everything[2], theirs);
}

pub(crate) async fn a_repeated_event_is_stored_once_and_old_ones_are_deleted(store: Store) {
    let world = World::new(store).await;
    let trace = TraceId::generate();
    let old = event(trace, world.user, TraceEntry::new(TraceEventKind::PlanStarted));
    let job = JobId::generate();
    let new = TraceEventRow {
        recorded_at: at(100),
        job: Some(job),
        ..event(trace, world.user, TraceEntry::new(TraceEventKind::PlanStarted))
    };
    for row in [old.clone(), old, new.clone()] {
        write_tx!(world.store, tx => tx.trace_event_insert(&row).await);
    }
    assert_eq!(read_tx!(world.store, tx => tx.trace_event_list(&all_of(trace)).await).len(), 2);

    for (trace, job, expected) in
        [(trace, job, true), (trace, JobId::generate(), false), (TraceId::generate(), job, false)]
    {
        let has = read_tx!(world.store, tx => tx.trace_has_events_of_job(trace, job).await);
        assert_eq!(has, expected);
    }

    let deleted = write_tx!(world.store, tx => tx.trace_event_trim(at(50), 10).await);

    assert_eq!(deleted, 1);
    assert_eq!(read_tx!(world.store, tx => tx.trace_event_list(&all_of(trace)).await), [new]);
}

pub(crate) async fn a_trace_has_the_rows_of_its_runs_and_of_no_other(store: Store) {
    let world = World::new(store).await;
    let (trace, other_trace) = (TraceId::generate(), TraceId::generate());
    let (task, run) = traced_task(&world, "mine", trace).await;
    traced_task(&world, "other", other_trace).await;
    let stranger = world.other_user("eve").await;
    let filter = all_of(trace);
    let of_stranger = TraceFilter { owner: Some(stranger), ..filter };

    let tasks = read_tx!(world.store, tx => tx.trace_tasks(&filter).await);
    let runs = read_tx!(world.store, tx => tx.trace_runs(&filter).await);
    let jobs = read_tx!(world.store, tx => tx.trace_jobs(&filter).await);
    let calls = read_tx!(world.store, tx => tx.trace_tool_calls(&filter, always()).await);
    let models = read_tx!(world.store, tx => tx.trace_model_calls(&filter).await);
    let turns = read_tx!(world.store, tx => tx.trace_chat_turns(&filter).await);
    let decisions = read_tx!(world.store, tx => tx.trace_decisions(&filter).await);
    let transitions = read_tx!(world.store, tx => tx.trace_transitions(&filter).await);
    let strange = read_tx!(world.store, tx => {
        Ok::<_, cynode_store::Error>((
            tx.trace_tasks(&of_stranger).await?.len(),
            tx.trace_runs(&of_stranger).await?.len(),
            tx.trace_jobs(&of_stranger).await?.len(),
            tx.trace_counts(&of_stranger, always()).await?,
        ))
    });

    assert_eq!(tasks.iter().map(|it| it.id).collect::<Vec<_>>(), [task]);
    assert_eq!(
        runs.iter().map(|it| (it.id, it.name.as_str())).collect::<Vec<_>>(),
        [(run, "mine")]
    );
    assert_eq!(jobs.iter().map(|it| it.run).collect::<Vec<_>>(), [run]);
    assert!(calls.is_empty() && models.is_empty() && turns.is_empty());
    assert!(decisions.is_empty() && transitions.is_empty());
    assert_eq!(strange, (0, 0, 0, cynode_store::TraceCounts::default()));
}

pub(crate) async fn the_counts_of_a_trace_do_not_depend_on_the_limit(store: Store) {
    let world = World::new(store).await;
    let trace = TraceId::generate();
    for name in ["a", "b", "c"] {
        traced_task(&world, name, trace).await;
    }
    let filter = TraceFilter { limit: 2, ..all_of(trace) };

    let shown = read_tx!(world.store, tx => tx.trace_jobs(&filter).await);
    let counts = read_tx!(world.store, tx => tx.trace_counts(&filter, always()).await);

    assert_eq!(shown.len(), 2);
    assert_eq!((counts.tasks, counts.runs, counts.jobs), (3, 3, 3));
    assert_eq!((counts.events, counts.tool_calls, counts.model_calls.calls), (0, 0, 0));
}

pub(crate) async fn traces_are_listed_by_their_newest_run(store: Store) {
    let world = World::new(store).await;
    let (first, second) = (TraceId::generate(), TraceId::generate());
    traced_task(&world, "a", first).await;
    let (_, of_second) = traced_task(&world, "b", second).await;
    let (_, newest) = traced_task(&world, "c", first).await;
    let stranger = world.other_user("eve").await;
    let filter =
        TraceListFilter { owner: Some(world.user), limit: 10, ..TraceListFilter::default() };
    let before = TraceListFilter { before: Some(newest), ..filter };
    let of_stranger = TraceListFilter { owner: Some(stranger), ..filter };
    let failed = TraceListFilter { status: Some(RunStatus::Failed), ..filter };

    let page = read_tx!(world.store, tx => tx.trace_list(&filter).await);
    let rest = read_tx!(world.store, tx => tx.trace_list(&before).await);
    let none = read_tx!(world.store, tx => tx.trace_list(&of_stranger).await);
    let no_failure = read_tx!(world.store, tx => tx.trace_list(&failed).await);

    assert_eq!(page.iter().map(|it| it.id).collect::<Vec<_>>(), [newest, of_second]);
    assert_eq!(rest.iter().map(|it| it.trace).collect::<Vec<_>>(), [second]);
    assert!(none.is_empty() && no_failure.is_empty());
}

pub(crate) async fn a_trace_belongs_to_the_profiles_of_its_tasks_and_work_to_its_newest_trace(
    store: Store,
) {
    let world = World::new(store).await;
    let (first, second) = (TraceId::generate(), TraceId::generate());
    let (task, run) = traced_task(&world, "a", first).await;
    let newer = Run { id: RunId::generate(), task, trace: second, status: RunStatus::Pending };
    write_tx!(world.store, tx => tx.run_insert(&newer).await);
    let row = read_tx!(world.store, tx => tx.task_get(task).await).unwrap().spec;
    let stranger = world.other_user("eve").await;

    let profiles = read_tx!(world.store, tx => tx.trace_profiles(first, row.created_by).await);
    let strange = read_tx!(world.store, tx => tx.trace_profiles(first, stranger).await);
    let of_run = read_tx!(world.store, tx => tx.trace_of_work(Some(run), Some(task)).await);
    let of_task = read_tx!(world.store, tx => tx.trace_of_work(None, Some(task)).await);
    let unknown = TaskId::generate();
    let of_nothing = read_tx!(world.store, tx => tx.trace_of_work(None, Some(unknown)).await);

    assert_eq!(profiles, [TraceProfile { project: row.project, profile: row.profile() }]);
    assert_eq!(row.profile(), ProfileId::default_of(row.project));
    assert_eq!(strange, []);
    assert_eq!((of_run, of_task, of_nothing), (Some(first), Some(second), None));
}
