//! Imports the changes of the tasks that a task builds on.

use std::fs;
use std::time::Duration;

use cynode_client::Client;
use cynode_domain::git::{ChangeSource, TaskKey};
use cynode_git::{ImportPolicy, ImportRequest, ImportTarget, MergeSource, Mirror, Severity};
use cynode_sandbox::job_dir::JobDir;
use cynode_wire::git::RepositoryAssignment;
use cynode_wire::nodes::Assignment;

use super::super::DaemonContext;
use super::Repositories;
use super::collect::is_secret;
use super::prepare::explain;

const BUNDLE: &str = "source.bundle";

/// What an import of sources belongs to.
pub(super) struct SourceImport<'a> {
    pub(super) context: &'a DaemonContext,
    pub(super) repositories: &'a Repositories,
    pub(super) assignment: &'a Assignment,
    pub(super) mirror: &'a Mirror,
    pub(super) task: &'a TaskKey,
    pub(super) dir: &'a JobDir,
    pub(super) limit: Duration,
}

impl SourceImport<'_> {
    /// Fetches and imports every source, in order. The error is for people.
    pub(super) async fn import_all(
        &self,
        wanted: &RepositoryAssignment,
    ) -> Result<Vec<MergeSource>, String> {
        let mut sources = vec![];
        for (index, source) in wanted.builds_on.iter().enumerate() {
            let imported = self.import(index, source).await;
            imported.map_err(|reason| format!("the changes of {}: {reason}", source.branch))?;
            sources.push(MergeSource { head: source.head.clone(), branch: source.branch.clone() });
        }
        Ok(sources)
    }

    async fn import(&self, index: usize, source: &ChangeSource) -> Result<(), String> {
        let job = self.assignment.job_id;
        let get =
            |client: Client| async move { client.node_get_source_bundle(job, source.task).await };
        let bundle = self.context.call_until_answered_within(job, self.limit, get).await;
        let bundle = bundle.map_err(|error| error.to_string())?;
        let path = self.dir.path().join(BUNDLE);
        fs::write(&path, &bundle).map_err(|error| explain(&error))?;
        let request = ImportRequest {
            bundle: &path,
            task: self.task,
            base: &source.base,
            target: ImportTarget::Source(index),
            branch: &source.branch,
        };
        let (broker, policy) = (&self.repositories.broker, ImportPolicy::default());
        let imported = broker.import_bundle(self.mirror, request, &policy, &is_secret).await;
        let _ = fs::remove_file(&path);
        let imported = imported.map_err(|error| explain(&error))?;
        if imported.head != source.head {
            return Err(format!("they end at {}, not at {}", imported.head, source.head));
        }
        match imported.findings.iter().find(|found| found.severity == Severity::Block) {
            Some(finding) => Err(format!("they must not be used: {}", finding.message)),
            None => Ok(()),
        }
    }
}
