//! Cost of waiting runs.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use chrono::DateTime;
use cynode_domain::ids::{RunId, TaskId, TraceId};
use cynode_domain::status::RunStatus;
use cynode_runtime::health::Readiness;
use cynode_runtime::shutdown::Shutdown;
use cynode_store::{Error, NewTask, Run, Store, Tx};
use cynode_workflow::runner::{WorkflowRunner, WorkflowRunnerOptions};

use super::graph::{RunCounter, SevenStepWorkflow};
use super::subject::WorkflowSubject;
use super::usage::{WorkflowUsage, resident_mib};

const WATCHED: Duration = Duration::from_secs(10);
/// Tasks created in one transaction.
const CHUNK: usize = 500;

/// Creates `count` runs that wait for a task that never ends, runs a runner that polls for work,
/// and prints the cost.
pub(super) async fn measure_waiting_runs(
    subject: &WorkflowSubject<'_>,
    count: u32,
    out: &mut (dyn Write + Send),
) -> anyhow::Result<()> {
    let (cpu_before, mib_before) = measure_idle(subject).await?;
    create_waiting_runs(subject, count).await?;
    let (cpu, mib) = measure_idle(subject).await?;
    writeln!(
        out,
        "{count} waiting runs and an idle runner: {:.2} ms CPU/s of all processes ({:.2} without them), \
         orchestrator {mib:.1} MiB ({mib_before:.1} without them)",
        cpu.as_secs_f64() * 1e3 / WATCHED.as_secs_f64(),
        cpu_before.as_secs_f64() * 1e3 / WATCHED.as_secs_f64(),
    )?;
    out.flush()?;
    Ok(())
}

/// CPU time of all processes while a runner polls for work, and the orchestrator's memory.
async fn measure_idle(subject: &WorkflowSubject<'_>) -> anyhow::Result<(Duration, f64)> {
    let client = Arc::new(subject.client("runner.token")?);
    let options = WorkflowRunnerOptions { slots: 32, ..WorkflowRunnerOptions::default() };
    let workflow = SevenStepWorkflow { ended: RunCounter::with_target(u32::MAX) };
    let runner = WorkflowRunner::with_workflow(workflow, client, options, Readiness::new());
    let shutdown = Shutdown::new();
    let watch = async {
        // Earlier work has settled by then.
        tokio::time::sleep(Duration::from_secs(3)).await;
        let before = WorkflowUsage::measure(subject).await?;
        tokio::time::sleep(WATCHED).await;
        let used = WorkflowUsage::measure(subject).await?.since(before);
        shutdown.trigger();
        anyhow::Ok(used.cpu())
    };
    let (ran, used) = tokio::join!(runner.run(shutdown.clone()), watch);
    ran?;
    Ok((used?, resident_mib(subject.process_id())))
}

async fn create_waiting_runs(subject: &WorkflowSubject<'_>, count: u32) -> anyhow::Result<()> {
    let on = subject.create_tasks(1).await?.remove(0);
    // It must not be claimed: its run would have to end before the others start.
    let store = Store::open(&subject.database_url()).await?;
    let model = store
        .write(move |tx| {
            Box::pin(async move {
                let run = tx.run_of_task(on).await?;
                if let Some(run) = run {
                    tx.run_set_status(run.id, RunStatus::Canceled).await?;
                }
                tx.task_get(on).await
            })
        })
        .await?;
    let model = model.map(|task| task.spec);
    let model = model.ok_or_else(|| anyhow::anyhow!("the task is not there"))?;
    let numbers: Vec<u32> = (0..count).collect();
    for chunk in numbers.chunks(CHUNK) {
        let tasks: Vec<NewTask> = chunk
            .iter()
            .map(|number| NewTask {
                id: TaskId::generate(),
                name: format!("waiting-{number}"),
                created_at: DateTime::UNIX_EPOCH,
                ..model.clone()
            })
            .collect();
        store.write(move |tx| Box::pin(insert_tasks(tx, on, tasks))).await?;
    }
    Ok(())
}

async fn insert_tasks(tx: &mut Tx, on: TaskId, tasks: Vec<NewTask>) -> Result<(), Error> {
    for task in tasks {
        tx.task_insert(&task).await?;
        tx.dependency_insert(task.id, on).await?;
        let (id, trace) = (RunId::generate(), TraceId::generate());
        tx.run_insert(&Run { id, task: task.id, trace, status: RunStatus::Pending }).await?;
    }
    Ok(())
}
