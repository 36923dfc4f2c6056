//! Finding out what this machine can enforce, by running a sandbox.

use std::path::Path;

use cynode_domain::ids::{JobId, RunId, TaskId};
use cynode_domain::job::{Action, Limits};
use cynode_wire::nodes::{Assignment, SandboxLevel};

use super::{Sandbox, SandboxOptions, Watch};
use crate::job_dir::{JobDir, JobDirError};
use crate::remove::remove_tree;
use crate::spec::{Isolation, JobSpec, Outcome};

const BACKEND: &str = "namespaces";

/// The strongest isolation that works here.
pub(super) fn choose(options: SandboxOptions) -> Result<Sandbox, JobDirError> {
    let candidates: &[Isolation] = if nix::unistd::geteuid().is_root() {
        &[Isolation::OwnUser, Isolation::UserNamespace]
    } else {
        &[Isolation::UserNamespace]
    };
    let mut reasons = Vec::new();
    for isolation in candidates.iter().copied() {
        let level = level(true, vec![], None);
        let mut sandbox = Sandbox { options: options.clone(), isolation, level };
        let outcome = try_out(&sandbox)?;
        if outcome.ending.is_success() {
            sandbox.level.features = outcome.features;
            return Ok(sandbox);
        }
        reasons.push(outcome.ending.describe());
    }
    reasons.dedup();
    let level = level(false, vec![], Some(format!("a trial job {}", reasons.join(", and then "))));
    Ok(Sandbox { options, isolation: Isolation::UserNamespace, level })
}

fn level(supported: bool, features: Vec<String>, reason: Option<String>) -> SandboxLevel {
    SandboxLevel { supported, backend: BACKEND.to_owned(), features, reason }
}

/// Runs `true` in a directory of its own, which is gone afterwards.
fn try_out(sandbox: &Sandbox) -> Result<Outcome, JobDirError> {
    let home = sandbox.options.state_dir.join("probe");
    remove_tree(&home).map_err(JobDirError::at(&home))?;
    let workspace = home.join("workspace");
    std::fs::create_dir_all(&workspace).map_err(JobDirError::at(&workspace))?;
    let outcome = run(sandbox, &home, workspace.clone())?;
    remove_tree(&home).map_err(JobDirError::at(&home))?;
    Ok(outcome)
}

fn run(
    sandbox: &Sandbox,
    home: &Path,
    workspace: std::path::PathBuf,
) -> Result<Outcome, JobDirError> {
    let assignment = Assignment {
        job_id: JobId::generate(),
        task_id: TaskId::generate(),
        run_id: RunId::generate(),
        action: Action::Command { line: "true".to_owned() },
        limits: Limits { timeout_s: 10, ..Limits::default() },
        attachments: vec![],
        incarnation: None,
        needs_workspace: false,
    };
    let expose = sandbox.options.expose.clone();
    let spec =
        JobSpec { assignment, workspace, isolation: sandbox.isolation, expose, interactive: None };
    let dir = JobDir::create(home, &spec)?;
    let watch: Watch = sandbox.start(&dir);
    Ok(watch.wait())
}
