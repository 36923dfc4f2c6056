//! How long a run waits when its runner is killed: two real runner processes, one of which gets
//! SIGKILL in the middle of a run.

use std::io::Write;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use cynode_client::Client;
use cynode_domain::ids::{HolderId, TaskId};

use super::subject::Subject;

const LOOKS_APART: Duration = Duration::from_millis(5);
/// Longer than any lease here.
const PATIENCE: Duration = Duration::from_mins(1);

/// Who notices that a runner is gone.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Noticed {
    /// Nobody: its lease ends.
    ByNobody,
    /// Who started it, as `cynode up` does.
    ByItsParent,
}

/// Kills a runner in either way and prints when another had its run.
pub(super) async fn measure(
    subject: &Subject<'_>,
    out: &mut (dyn Write + Send),
) -> anyhow::Result<()> {
    let alone = resumed_after(subject, Noticed::ByNobody).await?;
    let seen = resumed_after(subject, Noticed::ByItsParent).await?;
    writeln!(
        out,
        "SIGKILL of a runner to its run being driven by another: {:.1} s when nobody notices \
         (the lease ends), {:.3} s when its parent sees it end",
        alone.as_secs_f64(),
        seen.as_secs_f64(),
    )?;
    out.flush()?;
    Ok(())
}

async fn resumed_after(subject: &Subject<'_>, noticed: Noticed) -> anyhow::Result<Duration> {
    let client = subject.client("admin.token")?;
    // There is no node: the run waits for its job for as long as it is looked at.
    let task = subject.create(1).await?.remove(0);
    let mut first = Running::start(subject)?;
    held_by(&client, task, first.holder).await?;
    let second = Running::start(subject)?;
    let killed = Instant::now();
    first.process.kill()?;
    first.process.wait()?;
    if noticed == Noticed::ByItsParent {
        subject.client("runner.token")?.workflow_gone(first.holder).await?;
    }
    held_by(&client, task, second.holder).await?;
    let took = killed.elapsed();
    client.task_cancel(&task.to_string()).await?;
    Ok(took)
}

/// Waits until this runner drives the task.
async fn held_by(client: &Client, task: TaskId, holder: HolderId) -> anyhow::Result<()> {
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

/// A runner process; it ends with this value.
struct Running {
    process: Child,
    holder: HolderId,
}

impl Running {
    fn start(subject: &Subject<'_>) -> anyhow::Result<Self> {
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

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended already; either way nothing of it stays.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
