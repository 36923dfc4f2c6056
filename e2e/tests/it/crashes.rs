//! Everything dies at once: the supervisor, a job's own supervisor, the whole machine.

use nix::sys::signal::Signal;

use crate::processes::{eventually, send};
use crate::system::{Database, PATIENCE, System};
use crate::work::{closed, commands, countable, create, runs};

#[tokio::test]
async fn a_killed_supervisor_takes_its_processes_with_it_and_can_be_started_again() {
    let mut system = System::new().await;
    let before = create(&system.client, countable()).await;
    closed(&system.client, before, PATIENCE).await;

    system.stop(Signal::SIGKILL).await;

    eventually("the end of all processes", PATIENCE, || {
        system.processes().is_empty().then_some(())
    })
    .await;
    system.start().await;
    let kept = closed(&system.client, before, PATIENCE).await;
    let after = create(&system.client, countable()).await;
    let after = closed(&system.client, after, PATIENCE).await;
    assert_eq!((kept.status.as_str(), after.status.as_str()), ("completed", "completed"));
}

#[tokio::test]
async fn a_job_whose_own_supervisor_is_killed_is_reported_as_interrupted() {
    let system = System::new().await;
    let task = create(&system.client, commands(&["echo ran >> step-1; sleep 60"])).await;
    let state = system.data_dir().join("node");
    eventually("the first run", PATIENCE, || (runs(&state, task, 1) > 0).then_some(())).await;

    for shim in system.shims() {
        send(shim, Signal::SIGKILL);
    }

    let view = closed(&system.client, task, PATIENCE).await;
    let summary = view.summary.unwrap();
    assert_eq!(view.status.as_str(), "failed");
    assert!(summary.contains("interrupted: its supervisor ended without a result"), "{summary}");
    assert_eq!(runs(&state, task, 1), 1);
}

#[tokio::test]
async fn after_a_power_cut_every_task_closes_and_no_command_has_run_twice() {
    let mut system = System::with(Database::Embedded, "[runner]\nlease_ms = 2000\n").await;
    let mut tasks = vec![];
    for _ in 0..6 {
        let line = "echo ran >> step-1; sleep 1";
        tasks.push(create(&system.client, commands(&[line, "echo ran >> step-2"])).await);
    }
    let state = system.data_dir().join("node");
    eventually("the first run", PATIENCE, || (runs(&state, tasks[0], 1) > 0).then_some(())).await;

    // The supervisor first: what it kept must not be started again.
    send(system.supervisor(), Signal::SIGKILL);
    for pid in system.processes() {
        send(pid, Signal::SIGKILL);
    }
    system.stop(Signal::SIGKILL).await;
    eventually("the end of all processes", PATIENCE, || {
        system.processes().is_empty().then_some(())
    })
    .await;
    system.start().await;

    for task in tasks {
        let view = closed(&system.client, task, PATIENCE).await;
        let counts = [1, 2].map(|step| runs(&state, task, step));
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
    let task = create(&system.client, commands(&[line])).await;
    let state = system.data_dir().join("node");
    eventually("the first run", PATIENCE, || (runs(&state, task, 1) > 0).then_some(())).await;
    let shims = system.shims();

    system.stop(Signal::SIGKILL).await;
    eventually("the end of the processes", PATIENCE, || {
        let roles = ["orchestrator", "runner", "node", "pma"];
        roles.iter().all(|role| system.roles(role).is_empty()).then_some(())
    })
    .await;
    assert_eq!((shims.len(), system.shims()), (1, shims), "the command ended with its supervisor");
    system.start().await;
    std::fs::write(state.join(format!("workspaces/{task}/go")), "").unwrap();

    let view = closed(&system.client, task, PATIENCE).await;
    assert_eq!(view.status.as_str(), "completed", "{view:#?}");
    assert_eq!(runs(&state, task, 1), 1);
}
