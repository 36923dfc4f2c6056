//! Runs that wait: what they cost while nothing happens.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use chrono::DateTime;
use cynode_domain::ids::{RunId, TaskId, TraceId};
use cynode_domain::status::RunStatus;
use cynode_runtime::health::Readiness;
use cynode_runtime::shutdown::Shutdown;
use cynode_store::{Error, NewTask, Run, Store, TaskStore, Tx, WorkflowStore};
use cynode_workflow::runner::{Options, Runner};

use super::graph::{Ended, Seven};
use super::subject::Subject;
use super::usage::{Usage, resident_mib};

const WATCHED: Duration = Duration::from_secs(10);
/// Tasks that are made in one transaction.
const CHUNK: usize = 500;

/// Makes `count` runs that wait for a task that never ends, lets a runner ask for work beside
/// them, and prints what that costs.
pub(super) async fn measure(
    subject: &Subject<'_>,
    count: u32,
    out: &mut (dyn Write + Send),
) -> anyhow::Result<()> {
    let (cpu_before, mib_before) = idle(subject).await?;
    make(subject, count).await?;
    let (cpu, mib) = idle(subject).await?;
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

/// CPU time of everybody while a runner waits for work, and the orchestrator's memory.
async fn idle(subject: &Subject<'_>) -> anyhow::Result<(Duration, f64)> {
    let client = Arc::new(subject.client("runner.token")?);
    let options = Options { slots: 32, ..Options::default() };
    let workflow = Seven { ended: Ended::after(u32::MAX) };
    let runner = Runner::of(workflow, client, options, Readiness::new());
    let shutdown = Shutdown::new();
    let watch = async {
        // What was done before has settled by then.
        tokio::time::sleep(Duration::from_secs(3)).await;
        let before = Usage::of(subject).await?;
        tokio::time::sleep(WATCHED).await;
        let used = Usage::of(subject).await?.since(before);
        shutdown.trigger();
        anyhow::Ok(used.cpu())
    };
    let (ran, used) = tokio::join!(runner.run(shutdown.clone()), watch);
    ran?;
    Ok((used?, resident_mib(subject.process_id())))
}

async fn make(subject: &Subject<'_>, count: u32) -> anyhow::Result<()> {
    let on = subject.create(1).await?.remove(0);
    // It must not be taken: its run would have to end for the others to begin.
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
    let model = model.map(|task| task.asked);
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
        store.write(move |tx| Box::pin(insert(tx, on, tasks))).await?;
    }
    Ok(())
}

async fn insert(tx: &mut Tx, on: TaskId, tasks: Vec<NewTask>) -> Result<(), Error> {
    for task in tasks {
        tx.task_insert(&task).await?;
        tx.dependency_insert(task.id, on).await?;
        let (id, trace) = (RunId::generate(), TraceId::generate());
        tx.run_insert(&Run { id, task: task.id, trace, status: RunStatus::Pending }).await?;
    }
    Ok(())
}
