//! The context of a handoff: facts, preferences, the default skill and a token.

use std::time::Duration;

use cynode_domain::ids::{GroupId, TokenId};
use cynode_domain::project_excerpts::ProjectExcerpts;
use cynode_store::{Task, TokenOrigin, Tx};
use cynode_wire::agents::{BindingView, IssueAgentToken};
use cynode_wire::handoff::{
    AgentRole, AgentSecret, FileFacts, HandoffContext, HandoffUser, ProjectFacts, TaskFacts,
    WorkspaceFacts,
};

use super::{HandoffError, HandoffService, HandoffSubject};
use crate::artifacts::ATTACHMENT;
use crate::{tasks, tasks::TaskError};
use cynode_resources::groups;
use cynode_resources::project_excerpts::ExcerptQuery;
use cynode_resources::skills;
use cynode_resources::{preferences, preferences::PreferenceError};
use cynode_resources::{projects, projects::ProjectError};

/// How much longer than its handoff a token lives if this process dies before revoking it.
const GRACE: Duration = Duration::from_mins(1);
/// How many attachments are listed.
const MAX_ATTACHMENTS: usize = 200;

/// A context, and its token, which must be revoked at the end.
pub(super) struct PreparedHandoff {
    pub(super) context: HandoffContext,
    pub(super) token: TokenId,
}

impl HandoffService {
    /// Gathers facts, resolves preferences and issues a token for at most `within`.
    pub(super) async fn prepare(
        &self,
        subject: &HandoffSubject,
        role: AgentRole,
        timeout: Duration,
    ) -> Result<PreparedHandoff, HandoffError> {
        let facts = self.load_facts(subject).await?;
        let seconds = (timeout + GRACE).as_secs();
        let issued = self
            .agents
            .issue_for_handoff(
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
            profile_id: issued.token.profile_id,
            agent_token: AgentSecret::new(issued.secret),
            preferences: facts.preferences,
            skill: facts.skill,
            excerpts: ProjectExcerpts::default(),
        };
        Ok(PreparedHandoff { context, token: issued.token.id })
    }

    /// Finds the excerpts of the project that fit the subject, in the profile of the handoff's token.
    pub(super) async fn find_excerpts(
        &self,
        subject: &HandoffSubject,
        context: &HandoffContext,
    ) -> ProjectExcerpts {
        let (Some(text), Some(project)) = (&subject.excerpts_about, &context.project) else {
            return ProjectExcerpts::default();
        };
        let query = ExcerptQuery {
            project: project.id,
            profile: context.profile_id,
            text: text.clone(),
            except_task: subject.task,
        };
        self.excerpts.find(query, self.options.excerpts_within).await
    }

    async fn load_facts(&self, subject: &HandoffSubject) -> Result<HandoffFacts, HandoffError> {
        let subject = subject.clone();
        self.store
            .read(move |tx| {
                Box::pin(async move {
                    let caller = &subject.caller;
                    let task = match subject.task {
                        Some(task) => Some(tasks::find(tx, caller, &task.into()).await?),
                        None => None,
                    };
                    let project = task.as_ref().map(|task| task.spec.project).or(subject.project);
                    let project = match project {
                        Some(project) => Some(projects::find(tx, caller, &project.into()).await?),
                        None => None,
                    };
                    let about = match (&task, &project) {
                        (Some(task), _) => preferences::PreferenceSubject::Task(task.spec.id),
                        (None, Some(project)) => {
                            preferences::PreferenceSubject::Project(project.id)
                        }
                        (None, None) => preferences::PreferenceSubject::Caller,
                    };
                    Ok(HandoffFacts {
                        groups: groups::load_group_ids(tx, caller.user).await?,
                        preferences: preferences::effective_with_sources(tx, caller, about).await?,
                        skill: skills::load_system_skill_text(tx).await?,
                        project: project.map(|project| ProjectFacts {
                            id: project.id,
                            slug: project.slug,
                            name: project.display_name,
                            description: Some(project.description).filter(|text| !text.is_empty()),
                        }),
                        task: match task {
                            Some(task) => Some(load_task_facts(tx, task).await?),
                            None => None,
                        },
                    })
                })
            })
            .await
    }
}

async fn load_task_facts(tx: &mut Tx, task: Task) -> Result<TaskFacts, cynode_store::Error> {
    let id = task.spec.id;
    let files = tx.artifact_list(id).await?.into_iter();
    let attachments = files.filter(|file| file.kind == ATTACHMENT).take(MAX_ATTACHMENTS);
    let attachments = attachments
        .map(|file| FileFacts { path: file.path, size_bytes: file.size_bytes })
        .collect();
    let is_used = tx.task_node(id).await?.is_some();
    Ok(TaskFacts {
        id,
        name: task.spec.name,
        status: task.status.to_shown(),
        prompt: task.spec.prompt,
        acceptance_criteria: task.spec.acceptance_criteria,
        updated_at: Some(task.updated_at),
        workspace: WorkspaceFacts { attachments, is_used },
    })
}

/// The facts about the subject, loaded from the database.
struct HandoffFacts {
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
