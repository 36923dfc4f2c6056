//! The context of a handoff: what the orchestrator knows, so that nobody has to ask.

use std::time::Duration;

use cynode_domain::ids::{GroupId, TokenId};
use cynode_store::{ArtifactStore, PlacementStore, Task, TokenOrigin, Tx};
use cynode_wire::agents::{BindingView, IssueAgentToken};
use cynode_wire::handoff::{
    AgentRole, AgentSecret, FileFacts, HandoffContext, HandoffUser, ProjectFacts, TaskFacts,
    WorkspaceFacts,
};

use super::{HandoffError, Handoffs, Subject};
use crate::artifacts::ATTACHMENT;
use crate::groups;
use crate::preferences::{self, PreferenceError};
use crate::projects::{self, ProjectError};
use crate::skills;
use crate::tasks::{self, TaskError};

/// How much longer than its handoff a token lives, should nobody be left to end it.
const GRACE: Duration = Duration::from_mins(1);
/// How many attachments are named.
const MAX_ATTACHMENTS: usize = 200;

/// A context, and the token in it that has to be ended.
pub(super) struct Prepared {
    pub(super) context: HandoffContext,
    pub(super) token: TokenId,
}

impl Handoffs {
    /// Gathers facts, resolves preferences and issues a token for at most `within`.
    pub(super) async fn prepare(
        &self,
        subject: &Subject,
        role: AgentRole,
        within: Duration,
    ) -> Result<Prepared, HandoffError> {
        let facts = self.facts(subject).await?;
        let seconds = (within + GRACE).as_secs();
        let issued = self
            .agents
            .issue_for(
                &subject.caller,
                IssueAgentToken {
                    agent_type: role.agent_type(),
                    name: format!("handoff to the {}", role.as_str().replace('_', " ")),
                    user_id: None,
                    expires_in_seconds: Some(u32::try_from(seconds).unwrap_or(u32::MAX)),
                    binding: BindingView {
                        project_id: facts.project.as_ref().map(|project| project.id),
                        task_id: subject.task,
                        run_id: subject.run,
                        ..BindingView::default()
                    },
                },
                TokenOrigin {
                    schedule_run: subject.schedule_run,
                    thread: subject.thread,
                    trace: subject.trace_id.parse().ok(),
                    verification: subject.verification,
                },
            )
            .await?;
        let context = HandoffContext {
            user: HandoffUser { id: subject.caller.user, handle: subject.caller.handle.clone() },
            groups: facts.groups,
            project: facts.project,
            task: facts.task,
            thread_id: subject.thread,
            run_id: subject.run,
            trace_id: subject.trace_id.clone(),
            agent_token: AgentSecret::new(issued.secret),
            preferences: facts.preferences,
            skill: facts.skill,
        };
        Ok(Prepared { context, token: issued.token.id })
    }

    async fn facts(&self, subject: &Subject) -> Result<Facts, HandoffError> {
        let subject = subject.clone();
        self.store
            .read(move |tx| {
                Box::pin(async move {
                    let caller = &subject.caller;
                    let task = match subject.task {
                        Some(task) => Some(tasks::find(tx, caller, &task.to_string()).await?),
                        None => None,
                    };
                    let project = task.as_ref().map(|task| task.asked.project).or(subject.project);
                    let project = match project {
                        Some(project) => {
                            Some(projects::find(tx, caller, &project.to_string()).await?)
                        }
                        None => None,
                    };
                    let about = match (&task, &project) {
                        (Some(task), _) => preferences::Subject::Task(task.asked.id),
                        (None, Some(project)) => preferences::Subject::Project(project.id),
                        (None, None) => preferences::Subject::Caller,
                    };
                    Ok(Facts {
                        groups: groups::ids_of(tx, caller.user).await?,
                        preferences: preferences::with_sources(tx, caller, about).await?,
                        skill: skills::default_text(tx).await?,
                        project: project.map(|project| ProjectFacts {
                            id: project.id,
                            slug: project.slug,
                            name: project.display_name,
                            description: Some(project.description).filter(|text| !text.is_empty()),
                        }),
                        task: match task {
                            Some(task) => Some(task_facts(tx, task).await?),
                            None => None,
                        },
                    })
                })
            })
            .await
    }
}

async fn task_facts(tx: &mut Tx, task: Task) -> Result<TaskFacts, cynode_store::Error> {
    let id = task.asked.id;
    let files = tx.artifact_list(id).await?.into_iter();
    let attachments = files.filter(|file| file.kind == ATTACHMENT).take(MAX_ATTACHMENTS);
    let attachments = attachments
        .map(|file| FileFacts { path: file.path, size_bytes: file.size_bytes })
        .collect();
    let is_used = tx.task_node(id).await?.is_some();
    Ok(TaskFacts {
        id,
        name: task.asked.name,
        status: task.status.shown(),
        prompt: task.asked.prompt,
        acceptance_criteria: task.asked.acceptance_criteria,
        updated_at: Some(task.updated_at),
        workspace: WorkspaceFacts { attachments, is_used },
    })
}

/// What the database knows of the subject.
struct Facts {
    groups: Vec<GroupId>,
    project: Option<ProjectFacts>,
    task: Option<TaskFacts>,
    preferences: cynode_wire::preferences::EffectiveView,
    skill: String,
}

impl From<TaskError> for HandoffError {
    fn from(error: TaskError) -> Self {
        let TaskError::Store(error) = error else { return Self::Invalid(error.to_string()) };
        Self::Store(error)
    }
}

impl From<ProjectError> for HandoffError {
    fn from(error: ProjectError) -> Self {
        let ProjectError::Store(error) = error else { return Self::Invalid(error.to_string()) };
        Self::Store(error)
    }
}

impl From<PreferenceError> for HandoffError {
    fn from(error: PreferenceError) -> Self {
        let PreferenceError::Store(error) = error else { return Self::Invalid(error.to_string()) };
        Self::Store(error)
    }
}
