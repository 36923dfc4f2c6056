//! Schedules with real processes: each due time is processed once, even if processes die.

use std::fs;
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::{Duration, Instant};

use cynode_client::{Client, ClientError};
use cynode_domain::ids::TaskId;
use cynode_domain::schedule::ScheduleRunStatus;
use cynode_runtime::clock::{Clock as _, SystemClock};
use cynode_store::{EventCursor, EventFilter, Store};
use cynode_testkit::postgres_database;
use cynode_wire::page::PageQuery;
use cynode_wire::schedules::{CreateSchedule, ScheduleRunView};
use cynode_wire::tasks::TaskQuery;
use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::fleet::{NODE, ProcessFleet, was_ended_by};
use crate::processes::eventually;
use crate::system::{PATIENCE, System};
use crate::work::{count_step_runs, retry_while_unavailable, wait_until_closed};

const ORCHESTRATOR: &str = "orchestrator";
const RUNNER: &str = "runner";
const MANAGER: &str = "manager";
/// Each run adds a line to its own file in the workspace.
const PROSE: &str = "Please run `echo ran >> step-1`";

/// How long before its due time a schedule is created. A busy machine needs a while to create them
/// all, and a time in the past is rejected.
const AHEAD: Duration = Duration::from_secs(40);

/// Waits until the newest run of a schedule has ended; `restart_exited` is called meanwhile.
async fn wait_for_run_end(
    client: &Client,
    schedule: &str,
    mut tend: impl FnMut(),
) -> ScheduleRunView {
    let begun = Instant::now();
    loop {
        tend();
        let page = PageQuery::default();
        let found = client.schedule_runs(schedule, &page).await;
        assert!(found.as_ref().err().is_none_or(ClientError::is_transient), "{found:?}");
        let found = found.map(|page| page.items).unwrap_or_default();
        assert!(found.len() < 2, "{found:#?}");
        if let Some(run) = found.into_iter().next().filter(|run| run.status.is_terminal()) {
            return run;
        }
        assert!(begun.elapsed() < AHEAD + PATIENCE, "{schedule} has not come to its end");
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
}

/// The trigger of a task, from its event.
async fn load_trigger(database: &str, task: TaskId) -> Value {
    let store = Store::open(database).await.unwrap();
    let events: Result<Vec<_>, cynode_store::Error> = store
        .read(move |tx| {
            Box::pin(async move {
                let filter = EventFilter { owner: None, task: Some(task) };
                tx.event_list(EventCursor::default(), filter, 100).await
            })
        })
        .await;
    let created = events.unwrap().into_iter().find(|event| event.kind == "task.created");
    created.unwrap().data["trigger"].clone()
}

async fn count_tasks(client: &Client) -> usize {
    let query = TaskQuery::default();
    retry_while_unavailable(async || client.task_list(&query).await).await.items.len()
}

#[tokio::test]
async fn prose_that_comes_due_becomes_one_task_that_runs_to_its_end() {
    let system = System::new().await;

    let made = ["schedule", "create", "Tidy up", "--in", "5s", "--prompt", PROSE, "-o", "json"];
    let made = system.cynork(&made).expect_success().json();
    assert_eq!((&made["name"], &made["state"]), (&json!("tidy-up"), &json!("active")));
    let run = wait_for_run_end(&system.client, "tidy-up", || {}).await;

    assert_eq!((run.status, run.tasks.len()), (ScheduleRunStatus::Done, 1), "{run:#?}");
    let task = run.tasks[0].id;
    let view = wait_until_closed(&system.client, task, PATIENCE).await;
    assert_eq!(view.status.as_str(), "completed", "{view:#?}");
    assert_eq!(count_step_runs(&system.data_dir().join("node"), task, 1), 1);
    assert_eq!(count_tasks(&system.client).await, 1);
    let database = format!("sqlite:{}", system.data_dir().join("cynode.db").display());
    assert_eq!(load_trigger(&database, task).await, "schedule");
    let shown = system.cynork(&["schedule", "show", "tidy-up"]).expect_success().stdout;
    assert!(shown.contains("finished") && shown.contains("is completed"), "{shown}");
    let listed = system.cynork(&["schedule", "runs", "tidy-up"]).expect_success().stdout;
    assert!(listed.contains("done") && listed.contains("(completed)"), "{listed}");
}

#[tokio::test]
async fn an_orchestrator_that_dies_while_it_deals_with_a_schedule_makes_its_task_once() {
    let mut fleet = ProcessFleet::new(None);
    fs::create_dir_all(fleet.data().join("run/pma")).unwrap();
    let socket = fleet.data().join("run/pma/project_manager.sock");
    let config = format!("[orchestrator]\npma_addresses = [\"unix:{}\"]\n", socket.display());
    fs::write(fleet.data().join("cynode.toml"), config).unwrap();
    let url = fleet.add_orchestrator(ORCHESTRATOR).await;
    fleet.add_runner(RUNNER, &url, Duration::from_secs(1));
    fleet.add_node(NODE, &url).await;
    fleet.add_manager(MANAGER, &url);
    eventually("the manager", PATIENCE, || UnixStream::connect(&socket).ok()).await;
    let client = fleet.client(&url);

    for (number, point) in ["schedule_claimed", "schedule_worked"].into_iter().enumerate() {
        let (name, point) = (format!("nightly-{number}"), format!("{point}@schedule"));
        let request = json!({ "name": name, "every_s": 3600, "prompt": PROSE });
        let request: CreateSchedule = serde_json::from_value(request).unwrap();
        client.schedule_create(&request).await.unwrap();
        fleet.arm_failpoint(&point, "");
        client.schedule_fire(&name).await.unwrap();
        fleet.wait_for_failpoint(&point).await;
        let death = eventually("its death", PATIENCE, || fleet.exit_status(ORCHESTRATOR)).await;
        assert!(was_ended_by(death, Signal::SIGABRT), "it ended otherwise: {death}");
        fleet.start(ORCHESTRATOR);

        let run = wait_for_run_end(&client, &name, || fleet.restart_exited()).await;

        // A claim that its holder could not finish in time is claimed again, and counts as well.
        assert!(run.status == ScheduleRunStatus::Done && run.attempts >= 2, "{run:#?}");
        assert_eq!(run.tasks.len(), 1, "{run:#?}");
        let task = run.tasks[0].id;
        assert_eq!(fleet.wait_until_closed(&client, task).await.status.as_str(), "completed");
        assert_eq!(count_step_runs(&fleet.node_state(NODE), task, 1), 1);
        assert_eq!(count_tasks(&client).await, number + 1);
        assert_eq!(load_trigger(&fleet.database(), task).await, "schedule");
    }
}

#[tokio::test]
async fn a_run_of_a_schedule_in_hand_survives_any_number_of_orderly_restarts() {
    let mut fleet = ProcessFleet::new(None);
    fs::create_dir_all(fleet.data().join("run/pma")).unwrap();
    let socket = fleet.data().join("run/pma/project_manager.sock");
    let config = format!("[orchestrator]\npma_addresses = [\"unix:{}\"]\n", socket.display());
    fs::write(fleet.data().join("cynode.toml"), config).unwrap();
    // Accepts handoffs, and never answers.
    let silent = UnixListener::bind(&socket).unwrap();
    let url = fleet.add_orchestrator(ORCHESTRATOR).await;
    let client = fleet.client(&url);
    let request = json!({ "name": "nightly", "every_s": 3600, "prompt": PROSE });
    let request: CreateSchedule = serde_json::from_value(request).unwrap();
    client.schedule_create(&request).await.unwrap();
    client.schedule_fire("nightly").await.unwrap();

    for attempt in 1..=6 {
        let begun = Instant::now();
        loop {
            let page = PageQuery::default();
            let runs = fleet
                .retry_while_unavailable(async || client.schedule_runs("nightly", &page).await)
                .await;
            let run = &runs.items[0];
            assert!(!run.status.is_terminal(), "{run:#?}");
            if run.status == ScheduleRunStatus::HandedOver && run.attempts >= attempt {
                break;
            }
            assert!(begun.elapsed() < PATIENCE, "{run:#?}");
            tokio::time::sleep(Duration::from_millis(25)).await;
        }
        fleet.signal(ORCHESTRATOR, Signal::SIGTERM);
        let end = eventually("its end", PATIENCE, || fleet.exit_status(ORCHESTRATOR)).await;
        assert!(end.success(), "{end}");
        fleet.start(ORCHESTRATOR);
    }
    drop(silent);
    fs::remove_file(&socket).unwrap();
    fleet.add_manager(MANAGER, &url);

    let run = wait_for_run_end(&client, "nightly", || fleet.restart_exited()).await;
    assert_eq!((run.status, run.tasks.len()), (ScheduleRunStatus::Done, 1), "{run:#?}");
}

#[tokio::test]
async fn orchestrators_that_share_a_database_fire_each_time_once() {
    let database = postgres_database().await;
    let mut fleet = ProcessFleet::new(Some(&database.url));
    let url = fleet.add_orchestrator(ORCHESTRATOR).await;
    let other = fleet.add_orchestrator("other").await;
    let clients = [fleet.client(&url), fleet.client(&other)];
    let soon = SystemClock.now() + AHEAD;

    let task = json!({ "input_mode": "commands", "commands": ["true"] });
    for number in 0..6 {
        let request =
            json!({ "name": format!("s{number}"), "at": soon.to_rfc3339(), "task": task.clone() });
        let request: CreateSchedule = serde_json::from_value(request).unwrap();
        retry_while_unavailable(async || clients[number % 2].schedule_create(&request).await).await;
    }

    for number in 0..6 {
        let run =
            wait_for_run_end(&clients[0], &format!("s{number}"), || fleet.restart_exited()).await;
        assert_eq!((run.status, run.tasks.len()), (ScheduleRunStatus::Done, 1), "{run:#?}");
    }
    assert_eq!(count_tasks(&clients[1]).await, 6);
}
