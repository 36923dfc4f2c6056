//! Simultaneous crashes: the supervisor, a job's own supervisor, the whole machine.

use std::fs;
use std::process::Stdio;

use cynode_testkit::SyncLog;
use nix::sys::signal::Signal;

use crate::processes::{eventually, send_signal};
use crate::programs::call;
use crate::system::{PATIENCE, System, SystemDatabase};
use crate::work::{commands, count_step_runs, countable_task, create_task_once, wait_until_closed};

#[tokio::test]
async fn a_killed_supervisor_takes_its_processes_with_it_and_can_be_started_again() {
    let mut system = System::new().await;
    let before = create_task_once(&system.client, countable_task()).await;
    wait_until_closed(&system.client, before, PATIENCE).await;

    system.stop(Signal::SIGKILL).await;

    eventually("the end of all processes", PATIENCE, || {
        system.find_processes().is_empty().then_some(())
    })
    .await;
    system.start().await;
    let kept = wait_until_closed(&system.client, before, PATIENCE).await;
    let after = create_task_once(&system.client, countable_task()).await;
    let after = wait_until_closed(&system.client, after, PATIENCE).await;
    assert_eq!((kept.status.as_str(), after.status.as_str()), ("completed", "completed"));
}

#[tokio::test]
async fn a_job_whose_own_supervisor_is_killed_is_reported_as_interrupted() {
    let system = System::new().await;
    let task = create_task_once(&system.client, commands(&["echo ran >> step-1; sleep 60"])).await;
    let state = system.data_dir().join("node");
    eventually("the first run", PATIENCE, || (count_step_runs(&state, task, 1) > 0).then_some(()))
        .await;

    for shim in system.find_shims() {
        send_signal(shim, Signal::SIGKILL);
    }

    let view = wait_until_closed(&system.client, task, PATIENCE).await;
    let summary = view.summary.unwrap();
    assert_eq!(view.status.as_str(), "failed");
    assert!(summary.contains("interrupted: its supervisor ended without a result"), "{summary}");
    assert_eq!(count_step_runs(&state, task, 1), 1);
}

#[tokio::test]
async fn after_the_death_of_all_processes_every_task_closes_and_no_command_has_run_twice() {
    let mut system = System::with(SystemDatabase::Embedded, "[runner]\nlease_ms = 2000\n").await;
    let mut tasks = vec![];
    for _ in 0..6 {
        let line = "echo ran >> step-1; sleep 1";
        tasks.push(create_task_once(&system.client, commands(&[line, "echo ran >> step-2"])).await);
    }
    let state = system.data_dir().join("node");
    eventually("the first run", PATIENCE, || {
        (count_step_runs(&state, tasks[0], 1) > 0).then_some(())
    })
    .await;

    // The supervisor first, so that it restarts nothing.
    send_signal(system.supervisor(), Signal::SIGKILL);
    for pid in system.find_processes() {
        send_signal(pid, Signal::SIGKILL);
    }
    system.stop(Signal::SIGKILL).await;
    eventually("the end of all processes", PATIENCE, || {
        system.find_processes().is_empty().then_some(())
    })
    .await;
    system.start().await;

    for task in tasks {
        let view = wait_until_closed(&system.client, task, PATIENCE).await;
        let counts = [1, 2].map(|step| count_step_runs(&state, task, step));
        let summary = view.summary.clone().unwrap_or_default();
        match view.status.as_str() {
            "completed" => assert_eq!(counts, [1, 1]),
            _ => assert!(summary.contains("interrupted: "), "{view:#?}"),
        }
        assert!(counts.iter().all(|count| *count <= 1), "{counts:?} {view:#?}");
    }
}

#[tokio::test]
async fn a_command_outlives_a_killed_supervisor_and_the_next_one_delivers_it() {
    let mut system = System::new().await;
    let line = "echo ran >> step-1; while [ ! -e go ]; do sleep 0.05; done; echo done";
    let task = create_task_once(&system.client, commands(&[line])).await;
    let state = system.data_dir().join("node");
    eventually("the first run", PATIENCE, || (count_step_runs(&state, task, 1) > 0).then_some(()))
        .await;
    let shims = system.find_shims();

    system.stop(Signal::SIGKILL).await;
    eventually("the end of the processes", PATIENCE, || {
        let roles = ["orchestrator", "runner", "node", "pma"];
        roles.iter().all(|role| system.find_roles(role).is_empty()).then_some(())
    })
    .await;
    assert_eq!(
        (shims.len(), system.find_shims()),
        (1, shims),
        "the command ended with its supervisor"
    );
    system.start().await;
    std::fs::write(state.join(format!("workspaces/{task}/go")), "").unwrap();

    let view = wait_until_closed(&system.client, task, PATIENCE).await;
    assert_eq!(view.status.as_str(), "completed", "{view:#?}");
    assert_eq!(count_step_runs(&state, task, 1), 1);
}

#[tokio::test]
async fn the_id_of_an_installation_is_durable_before_its_orchestrator_serves() {
    let dir = tempfile::tempdir().unwrap();
    let (syncs, data) = (SyncLog::build(dir.path()), dir.path().join("data"));
    let mut command = call("cynode", dir.path());
    command.args(["role", "orchestrator", "--listen", "127.0.0.1:0", "--data-dir"]).arg(&data);
    command.envs(syncs.environment()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut orchestrator = command.spawn().unwrap();
    let address = data.join("orchestrator.addr");
    eventually("an orchestrator", PATIENCE, || address.exists().then_some(())).await;
    let lines = syncs.lines();
    orchestrator.kill().unwrap();
    orchestrator.wait().unwrap();

    let id = fs::read_to_string(data.join("instance.id")).unwrap();
    let content = format!("content {}", id.trim());
    let written = lines.iter().position(|line| *line == content);
    let written = written.unwrap_or_else(|| panic!("{content} is not in {lines:#?}"));
    // The rename is durable once the directory is.
    let directory = format!("fsync {}", data.display());
    assert!(lines[written..].contains(&directory), "{directory} is not in {lines:#?}");
}
