//! Child tasks of requests: how a test ends them, and what they leave.

use std::sync::atomic::Ordering;

use bytes::Bytes;
use cynode_domain::ids::{ArtifactId, JobId, RunId, TaskId};
use cynode_domain::status::{JobStatus, TaskStatus};
use cynode_runtime::clock::Clock as _;
use cynode_store::{Artifact, NewJob, Task};
use cynode_wire::git::{CHANGES_FILE, PATCH_FILE, changes_path};
use futures_util::stream;
use serde_json::json;

use super::{RequestFixture, TREE, URL};

/// What a child task leaves when it ends.
pub(crate) enum ChildEnd {
    /// It completed with this patch; an empty one is no change.
    Patch(String),
    /// It completed with this file.
    File(&'static str, String),
    /// It completed, and left nothing.
    Nothing,
    Failed(String),
}

impl RequestFixture {
    /// The open child tasks, with their units.
    pub(crate) async fn open_children(&self, task: TaskId) -> Vec<Task> {
        let list = self.store.read(move |tx| {
            Box::pin(async move {
                let mut open = vec![];
                for child in tx.task_open_children(task).await? {
                    open.extend(tx.task_get(child).await?);
                }
                Ok::<_, cynode_store::Error>(open)
            })
        });
        list.await.unwrap()
    }

    /// The open child task of a unit.
    pub(crate) async fn child(&self, task: TaskId, unit: &str) -> Task {
        let open = self.open_children(task).await;
        let units: Vec<_> = open.iter().map(unit_of).collect();
        let found = open.iter().find(|child| unit_of(child) == unit);
        found.unwrap_or_else(|| panic!("{unit} does not run: {units:?}")).clone()
    }

    /// Ends the child task of a unit, and advances the request.
    pub(crate) async fn end(&self, task: TaskId, unit: &str, end: ChildEnd) {
        let child = self.child(task, unit).await.spec.id;
        self.end_child(child, end).await;
        self.advance().await;
    }

    pub(crate) async fn end_child(&self, child: TaskId, end: ChildEnd) {
        let (status, summary) = match &end {
            ChildEnd::Failed(reason) => (TaskStatus::Failed, reason.clone()),
            ChildEnd::Patch(_) | ChildEnd::File(..) | ChildEnd::Nothing => {
                (TaskStatus::Completed, "done".to_owned())
            }
        };
        match end {
            ChildEnd::Patch(patch) => self.put_changes(child, &patch).await,
            ChildEnd::File(path, text) => self.put_file(child, "output", path, &text).await,
            ChildEnd::Nothing | ChildEnd::Failed(_) => {}
        }
        let ended = self.store.write(move |tx| {
            Box::pin(async move {
                // A task ends after its jobs.
                for job in tx.job_list_open(child).await? {
                    tx.job_close(job.spec.id, JobStatus::Completed, None).await?;
                }
                tx.task_set_status(child, TaskStatus::Running, None).await?;
                tx.task_set_status(child, status, Some(&summary)).await
            })
        });
        let ended: Result<bool, cynode_store::Error> = ended.await;
        assert!(ended.unwrap());
    }

    /// The files of a project with a test command.
    pub(crate) async fn end_context(&self, task: TaskId) {
        self.end_context_with(task, TREE, "# App\n\n## Test\n\n```\nsh tests/run.sh\n```\n").await;
    }

    /// The same with another tree and another guide.
    pub(crate) async fn end_context_with(&self, task: TaskId, tree: &str, guide: &str) {
        let child = self.child(task, "context").await.spec.id;
        self.put_file(child, "output", "files/AGENTS.md", guide).await;
        self.put_file(child, "output", "tree.txt", &format!("{tree}\n")).await;
        let paths = "AGENTS.md\nsrc/main.rs\ntests/run.sh\n".to_owned();
        self.end_child(child, ChildEnd::File("paths.txt", paths)).await;
        self.advance().await;
    }

    /// Leaves a patch as what the node collected after a job of a child task.
    pub(crate) async fn put_changes(&self, child: TaskId, patch: &str) {
        let job = JobId::generate();
        let inserted = self.store.write(move |tx| {
            Box::pin(async move {
                let run: RunId = tx.run_of_task(child).await?.unwrap().id;
                let payload = json!({});
                let (step_index, attempt, pinned_node) = (0, 1, None);
                let new =
                    NewJob { id: job, task: child, run, step_index, attempt, pinned_node, payload };
                tx.job_insert(&new).await?;
                tx.job_close(job, JobStatus::Completed, None).await
            })
        });
        let inserted: Result<bool, cynode_store::Error> = inserted.await;
        inserted.unwrap();
        let number = self.heads.fetch_add(1, Ordering::SeqCst);
        let base = "0".repeat(40);
        let head = if patch.is_empty() { base.clone() } else { format!("{number:040x}") };
        let changes = json!({
            "url": URL, "branch": "cynode/x", "base": base, "head": head,
            "commits": [], "files": [], "findings": [],
        });
        self.put_file(child, "changes", &changes_path(job, PATCH_FILE), patch).await;
        let file = changes_path(job, CHANGES_FILE);
        self.put_file(child, "changes", &file, &changes.to_string()).await;
    }

    async fn put_file(&self, task: TaskId, kind: &str, path: &str, text: &str) {
        let content = stream::iter([Ok::<_, std::io::Error>(Bytes::from(text.to_owned()))]);
        let staged = self.blobs.stage(content, 4 << 20).await.unwrap();
        staged.place().unwrap();
        let row = Artifact {
            id: ArtifactId::generate(),
            task,
            job: None,
            kind: kind.to_owned(),
            path: path.to_owned(),
            size_bytes: staged.size_bytes,
            sha256: staged.sha256.clone(),
            created_at: self.clock.now(),
        };
        let put = self.store.write(move |tx| Box::pin(async move { tx.artifact_put(&row).await }));
        let put: Result<_, cynode_store::Error> = put.await;
        put.unwrap();
    }
}

pub(crate) fn unit_of(child: &Task) -> String {
    child.parent.as_ref().map(|parent| parent.unit.clone()).unwrap_or_default()
}

/// A patch that changes one file.
pub(crate) fn patch(path: &str) -> ChildEnd {
    ChildEnd::Patch(format!(
        "diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-a\n+b\n"
    ))
}

/// A review with a verdict about the only requirement.
pub(crate) fn review(is_met: bool, evidence: &str) -> ChildEnd {
    let verdict = if is_met { "approved" } else { "changes_requested" };
    let report = json!({
        "verdict": verdict, "summary": "read",
        "criteria": [{ "number": 1, "isMet": is_met, "evidence": evidence }],
    });
    ChildEnd::File("review.json", report.to_string())
}
