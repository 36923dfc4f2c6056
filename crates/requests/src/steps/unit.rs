//! Starts an attempt at a unit: who works on it, with which prompt, on which changes, and what it must meet.

use std::time::Duration;

use cynode_domain::criteria::Criterion;
use cynode_domain::plan::InputMode;
use cynode_domain::project_context::ProjectContext;
use cynode_domain::project_excerpts::ProjectExcerpts;
use cynode_domain::question::{Question, QuestionKind, Reply, ReplyForm};
use cynode_domain::report::ReviewFeedback;
use cynode_domain::request::{AnswerAuthor, QuestionSubject};
use cynode_domain::status::WorkUnitStatus as Status;
use cynode_domain::work::UnitKind;
use cynode_domain::work_kind::{ProjectKind, WorkScope};
use cynode_ops::work::WorkBoard;
use cynode_planning::assignment::{AgentAssignment, AgentRoster, BUILT_IN_AGENT, DEMO_AGENT};
use cynode_planning::prompt::render_prompt;
use cynode_planning::review::REVIEW_FILE;
use cynode_planning::structured_context::{StructuredContext, UnitSubject, artifact_path};
use cynode_resources::project_excerpts::ExcerptQuery;
use cynode_store::WorkUnit;
use cynode_wire::tasks::CreateTask;
use serde_json::json;

use super::Step;
use super::delivery::NO_MARKERS;
use super::sources::is_source_kind;
use crate::RequestError;
use crate::next_action::failures;
use crate::snapshot::{is_conflict_stop, is_replanned};
use crate::steps::recovery::{newest_checkpoint, render_checkpoint};

/// How long the search for excerpts may take; the prompt of a unit is written once, so it waits longer than a chat turn.
const EXCERPT_TIMEOUT: Duration = Duration::from_secs(30);
/// The instruction for the agent of a unit whose sources conflict.
const RESOLVE_CONFLICTS: &str = "The changes that this work builds on conflict with each other. Files with conflicts contain markers (`<<<<<<<`, `=======`, `>>>>>>>`). Resolve every conflict first so that both changes are kept, and leave no marker.";

/// What the prompt of a unit quotes beside the request.
pub(super) struct UnitBackground {
    excerpts: ProjectExcerpts,
    /// The newest checkpoint of the attempts since the last accepted one.
    checkpoint: Option<String>,
}

