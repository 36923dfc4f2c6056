//! `run_command`: one command line in a fresh process group.

use std::io::{self, pipe};
use std::os::fd::OwnedFd;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use cynode_agent_job::bounded_text::HeadAndTail;
use cynode_agent_job::process_group::{
    ProcessGroup, describe_exit, exit_code, inherited_variables,
};
use cynode_agent_job::workspace::Workspace;
use cynode_runtime::child_env::ChildEnv as _;
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe::Receiver;
use tokio::process::{Child, Command};
use tokio::time::timeout;

use crate::action::RunCommand;
use crate::observation::Observation;

/// Seconds of a command without a timeout of its own.
const DEFAULT_TIMEOUT_S: u64 = 120;
/// The longest timeout; the deadline of the job ends a command earlier.
const MAX_TIMEOUT_S: u64 = 24 * 60 * 60;
/// How long output is read after the command has ended and its group was killed: a process that left the group may
/// keep the pipe open.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(500);

/// Runs a command line with `/bin/sh -c` in the workspace, with standard output and error in one stream.
///
/// Every process of its group is killed when it ends, times out or is cancelled by dropping the future.
pub(super) async fn run_command(
    workspace: &Workspace,
    run: &RunCommand,
    max_output_bytes: usize,
) -> Observation {
    let seconds = run.timeout_s.unwrap_or(DEFAULT_TIMEOUT_S).clamp(1, MAX_TIMEOUT_S);
    let (mut child, mut output) = match start_command(workspace, &run.command) {
        Ok(started) => started,
        Err(error) => {
            return Observation::failed(format!("the command cannot be started: {error}"));
        }
    };
    let group = ProcessGroup::led_by(&child);
    let mut kept = HeadAndTail::new(max_output_bytes);
    let ended = timeout(Duration::from_secs(seconds), async {
        let mut buffer = vec![0; 16 << 10];
        loop {
            tokio::select! {
                status = child.wait() => return status,
                count = output.read(&mut buffer) => match count {
                    Ok(count) if count > 0 => kept.push(&buffer[..count]),
                    // The command closed its output and still runs.
                    Ok(_) | Err(_) => return child.wait().await,
                },
            }
        }
    })
    .await;
    group.kill();
    let _ = timeout(DRAIN_TIMEOUT, drain_output(&mut output, &mut kept)).await;
    let observation = match ended {
        Ok(Ok(status)) => describe_status(status),
        Ok(Err(error)) => Observation::failed(format!("the command was lost: {error}")),
        Err(_) => {
            // The group was killed, so this does not wait for long.
            let _ = timeout(DRAIN_TIMEOUT, child.wait()).await;
            Observation::failed(format!("the command was killed after {seconds} s"))
        }
    };
    let text = kept.into_text();
    if text.trim().is_empty() {
        let headline = format!("{}, no output", observation.headline);
        return Observation { headline, ..observation };
    }
    observation.with_data(text)
}

fn start_command(workspace: &Workspace, command: &str) -> io::Result<(Child, Receiver)> {
    let (reader, writer) = pipe()?;
    let child = Command::new("/bin/sh")
        .arg("-c")
        .arg(command)
        .inherit_only(&inherited_variables())
        .current_dir(workspace.root())
        .stdin(Stdio::null())
        .stdout(writer.try_clone()?)
        .stderr(writer)
        .process_group(0)
        .kill_on_drop(true)
        .spawn()?;
    Ok((child, Receiver::from_owned_fd(OwnedFd::from(reader))?))
}

async fn drain_output(output: &mut Receiver, kept: &mut HeadAndTail) {
    let mut buffer = vec![0; 16 << 10];
    while let Ok(count @ 1..) = output.read(&mut buffer).await {
        kept.push(&buffer[..count]);
    }
}

fn describe_status(status: ExitStatus) -> Observation {
    let observation = if status.success() {
        Observation::succeeded(describe_exit(status))
    } else {
        Observation::failed(describe_exit(status))
    };
    observation.with_exit_code(exit_code(status))
}
