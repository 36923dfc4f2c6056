//! The context of a handoff: its user, scope and rights, as the orchestrator resolved them.

use chrono::{DateTime, Utc};
use cynode_domain::criteria::Criterion;
use cynode_domain::ids::{GroupId, ProfileId, ProjectId, RunId, TaskId, ThreadId, UserId};
use cynode_domain::project_excerpts::ProjectExcerpts;
use cynode_domain::status::ShownTaskStatus;
use serde::{Deserialize, Serialize};

use crate::preferences::EffectiveView;

/// Context that the orchestrator resolved for a handoff.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct HandoffContext {
    /// User.
    pub user: HandoffUser,
    /// The user's groups.
    #[serde(default)]
    pub groups: Vec<GroupId>,
    /// Project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<ProjectFacts>,
    /// Task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskFacts>,
    /// Thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<ThreadId>,
    /// Run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    /// Trace id, shared by the logs of all processes.
    pub trace_id: String,
    /// The profile that the token acts in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile_id: Option<ProfileId>,
    /// Token for tool and model calls; it expires with the handoff.
    pub agent_token: AgentSecret,
    /// The preferences in effect, with their sources.
    pub preferences: EffectiveView,
    /// Text of the default skill, part of every prompt.
    pub skill: String,
    /// What chat turns and plans quote of the project.
    #[serde(default, skip_serializing_if = "ProjectExcerpts::is_empty")]
    pub excerpts: ProjectExcerpts,
}

/// User of a handoff.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct HandoffUser {
    /// The user.
    pub id: UserId,
    /// The user's handle.
    pub handle: String,
}

/// Facts about a project.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ProjectFacts {
    /// The project.
    pub id: ProjectId,
    /// Slug.
    pub slug: String,
    /// Its name.
    pub name: String,
    /// Description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// Facts about a task.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct TaskFacts {
    /// The task.
    pub id: TaskId,
    /// Its name.
    pub name: String,
    /// Status.
    pub status: ShownTaskStatus,
    /// The prompt.
    pub prompt: String,
    /// Acceptance criteria.
    pub acceptance_criteria: Vec<Criterion>,
    /// Last change, for optimistic concurrency.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<DateTime<Utc>>,
    /// Contents of its workspace before the next job.
    #[serde(default)]
    pub workspace: WorkspaceFacts,
}

/// Known contents of a task's workspace.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct WorkspaceFacts {
    /// Attachments of the task, below [`WorkspaceFacts::ATTACHMENTS`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<FileFacts>,
    /// Whether jobs have run in it, so that it may contain their files.
    #[serde(default)]
    pub is_used: bool,
}

impl WorkspaceFacts {
    /// The directory of the workspace in which attachments are placed.
    pub const ATTACHMENTS: &'static str = "attachments";
}

/// A file, without its content.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct FileFacts {
    /// Its path.
    pub path: String,
    /// Its size.
    pub size_bytes: i64,
}

/// A token secret. Serialised, but redacted in debug output.
#[derive(Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(transparent)]
pub struct AgentSecret(String);

impl AgentSecret {
    /// Wraps a secret.
    pub fn new(secret: String) -> Self {
        Self(secret)
    }

    /// Returns the secret.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for AgentSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("AgentSecret([redacted])")
    }
}