impl Step<'_> {
    pub(super) async fn start_unit(mut self, unit: &str) -> Result<(), RequestError> {
        let board = self.snapshot.board.as_ref();
        let board =
            board.ok_or_else(|| RequestError::Invalid(vec!["there is no plan".to_owned()]))?;
        let index = board.find_unit(unit)?;
        let row = board.unit(index).clone();
        let context = self.context()?;
        if row.kind == UnitKind::Test && context.test_commands.is_empty() {
            return self.approve_without_work(index, "the project has no tests").await;
        }
        if row.kind == UnitKind::Test && !self.snapshot.request.settings.require_tests_pass {
            return self.approve_without_work(index, "tests are not required").await;
        }
        if let Some(problem) = self.budget_problem(unit).await? {
            return self.ask_about_budget(unit, problem).await;
        }
        let assignment = self.assign(&row, &context).await?;
        if let Some(why) = self.find_missing_agent(&row, &assignment).await? {
            return self.ask_without_agent(&row, why).await;
        }
        let owner = self.owner().await?;
        let builds_on = self.unit_changes(&owner, &row).await?;
        let background = self.find_background(&row).await?;
        let request = self.unit_request(&row, &context, &assignment, builds_on, background);
        if let Some(board) = &mut self.snapshot.board
            && board.unit(index).status != Status::InProgress
        {
            board.transition(index, Status::InProgress)?;
        }
        self.create_child(unit, request).await
    }

    pub(super) fn context(&self) -> Result<ProjectContext, RequestError> {
        let context = self.snapshot.request.state.context.clone();
        context.ok_or_else(|| RequestError::Invalid(vec!["the project was not read".to_owned()]))
    }

    pub(super) async fn assign(
        &self,
        unit: &WorkUnit,
        context: &ProjectContext,
    ) -> Result<AgentAssignment, RequestError> {
        let scope = self
            .snapshot
            .request
            .state
            .scope
            .as_ref()
            .map_or(WorkScope::Medium, |scope| scope.value);
        let roster = self.service.load_roster().await?;
        Ok(self.assign_kind(&roster, unit.kind, scope, context.kind))
    }

    /// The agent of the units of a kind: that of the request, or as configured.
    pub(super) fn assign_kind(
        &self,
        roster: &AgentRoster,
        unit: UnitKind,
        scope: WorkScope,
        project: ProjectKind,
    ) -> AgentAssignment {
        let mut assigned = roster.assign(unit, scope, project);
        if let Some(profile) = &self.snapshot.request.settings.agent {
            assigned.profile.clone_from(profile);
        }
        assigned
    }

    /// Why no agent can work on a unit; `None` if one can.
    pub(super) async fn find_missing_agent(
        &self,
        unit: &WorkUnit,
        assignment: &AgentAssignment,
    ) -> Result<Option<&'static str>, RequestError> {
        Ok(match (assignment.profile.as_str(), unit.kind) {
            (_, UnitKind::Test) => None,
            (DEMO_AGENT, UnitKind::Review) => Some("a script cannot review"),
            (BUILT_IN_AGENT, _) if !self.has_model().await? => Some("no model is configured"),
            _ => None,
        })
    }

    /// Whether a model provider is configured that the built-in agent can use.
    async fn has_model(&self) -> Result<bool, RequestError> {
        let providers = self
            .service
            .store
            .read(|tx| Box::pin(async move { Ok::<_, RequestError>(tx.provider_list().await?) }));
        Ok(providers.await?.iter().any(|provider| provider.is_enabled))
    }

    /// Asks a person to review, or to provide an agent.
    pub(super) async fn ask_without_agent(
        mut self,
        unit: &WorkUnit,
        why: &str,
    ) -> Result<(), RequestError> {
        if unit.kind == UnitKind::Review {
            let mut about = vec![format!(
                "`cynork pm diff {}` shows the changes",
                self.snapshot.task.spec.name
            )];
            about.extend(self.requirements());
            about.extend(self.judged_scope_changes(unit));
            let question = Question {
                kind: QuestionKind::Approval,
                text: format!(
                    "No agent reviews {}: {why}. Approve it (yes), or say what to change (text)?",
                    unit.component
                ),
                about,
                accepts: vec![ReplyForm::Yes, ReplyForm::Text, ReplyForm::No],
            };
            if let Some(board) = &mut self.snapshot.board {
                let index = board.find_unit(&unit.id)?;
                if board.unit(index).status != Status::InProgress {
                    board.transition(index, Status::InProgress)?;
                }
            }
            self.set_question(QuestionSubject::Review { unit: unit.id.clone() }, question);
        } else {
            let question = Question {
                kind: QuestionKind::Clarification,
                text: format!(
                    "No agent can work on {}: {why}. Add a model (`cynork models add-provider`), or name another agent (`cynork pm submit --agent`), then retry.",
                    unit.id
                ),
                about: vec![],
                accepts: vec![ReplyForm::Retry, ReplyForm::No],
            };
            self.set_question(QuestionSubject::UnitFailed { unit: unit.id.clone() }, question);
        }
        self.save_question().await
    }

    /// The requirements of the request, as numbered lines.
    pub(super) fn requirements(&self) -> Vec<String> {
        let all = cynode_planning::requirements::list_requirements(&self.snapshot.task.spec.prompt);
        all.iter().enumerate().map(|(index, text)| format!("{}. {text}", index + 1)).collect()
    }

    async fn approve_without_work(mut self, index: usize, why: &str) -> Result<(), RequestError> {
        let mut data = json!({});
        if let Some(board) = &mut self.snapshot.board {
            if board.unit(index).status != Status::InProgress {
                board.transition(index, Status::InProgress)?;
            }
            board.transition(index, Status::Submitted)?;
            board.edit_unit(index).notes = Some(why.to_owned());
            data = json!({ "unit": board.unit(index).id, "reason": why });
            board.approve(index)?;
        }
        self.save("request.unit_approved", data).await
    }

    /// Finds the excerpts of memory and documents that fit a unit, and the newest checkpoint of its agents.
    pub(super) async fn find_background(
        &self,
        unit: &WorkUnit,
    ) -> Result<UnitBackground, RequestError> {
        let spec = &self.snapshot.task.spec;
        let query = ExcerptQuery {
            project: spec.project,
            profile: spec.profile_id,
            text: format!("{} {}", unit.component, spec.prompt),
            except_task: Some(spec.id),
        };
        let excerpts = self.service.excerpts.find(query, EXCERPT_TIMEOUT).await;
        let request = self.snapshot.request.task;
        let read = self.service.store.read(move |tx| {
            Box::pin(async move {
                Ok::<_, RequestError>(tx.agent_checkpoints_of_children(request).await?)
            })
        });
        let checkpoints = read.await?;
        let checkpoint = newest_checkpoint(&self.snapshot, &unit.id, &checkpoints);
        Ok(UnitBackground { excerpts, checkpoint: checkpoint.map(render_checkpoint) })
    }

    pub(super) fn unit_request(
        &self,
        unit: &WorkUnit,
        context: &ProjectContext,
        assignment: &AgentAssignment,
        builds_on: Vec<String>,
        background: UnitBackground,
    ) -> CreateTask {
        let base = CreateTask { builds_on, ..self.child_request(&unit.id) };
        if unit.kind == UnitKind::Test {
            let commands = context.verification_commands();
            return CreateTask { input_mode: InputMode::Commands, commands, ..base };
        }
        let prompt = render_prompt(
            unit.kind,
            &unit.component,
            assignment,
            &StructuredContext {
                memory: background.excerpts.memory,
                knowledge: background.excerpts.knowledge,
                checkpoint: background.checkpoint,
                ..self.structured_context(unit, context)
            },
        );
        let is_tested = self.snapshot.request.settings.require_tests_pass
            && unit.kind == UnitKind::Implementation;
        let mut acceptance_criteria: Vec<Criterion> = vec![];
        if is_tested {
            let check = |command: &String| Criterion::CommandSucceeds { command: command.clone() };
            acceptance_criteria.extend(context.test_commands.iter().map(check));
        }
        if let Some(path) = artifact_path(unit.kind, &unit.component) {
            acceptance_criteria
                .push(Criterion::CommandSucceeds { command: format!("test -s '{path}'") });
        }
        let expected_outputs =
            if unit.kind == UnitKind::Review { vec![REVIEW_FILE.to_owned()] } else { vec![] };
        if assignment.profile == DEMO_AGENT {
            return CreateTask {
                input_mode: InputMode::Commands,
                commands: vec![demo_command(unit.kind)],
                acceptance_criteria,
                ..base
            };
        }
        // What it builds on conflicts: its agent resolves that first.
        let mark_conflicts = is_source_kind(unit.kind) && self.snapshot.has_conflict(&unit.id);
        if mark_conflicts {
            acceptance_criteria.push(Criterion::CommandSucceeds { command: NO_MARKERS.to_owned() });
        }
        CreateTask {
            input_mode: InputMode::Agent,
            prompt,
            acceptance_criteria,
            expected_outputs,
            mark_conflicts,
            agent: Some(assignment.profile.clone()),
            model_hint: Some(assignment.model_hint.clone()),
            ..base
        }
    }

    fn structured_context(&self, unit: &WorkUnit, context: &ProjectContext) -> StructuredContext {
        let components =
            self.snapshot.board.as_ref().map(WorkBoard::components).unwrap_or_default();
        let component = components.iter().find(|part| part.name == unit.component);
        let (description, present) =
            component.map(|part| (part.description.clone(), part.kinds())).unwrap_or_default();
        let subject = UnitSubject {
            kind: unit.kind,
            component: &unit.component,
            description: &description,
            present: &present,
        };
        let request = &self.snapshot.task.spec.prompt;
        let feedback = unit.revision_feedback.clone().filter(|_| unit.revision_count > 0);
        let (recovery, advice) = self.recovery(&unit.id);
        StructuredContext {
            revision_feedback: feedback
                .and_then(|value| serde_json::from_value::<ReviewFeedback>(value).ok()),
            recovery,
            advice,
            scope_changes: self.scope_changes(&unit.id),
            judged_scope_changes: self.judged_scope_changes(unit),
            is_scope_reduced: self.is_scope_reduced(unit),
            answers: self.list_unit_answers(&unit.id, AnswerAuthor::Person),
            agent_answers: self.list_unit_answers(&unit.id, AnswerAuthor::Agent),
            people_comments: self.list_comments(&unit.id),
            ..StructuredContext::for_unit(request, context, subject)
        }
    }

    /// What the last failed attempt left, and how to go on; the third attempt reduces the scope.
    fn recovery(&self, unit: &str) -> (Option<String>, Option<String>) {
        let failed = failures(&self.snapshot, unit);
        let newest = self.snapshot.newest_attempt(unit);
        let advice = match failed {
            0 if newest.is_some_and(is_conflict_stop) => RESOLVE_CONFLICTS,
            0 if newest.is_some_and(is_replanned) => {
                "The scope has changed since. What it has changed is in the working directory: go on from there."
            }
            0 => return (None, None),
            1 => "Its changes are in the working directory: go on from there.",
            _ => {
                "Reduce the scope: do the smallest part that meets the requirements, and leave out what is optional."
            }
        };
        let outcome = newest.and_then(|newest| newest.attempt.outcome.as_ref());
        let message = outcome.and_then(|outcome| outcome["message"].as_str());
        (Some(message.unwrap_or("it failed").to_owned()), Some(advice.to_owned()))
    }

    /// The answers of people, or of agents on their behalf, about a unit.
    fn list_unit_answers(&self, unit: &str, author: AnswerAuthor) -> Vec<String> {
        let answers = self.snapshot.request.state.answers.iter();
        let is_about = |subject: &QuestionSubject| match subject {
            QuestionSubject::UnitFailed { unit: about }
            | QuestionSubject::AgentMessage { unit: about, .. } => about == unit,
            QuestionSubject::Intake {} => true,
            QuestionSubject::Budget { .. }
            | QuestionSubject::Phase {}
            | QuestionSubject::Review { .. }
            | QuestionSubject::ReviewCap { .. } => false,
        };
        answers
            .filter(|answered| answered.author == author && is_about(&answered.asked.subject))
            .filter_map(|answered| match &answered.answer.reply {
                Some(Reply::Text { text }) => Some(text.clone()),
                _ => None,
            })
            .collect()
    }
}

/// Runs the script of the repository that takes the place of an agent.
fn demo_command(kind: UnitKind) -> String {
    let path = format!(".cynode/demo/{kind}.sh");
    format!(
        "test -f {path} || {{ echo 'the demo agent runs {path} of the repository, which does not exist' >&2; exit 1; }}; sh {path}"
    )
}
