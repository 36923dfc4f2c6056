//! Scripts of the node that run after a job, in a sandbox with the job's workspace.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt as _;

use cynode_domain::ids::JobId;
use cynode_domain::job::{Action, Limits};
use cynode_wire::nodes::Assignment;

use super::{JobWatch, Sandbox};
use crate::job_dir::{JobDir, JobDirError, StopRequest};
use crate::remove::remove_tree;

/// The directory of follow-ups below that of their job.
const DIRECTORY: &str = "follow-up";

impl Sandbox {
    /// Starts a script in the workspace of the ended job in `dir`, as the same user and as confined as the job was.
    ///
    /// Returns the directory of the follow-up, which lives as long as the job's. May be repeated: a follow-up of an earlier
    /// process is ended first.
    pub fn start_follow_up(
        &self,
        dir: &JobDir,
        action: Action,
        limits: Limits,
    ) -> Result<(JobDir, JobWatch), JobDirError> {
        let spec = dir.spec()?;
        let home = dir.path().join(DIRECTORY);
        end_follow_ups(dir)?;
        remove_tree(&home).map_err(JobDirError::io_error(&home))?;
        DirBuilder::new().mode(0o700).create(&home).map_err(JobDirError::io_error(&home))?;
        let assignment = Assignment {
            job_id: JobId::generate(),
            action,
            limits,
            attachments: vec![],
            // The script and its programs are the node's.
            image: None,
            cache: None,
            ..spec.assignment
        };
        let follow_up = JobDir::create(&home, &self.job_spec(assignment, spec.workspace))?;
        let watch = self.start(&follow_up);
        Ok((follow_up, watch))
    }
}

/// Ends every follow-up of a job. Blocks until none of their processes is left.
pub fn end_follow_ups(dir: &JobDir) -> Result<(), JobDirError> {
    let home = dir.path().join(DIRECTORY);
    if !home.exists() {
        return Ok(());
    }
    for (_, follow_up) in JobDir::list(&home)? {
        follow_up.request_stop(StopRequest::Cancel)?;
        follow_up.wait_ended().map_err(JobDirError::io_error(&home))?;
        follow_up.remove_cgroup();
    }
    Ok(())
}
