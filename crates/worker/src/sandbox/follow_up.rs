//! Scripts of the node that run after a job, in a sandbox with the job's workspace.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt as _;

use cynode_domain::ids::JobId;
use cynode_domain::job::{Action, Limits};
use cynode_wire::nodes::Assignment;

use super::Sandbox;
use crate::job_dir::{JobDir, JobDirError, StopRequest};
use crate::remove::remove_tree;
use crate::spec::SandboxJobOutcome;

/// The directory of follow-ups below that of their job.
const DIRECTORY: &str = "follow-up";

impl Sandbox {
    /// Runs a script in the workspace of the ended job in `dir`, as the same user and as confined as the job was. Blocks.
    ///
    /// Returns the directory of the follow-up, which lives as long as the job's, and its outcome. May be repeated: a
    /// follow-up of an earlier process is ended first.
    pub(crate) fn run_follow_up(
        &self,
        dir: &JobDir,
        action: Action,
        limits: Limits,
    ) -> Result<(JobDir, SandboxJobOutcome), JobDirError> {
        let spec = dir.spec()?;
        let home = dir.path().join(DIRECTORY);
        if home.exists() {
            for (_, earlier) in JobDir::list(&home)? {
                earlier.request_stop(StopRequest::Cancel)?;
                earlier.wait_ended().map_err(JobDirError::io_error(&home))?;
                earlier.remove_cgroup();
            }
            remove_tree(&home).map_err(JobDirError::io_error(&home))?;
        }
        DirBuilder::new().mode(0o700).create(&home).map_err(JobDirError::io_error(&home))?;
        let assignment = Assignment {
            job_id: JobId::generate(),
            action,
            limits,
            attachments: vec![],
            ..spec.assignment
        };
        let follow_up = JobDir::create(&home, &self.job_spec(assignment, spec.workspace))?;
        let outcome = self.start(&follow_up).wait();
        Ok((follow_up, outcome))
    }
}
