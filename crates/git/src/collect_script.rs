//! The script that collects a job's commits inside a sandbox, and the status that it writes.

use std::fmt::Write as _;

use cynode_domain::git::{BranchName, CommitId};

use crate::hardening::shell_quote;

/// The file of [`collect_script`] in its output directory that says how it ended.
pub const STATUS_FILE: &str = "status";
/// The file of [`collect_script`] in its output directory with the commits.
pub const BUNDLE_FILE: &str = "commits.bundle";

/// The subject of the commit with the uncommitted changes of a job, if its task names none.
pub const DEFAULT_COMMIT_SUBJECT: &str = "Uncommitted changes of the job";

const MAX_STATUS_BYTES: usize = 4096;

/// What the script collects, and where. Paths are those inside the sandbox.
#[derive(Debug, Clone, Copy)]
pub struct CollectRequest<'a> {
    pub workspace: &'a str,
    /// An empty directory.
    pub output: &'a str,
    /// The commit that the checkout of the task started from.
    pub base: &'a CommitId,
    pub branch: &'a BranchName,
    /// The subject of the commit with the uncommitted changes of the job.
    pub subject: &'a str,
    /// Patterns of new files that are left out, as in `.gitignore`.
    pub excludes: &'a [&'a str],
}

/// The text of a `/bin/sh` script that the node runs inside a sandbox after a job.
///
/// It commits everything that is not committed, and writes a bundle of the commits that the base does not have, under
/// the name of the branch. It collects `HEAD`, also if the job switched to another branch, because the files belong to
/// `HEAD`. Ignored files are left out.
///
/// The repository in the workspace is hostile. The script must never run outside a sandbox.
pub fn collect_script(request: CollectRequest<'_>) -> String {
    let CollectRequest { workspace, output, base, branch, subject, excludes } = request;
    let mut script = "#!/bin/sh\nset --".to_owned();
    for word in [workspace, output, base.as_str(), branch.as_str(), subject].iter().chain(excludes)
    {
        // Writing to a string cannot fail.
        let _ = write!(script, " {}", shell_quote(word));
    }
    script.push('\n');
    script + include_str!("collect.sh")
}

/// A status file that the script did not write.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the status of the collected commits is malformed: run the job again")]
pub struct StatusError;

/// How the script ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CollectResult {
    /// The job changed nothing.
    Unchanged,
    /// There is a bundle.
    Bundled,
    Failed(String),
}

/// The status that the script wrote. The job could have written it: nothing is decided by it but what to do next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CollectStatus {
    pub result: CollectResult,
    pub head: Option<CommitId>,
    /// The ref that `HEAD` of the job's repository named; `None` if it was detached or not readable.
    pub job_ref: Option<String>,
    /// Whether the script committed changes that the job had not committed.
    pub committed: bool,
}

impl CollectStatus {
    /// Parses the status file.
    pub fn parse(content: &[u8]) -> Result<Self, StatusError> {
        let text = std::str::from_utf8(content).map_err(|_| StatusError)?;
        if content.len() > MAX_STATUS_BYTES || text.contains(|c: char| c.is_control() && c != '\n')
        {
            return Err(StatusError);
        }
        let value = |key: &str| {
            let find = |line: &'_ str| Some(line.strip_prefix(key)?.strip_prefix('=')?.to_owned());
            text.lines().find_map(find).filter(|value| !value.is_empty())
        };
        let result = match value("result").as_deref() {
            Some("unchanged") => CollectResult::Unchanged,
            Some("bundled") => CollectResult::Bundled,
            Some("failed") => CollectResult::Failed(value("detail").unwrap_or_default()),
            _ => return Err(StatusError),
        };
        Ok(Self {
            result,
            head: value("head").and_then(|head| head.parse().ok()),
            job_ref: value("job_ref"),
            committed: value("committed").as_deref() == Some("yes"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_read_and_anything_else_is_rejected() {
        let id = "0123456789abcdef0123456789abcdef01234567";
        let text =
            format!("result=bundled\ndetail=\nhead={id}\njob_ref=refs/heads/x\ncommitted=yes\n");

        let status = CollectStatus::parse(text.as_bytes()).unwrap();

        assert_eq!(status.result, CollectResult::Bundled);
        assert_eq!(status.head.unwrap().as_str(), id);
        assert_eq!((status.job_ref.as_deref(), status.committed), (Some("refs/heads/x"), true));
        for wrong in
            [&b""[..], b"result=maybe\n", b"\xff", b"result=bundled\x1b[2J\n", &[b'\n'; 5000]]
        {
            assert_eq!(CollectStatus::parse(wrong), Err(StatusError));
        }
    }
}
