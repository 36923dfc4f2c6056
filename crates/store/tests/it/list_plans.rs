//! Streams and lists read the rows that they give out, and no others, however many there are.

use cynode_domain::ids::{ProjectId, TaskId, UserId};
use cynode_domain::run::RunState;
use cynode_domain::status::TaskStatus;
use cynode_store::{
    EventFilter, EventStore, RunFilter, StandingStore, Store, TaskFilter, TaskStore,
};
use cynode_testkit::{postgres_database, sqlite_database};
use uuid::Uuid;

use crate::opening::execute;

const USERS: u32 = 3;

/// Twenty thousand tasks with a run each, and a hundred thousand events, made by the engine itself.
/// Nearly all are completed and of the first user: the worst case for a reader who looks for others.
fn fill(is_sqlite: bool) -> String {
    let numbers = |most: u32| {
        if is_sqlite {
            format!(
                "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {most})"
            )
        } else {
            format!("WITH n(i) AS (SELECT generate_series(1, {most}))")
        }
    };
    let id = |number: &str| {
        if is_sqlite {
            format!("printf('00000000-0000-7000-8000-%012d', {number})")
        } else {
            format!("uuid('00000000-0000-7000-8000-' || lpad(({number})::text, 12, '0'))")
        }
    };
    let (t, yes, no) =
        if is_sqlite { ("1", "1", "0") } else { ("to_timestamp(1)", "true", "false") };
    let owner = id(&format!("CASE WHEN i % 1000 = 0 THEN {USERS} ELSE 1 END"));
    let status = "CASE WHEN i % 500 = 0 THEN 'running' ELSE 'completed' END";
    let (one, n_users, n_tasks, n_events) =
        (id("i"), numbers(USERS), numbers(20_000), numbers(100_000));
    let of_task = id("i % 20000 + 1");
    format!(
        "INSERT INTO users {n_users} SELECT {one}, 'u' || i, {no}, {yes}, {t}, {t} FROM n;
         INSERT INTO projects {n_users}
         SELECT {one}, 'p' || i, 'P', '', {one}, {no}, {yes}, {t}, {t} FROM n;
         INSERT INTO tasks (id, created_by, project_id, name, status, closed, input_mode, prompt,
             commands, acceptance_criteria, options, created_at, updated_at)
         {n_tasks} SELECT {one}, {owner}, {owner}, 't' || i, {status},
             CASE WHEN i % 500 = 0 THEN {no} ELSE {yes} END, 'commands', '', '[]', '[]', '{{}}', {t}, {t}
         FROM n;
         INSERT INTO runs (id, task_id, trace_id, status, runnable, created_at)
         {n_tasks} SELECT {one}, {one}, {one}, {status},
             CASE WHEN i % 500 = 0 THEN {yes} ELSE {no} END, {t} FROM n;
         INSERT INTO events (kind, owner_id, task_id, data, occurred_at)
         {n_events} SELECT 'k', {owner}, {of_task}, '{{}}', {t} FROM n;
         ANALYZE;"
    )
}

fn id(number: u128) -> Uuid {
    Uuid::from_u128(0x7000_8000_0000_0000_0000 + number)
}

/// Fails if a plan reads rows that it does not give out.
fn assert_indexed(plan: &str, index: &str) {
    assert!(plan.contains(index), "{index} is not used:\n{plan}");
    for table in ["tasks", "runs", "events"] {
        assert!(!plan.contains(&format!("Seq Scan on {table}")), "{plan}");
        assert!(!plan.contains(&format!("SCAN {table}")), "{plan}");
    }
    assert!(!plan.contains("USE TEMP B-TREE") && !plan.contains("Sort"), "{plan}");
}

async fn stores() -> [(Store, bool, cynode_testkit::TestDatabase); 2] {
    let (sqlite, postgres) = (sqlite_database(), postgres_database().await);
    let mut stores = vec![];
    for database in [sqlite, postgres] {
        let store = Store::open(&database.url).await.unwrap();
        let is_sqlite = database.url.starts_with("sqlite:");
        execute(&database.url, &fill(is_sqlite)).await;
        stores.push((store, is_sqlite, database));
    }
    stores.try_into().unwrap_or_else(|_| unreachable!())
}

#[tokio::test]
async fn streams_and_lists_read_what_they_give_out_and_nothing_else() {
    for (store, is_sqlite, _database) in stores().await {
        let user = |number| Some(UserId::from(id(number)));
        let in_order = if is_sqlite { "INTEGER PRIMARY KEY (rowid>?)" } else { "events_pkey" };
        let events = [
            (EventFilter { owner: None, task: None }, in_order),
            (EventFilter { owner: user(1), task: None }, "events_by_owner"),
            (EventFilter { owner: user(2), task: None }, "events_by_owner"),
            (EventFilter { owner: None, task: Some(TaskId::from(id(7))) }, "events_by_task"),
            (EventFilter { owner: user(1), task: Some(TaskId::from(id(7))) }, "events_by_task"),
        ];
        for (filter, index) in events {
            let plan = look!(store, tx => tx.event_list_plan(filter).await);
            assert_indexed(&plan, index);
            if is_sqlite && (filter.owner.is_some() || filter.task.is_some()) {
                // From the place of the reader on, and not from the first event.
                assert!(plan.contains("AND txid=? AND seq>?"), "{plan}");
            }
        }

        let project = Some(ProjectId::from(id(1)));
        let all = || TaskFilter { limit: 50, ..TaskFilter::default() };
        let status = Some(TaskStatus::Running);
        let tasks = [
            (TaskFilter { status, ..all() }, "tasks_by_status"),
            (TaskFilter { created_by: user(1), status, ..all() }, "tasks_by_creator_status"),
            (TaskFilter { created_by: user(1), ..all() }, "tasks_by_creator"),
            (TaskFilter { project, status, ..all() }, "tasks_by_project_status"),
            (
                TaskFilter { project, created_by: user(1), status, ..all() },
                "tasks_by_project_status",
            ),
            (TaskFilter { project, ..all() }, "tasks_by_project"),
        ];
        for (filter, index) in tasks {
            let plan = look!(store, tx => tx.task_list_plan(&filter).await);
            assert_indexed(&plan, index);
        }

        let all = || RunFilter { limit: 50, ..RunFilter::default() };
        let runs = [
            (RunFilter { state: Some(RunState::Failed), ..all() }, "runs_ended"),
            (RunFilter { state: Some(RunState::NeedsAnswer), ..all() }, "runs_waiting"),
            (RunFilter { state: Some(RunState::Queued), ..all() }, "runs_open"),
        ];
        for (filter, index) in runs {
            let plan = look!(store, tx => tx.run_page_plan(&filter).await);
            assert!(plan.contains(index), "{index} is not used:\n{plan}");
        }
        assert_eq!(look!(store, tx => tx.task_count(TaskStatus::Running).await), 40);
    }
}
