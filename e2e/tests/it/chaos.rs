//! Fault injection for a minute: processes are killed and stopped, the database crashes. Three
//! runners and two orchestrators share one durable PostgreSQL. Every accepted task is executed
//! exactly once. The seed is printed.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use cynode_client::Client;
use cynode_domain::ids::TaskId;
use cynode_testkit::{DurableServer, query};
use nix::sys::signal::Signal;

use crate::fleet::ProcessFleet;
use crate::history::assert_is_a_path;
use crate::seed::TestSeed;
use crate::work::{commands, count_step_runs, create_task_once, retry_while_unavailable};

const CHAOS: Duration = Duration::from_secs(45);
const TASKS: usize = 200;
const LINES: [&str; 2] = ["echo ran >> step-1", "echo ran >> step-2"];
/// Short, so that many leases expire within the test.
const LEASE: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(800);
const ORCHESTRATORS: [&str; 2] = ["east", "west"];
const RUNNERS: [&str; 3] = ["runner-1", "runner-2", "runner-3"];
const NODES: [&str; 2] = ["anvil", "bellows"];

#[tokio::test]
async fn hundreds_of_tasks_survive_a_minute_of_chaos_and_none_is_lost_or_doubled() {
    let mut seed = TestSeed::for_run("chaos");
    let server = DurableServer::start().unwrap();
    let mut fleet = ProcessFleet::new(Some(&server.url()));
    let urls = [
        fleet.add_orchestrator(ORCHESTRATORS[0]).await,
        fleet.add_orchestrator(ORCHESTRATORS[1]).await,
    ];
    for (runner, url) in RUNNERS.iter().zip(urls.iter().cycle()) {
        fleet.add_runner(runner, url, LEASE);
    }
    for (node, url) in NODES.iter().zip(&urls) {
        fleet.add_node(node, url).await;
    }
    let clients = urls.map(|url| fleet.client(&url));

    let left = Cell::new(TASKS);

    let (east, west, blows) = tokio::join!(
        submit_tasks(&clients[0], &left),
        submit_tasks(&clients[1], &left),
        Box::pin(inject_faults(&mut fleet, &server, (&mut seed, &left)))
    );

    println!("{blows:?}");
    let tasks = [east, west].concat();
    let begun = Instant::now();
    for task in &tasks {
        let view = fleet.wait_until_closed(&clients[0], *task).await;
        assert_eq!(view.status.as_str(), "completed", "{view:#?}\n{}", fleet.read_all_logs());
    }
    println!("all {} tasks closed {:?} after the last blow", tasks.len(), begun.elapsed());
    assert_none_is_lost_or_doubled(&fleet, &clients[0], &tasks).await;
}

/// Submits half of the tasks to one orchestrator, one after the other, with retries; decrements
/// `left`.
async fn submit_tasks(client: &Client, left: &Cell<usize>) -> Vec<TaskId> {
    let mut tasks = vec![];
    for _ in 0..TASKS / 2 {
        tasks.push(create_task_once(client, commands(&LINES)).await);
        left.set(left.get() - 1);
    }
    tasks
}

/// Injects random faults until the time is over; returns the number of each kind. Continues until
/// no task is `left` to be submitted.
async fn inject_faults(
    fleet: &mut ProcessFleet,
    server: &DurableServer,
    (seed, left): (&mut TestSeed, &Cell<usize>),
) -> BTreeMap<&'static str, u32> {
    let mut blows = BTreeMap::new();
    let begun = Instant::now();
    while begun.elapsed() < CHAOS {
        tokio::time::sleep(seed.below(PAUSE)).await;
        fleet.restart_exited();
        let runner = RUNNERS[seed.pick(RUNNERS.len())];
        let orchestrator = ORCHESTRATORS[seed.pick(ORCHESTRATORS.len())];
        let blow = match seed.pick(6) {
            0 | 1 => {
                fleet.kill(runner);
                fleet.start(runner);
                "runner killed"
            }
            2 => {
                fleet.kill(orchestrator);
                tokio::time::sleep(seed.below(PAUSE)).await;
                fleet.start(orchestrator);
                "orchestrator killed"
            }
            3 => {
                pause_process(fleet, runner, LEASE + seed.below(PAUSE)).await;
                "runner stopped past its leases"
            }
            4 => {
                pause_process(fleet, orchestrator, seed.below(LEASE)).await;
                "orchestrator stopped"
            }
            _ => {
                server.crash_and_restart().unwrap();
                "database crashed"
            }
        };
        *blows.entry(blow).or_default() += 1;
    }
    while left.get() > 0 {
        fleet.restart_exited();
        tokio::time::sleep(PAUSE / 10).await;
    }
    blows
}

/// Stops a process for a while.
async fn pause_process(fleet: &ProcessFleet, name: &str, time: Duration) {
    fleet.signal(name, Signal::SIGSTOP);
    tokio::time::sleep(time).await;
    fleet.signal(name, Signal::SIGCONT);
}

async fn assert_none_is_lost_or_doubled(fleet: &ProcessFleet, client: &Client, tasks: &[TaskId]) {
    let states = NODES.map(|node| fleet.node_state(node));
    for task in tasks {
        let counts = [1, 2]
            .map(|step| states.iter().map(|s| count_step_runs(s, *task, step)).sum::<usize>());
        assert_eq!(counts, [1, 1], "task {task} ran a step twice or never");
        let id = task.to_string();
        assert_is_a_path(&retry_while_unavailable(async || client.task_history(&id).await).await);
    }
    let count = |sql: &'static str| async move { query(&fleet.database(), sql).await };
    let all = tasks.len();
    assert_eq!(count("SELECT count(*) FROM tasks").await, [[all.to_string()]]);
    assert_eq!(count("SELECT count(*) FROM jobs").await, [[(all * LINES.len()).to_string()]]);
    // Epochs never decrease along the history of a run, and no lease is left.
    let back = "SELECT count(*) FROM workflow_history a JOIN workflow_history b
                ON a.run_id = b.run_id AND a.sequence < b.sequence AND a.epoch > b.epoch";
    assert_eq!(count(back).await, [["0"]]);
    let held = "SELECT count(*) FROM task_workflow_leases WHERE holder_id IS NOT NULL";
    assert_eq!(count(held).await, [["0"]]);
    let taken_over = "SELECT count(*) FROM task_workflow_leases WHERE epoch > 1";
    println!("taken over at least once: {:?}", count(taken_over).await);
    let put_down = "SELECT data FROM events WHERE kind = 'workflow.put_down'";
    println!("put down: {:?}", count(put_down).await);
}
