//! Probes which isolation this machine can enforce, by running a sandbox.

use std::path::Path;

use cynode_domain::ids::{JobId, RunId, TaskId};
use cynode_domain::job::{Action, Limits};
use cynode_wire::agent_profiles::AGENT_PROFILES_FEATURE;
use cynode_wire::nodes::{AGENTS_FEATURE, Assignment, SandboxLevel};

use super::stage_program::StageProgram;
use super::{JobWatch, Sandbox, SandboxOptions};
use crate::cgroup::JobSubtree;
use crate::job_dir::{JobDir, JobDirError};
use crate::remove::remove_tree;
use crate::spec::{Isolation, SandboxJobOutcome};

const BACKEND: &str = "namespaces";

/// Chooses the strongest isolation that works on this machine.
pub(super) fn choose_isolation(
    options: SandboxOptions,
    stage_program: StageProgram,
) -> Result<Sandbox, JobDirError> {
    let candidates: &[Isolation] = if nix::unistd::geteuid().is_root() {
        &[Isolation::OwnUser, Isolation::UserNamespace]
    } else {
        &[Isolation::UserNamespace]
    };
    let prepared = JobSubtree::prepare(&options.state_dir);
    let mut shortfalls = match &prepared {
        Ok(cgroups) => cgroups.shortfalls().to_vec(),
        Err(error) => vec![error.to_string()],
    };
    let cgroups = prepared.ok();
    let mut reasons = Vec::new();
    for isolation in candidates.iter().copied() {
        // Without cgroups, if no job can be started in one.
        for cgroups in cgroups.iter().cloned().map(Some).chain([None]) {
            let level = sandbox_level(true, vec![], None);
            let mut sandbox = Sandbox {
                options: options.clone(),
                stage_program: stage_program.clone(),
                isolation,
                cgroups,
                level,
            };
            let outcome = run_probe(&sandbox)?;
            if outcome.ending.is_success() {
                sandbox.level.features = outcome.features;
                let agent = sandbox.options.agent_program.as_ref();
                if agent.is_some_and(|agent| agent.path.is_file()) {
                    let features = [AGENTS_FEATURE, AGENT_PROFILES_FEATURE].map(str::to_owned);
                    sandbox.level.features.extend(features);
                }
                sandbox.level.reason = (!shortfalls.is_empty()).then(|| shortfalls.join("; "));
                return Ok(sandbox);
            }
            let reason = format!("a trial job {}", outcome.ending.describe());
            if sandbox.cgroups.is_some() {
                shortfalls = vec![reason];
            } else {
                reasons.push(reason);
            }
        }
    }
    reasons.dedup();
    let level = sandbox_level(false, vec![], Some(reasons.join(", and then ")));
    let isolation = Isolation::UserNamespace;
    Ok(Sandbox { options, stage_program, isolation, cgroups: None, level })
}

fn sandbox_level(supported: bool, features: Vec<String>, reason: Option<String>) -> SandboxLevel {
    SandboxLevel { supported, backend: BACKEND.to_owned(), features, reason }
}

/// Runs `true` in a temporary directory.
fn run_probe(sandbox: &Sandbox) -> Result<SandboxJobOutcome, JobDirError> {
    let home = sandbox.options.state_dir.join("probe");
    remove_tree(&home).map_err(JobDirError::io_error(&home))?;
    let workspace = home.join("workspace");
    std::fs::create_dir_all(&workspace).map_err(JobDirError::io_error(&workspace))?;
    let outcome = run_probe_job(sandbox, &home, workspace.clone())?;
    remove_tree(&home).map_err(JobDirError::io_error(&home))?;
    Ok(outcome)
}

fn run_probe_job(
    sandbox: &Sandbox,
    home: &Path,
    workspace: std::path::PathBuf,
) -> Result<SandboxJobOutcome, JobDirError> {
    let action = Action::Command { line: "true".to_owned() };
    let job = Assignment::new(JobId::generate(), TaskId::generate(), RunId::generate(), action);
    let limits = Limits { timeout_s: 10, ..Limits::default() };
    let assignment = Assignment { limits, ..job };
    let dir = JobDir::create(home, &sandbox.job_spec(assignment, workspace))?;
    let watch: JobWatch = sandbox.start(&dir);
    Ok(watch.wait())
}
