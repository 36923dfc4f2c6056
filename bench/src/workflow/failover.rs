//! Failover time of a run whose runner is killed: two real runner processes, one of which gets
//! SIGKILL during a run.

use std::io::Write;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use cynode_client::Client;
use cynode_domain::ids::{HolderId, TaskId};
use cynode_wire::workflow::HolderGone;

use super::subject::WorkflowSubject;

const LOOKS_APART: Duration = Duration::from_millis(5);
/// Longer than any lease here.
const PATIENCE: Duration = Duration::from_mins(1);

/// How the exit of a runner is detected.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ExitDetection {
    /// Not reported: its lease expires.
    LeaseExpiry,
    /// Reported by its parent process, as `cynode up` does.
    ParentReport,
}

/// Kills a runner in both ways and prints when another runner has its run.
pub(super) async fn measure_failover(
    subject: &WorkflowSubject<'_>,
    out: &mut (dyn Write + Send),
) -> anyhow::Result<()> {
    let alone = measure_takeover(subject, ExitDetection::LeaseExpiry).await?;
    let seen = measure_takeover(subject, ExitDetection::ParentReport).await?;
    writeln!(
        out,
        "SIGKILL of a runner to its run being driven by another: {:.1} s if not reported \
         (the lease expires), {:.3} s if its parent reports the exit",
        alone.as_secs_f64(),
        seen.as_secs_f64(),
    )?;
    out.flush()?;
    Ok(())
}

async fn measure_takeover(
    subject: &WorkflowSubject<'_>,
    noticed: ExitDetection,
) -> anyhow::Result<Duration> {
    let client = subject.client("admin.token")?;
    // There is no node, so the run waits for its job during the whole measurement.
    let task = subject.create_tasks(1).await?.remove(0);
    let mut first = RunnerProcess::start(subject)?;
    wait_for_holder(&client, task, first.holder).await?;
    let second = RunnerProcess::start(subject)?;
    let killed = Instant::now();
    first.process.kill()?;
    first.process.wait()?;
    if noticed == ExitDetection::ParentReport {
        subject
            .client("runner.token")?
            .workflow_call(&HolderGone { holder_id: first.holder })
            .await?;
    }
    wait_for_holder(&client, task, second.holder).await?;
    let took = killed.elapsed();
    client.task_cancel(&task.to_string()).await?;
    Ok(took)
}

/// Waits until this runner drives the task.
async fn wait_for_holder(client: &Client, task: TaskId, holder: HolderId) -> anyhow::Result<()> {
    let begun = Instant::now();
    while begun.elapsed() < PATIENCE {
        let lease = client.run_get(&task.to_string()).await?.run.lease;
        if lease.is_some_and(|lease| lease.holder_id == holder) {
            return Ok(());
        }
        tokio::time::sleep(LOOKS_APART).await;
    }
    bail!("the runner did not take the task")
}

/// A runner process, killed on drop.
struct RunnerProcess {
    process: Child,
    holder: HolderId,
}

impl RunnerProcess {
    fn start(subject: &WorkflowSubject<'_>) -> anyhow::Result<Self> {
        let program = std::env::current_exe()?.with_file_name("cynode-runner");
        let holder = HolderId::generate();
        let mut command = Command::new(program);
        command.args(["--orchestrator-url", &subject.url(), "--holder-id", &holder.to_string()]);
        command.arg("--data-dir").arg(subject.data_dir());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let process = command.spawn().context("run `cargo xtask bench workflow`")?;
        Ok(Self { process, holder })
    }
}

impl Drop for RunnerProcess {
    fn drop(&mut self) {
        // It may have exited already; no process of it may be left.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
