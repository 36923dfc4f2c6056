//! Starts an attempt at a unit: who works on it, with which prompt, on which changes, and what it must meet.

use std::collections::BTreeSet;

use cynode_domain::criteria::Criterion;
use cynode_domain::ids::TaskId;
use cynode_domain::plan::InputMode;
use cynode_domain::project_context::ProjectContext;
use cynode_domain::question::{Question, QuestionKind, Reply, ReplyForm};
use cynode_domain::report::ReviewFeedback;
use cynode_domain::request::QuestionSubject;
use cynode_domain::status::WorkUnitStatus as Status;
use cynode_domain::work::UnitKind;
use cynode_domain::work_kind::WorkScope;
use cynode_execution::artifacts::DiffScope;
use cynode_ops::work::WorkBoard;
use cynode_planning::assignment::{AgentAssignment, AgentRoster, BUILT_IN_AGENT};
use cynode_planning::prompt::render_prompt;
use cynode_planning::review::REVIEW_FILE;
use cynode_planning::structured_context::{StructuredContext, UnitSubject, artifact_path};
use cynode_resources::Caller;
use cynode_store::WorkUnit;
use cynode_wire::git::{GitSeverity, TaskDiffView};
use cynode_wire::tasks::CreateTask;
use serde_json::json;

use super::Step;
use crate::RequestError;
use crate::next_action::failures;

/// The setting with the roster of agents.
pub(crate) const ROSTER_SETTING: &str = "pm.agents";

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
        if let Some(problem) = self.budget_problem().await? {
            return self.ask_about_budget(unit, problem).await;
        }
        let assignment = self.assign(&row, &context).await?;
        let needs_model = row.kind != UnitKind::Test && assignment.profile == BUILT_IN_AGENT;
        if needs_model && !self.has_model().await? {
            return self.ask_without_model(&row).await;
        }
        let owner = self.owner().await?;
        let builds_on = self.sources_of(&owner, &row).await?;
        let request = self.unit_request(&row, &context, &assignment, builds_on);
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

    async fn assign(
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
        let setting = self.service.store.read(|tx| {
            Box::pin(async move {
                let found = tx.setting_get(ROSTER_SETTING).await?;
                Ok::<_, RequestError>(found.map(|setting| setting.value))
            })
        });
        let roster =
            setting.await?.and_then(|value| serde_json::from_value::<AgentRoster>(value).ok());
        let mut assigned = roster.unwrap_or_default().assign(unit.kind, scope, context.kind);
        if let Some(profile) = &self.snapshot.request.settings.agent {
            assigned.profile.clone_from(profile);
        }
        Ok(assigned)
    }

    /// Whether a model provider is configured that the built-in agent can use.
    async fn has_model(&self) -> Result<bool, RequestError> {
        let providers = self
            .service
            .store
            .read(|tx| Box::pin(async move { Ok::<_, RequestError>(tx.provider_list().await?) }));
        Ok(providers.await?.iter().any(|provider| provider.is_enabled))
    }

    /// Why no further attempt may start; `None` if the budget covers it. Calls of unknown price count as not covered.
    async fn budget_problem(&self) -> Result<Option<String>, RequestError> {
        let Some(budget) = self.snapshot.request.settings.budget_micros else { return Ok(None) };
        let all = self.snapshot.task_ids();
        let sums = self.service.store.read(move |tx| {
            Box::pin(async move { Ok::<_, RequestError>(tx.inference_sums_of(&all).await?) })
        });
        let sums = sums.await?;
        let dollars = format!("${}.{:02}", budget / 1_000_000, budget % 1_000_000 / 10_000);
        Ok(if sums.unpriced > 0 {
            Some(format!(
                "{} model calls have no known price, so the budget of {dollars} cannot be kept. Go on without it?",
                sums.unpriced
            ))
        } else if sums.cost_micro_usd >= budget {
            Some(format!("The budget of {dollars} is spent. Grant the same amount again?"))
        } else {
            None
        })
    }

    async fn ask_about_budget(mut self, unit: &str, text: String) -> Result<(), RequestError> {
        let question = Question {
            kind: QuestionKind::Approval,
            text,
            about: vec![format!("next: {unit}")],
            accepts: vec![ReplyForm::Yes, ReplyForm::No],
        };
        self.set_question(QuestionSubject::Budget {}, question);
        self.save_question().await
    }

    /// Without a model a person reviews, or provides one.
    async fn ask_without_model(mut self, unit: &WorkUnit) -> Result<(), RequestError> {
        if unit.kind == UnitKind::Review {
            let mut about = vec![format!(
                "`cynork pm diff {}` shows the changes",
                self.snapshot.task.spec.name
            )];
            about.extend(self.requirements());
            let question = Question {
                kind: QuestionKind::Approval,
                text: format!(
                    "No model is configured to review {}. Approve it (yes), or say what to change (text)?",
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
                    "No model is configured, so the built-in agent cannot work on {}. Add one (`cynork models add-provider`), or name another agent (`cynork pm submit --agent`), then retry.",
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

    /// The child tasks whose changes a unit starts from: units before it, components it depends on, its own last attempt.
    async fn sources_of(
        &self,
        owner: &Caller,
        unit: &WorkUnit,
    ) -> Result<Vec<String>, RequestError> {
        let Some(board) = &self.snapshot.board else { return Ok(vec![]) };
        let component = board.components().iter().find(|part| part.name == unit.component);
        let needed: BTreeSet<&str> =
            component.into_iter().flat_map(|part| &part.dependencies).map(String::as_str).collect();
        let is_source = |other: &&WorkUnit| {
            is_source_kind(other.kind)
                && (needed.contains(other.component.as_str())
                    || (other.component == unit.component && other.kind < unit.kind))
        };
        let mut children: Vec<TaskId> = board
            .units()
            .iter()
            .filter(is_source)
            .filter_map(|other| self.snapshot.accepted_attempt(&other.id))
            .map(|attempt| attempt.attempt.child)
            .collect();
        if is_source_kind(unit.kind) {
            children.extend(self.snapshot.newest_attempt(&unit.id).map(|own| own.attempt.child));
        }
        self.with_changes(owner, children).await
    }

    /// Those of the tasks that changed something.
    pub(super) async fn with_changes(
        &self,
        owner: &Caller,
        children: Vec<TaskId>,
    ) -> Result<Vec<String>, RequestError> {
        let mut found = vec![];
        for child in children {
            let diff = self.read_changes(owner, child, DiffScope::All).await?;
            let is_usable = |diff: &TaskDiffView| {
                diff.changes.head != diff.changes.base && blocking_finding(diff).is_none()
            };
            if diff.as_ref().is_some_and(is_usable) {
                found.push(child.to_string());
            }
        }
        Ok(found)
    }

    fn unit_request(
        &self,
        unit: &WorkUnit,
        context: &ProjectContext,
        assignment: &AgentAssignment,
        builds_on: Vec<String>,
    ) -> CreateTask {
        let base = CreateTask { builds_on, ..self.child_request(&unit.id) };
        if unit.kind == UnitKind::Test {
            let commands =
                context.build_commands.iter().chain(&context.test_commands).cloned().collect();
            return CreateTask {
                input_mode: InputMode::Commands,
                commands,
                retry_interrupted: true,
                ..base
            };
        }
        let prompt = render_prompt(
            unit.kind,
            &unit.component,
            assignment,
            &self.structured_context(unit, context),
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
        CreateTask {
            input_mode: InputMode::Agent,
            prompt,
            acceptance_criteria,
            expected_outputs,
            agent: Some(assignment.profile.clone()),
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
        StructuredContext {
            revision_feedback: feedback
                .and_then(|value| serde_json::from_value::<ReviewFeedback>(value).ok()),
            recovery: self.recovery(&unit.id),
            answers: self.answers_about(&unit.id),
            ..StructuredContext::for_unit(request, context, subject)
        }
    }

    /// What the last failed attempt left; the third attempt reduces the scope.
    fn recovery(&self, unit: &str) -> Option<String> {
        let failed = failures(&self.snapshot, unit);
        if failed == 0 {
            return None;
        }
        let outcome = self.snapshot.newest_attempt(unit)?.attempt.outcome.as_ref()?;
        let message = outcome["message"].as_str().unwrap_or("it failed");
        let advice = if failed == 1 {
            "Its changes are in the working directory: go on from there."
        } else {
            "Reduce the scope: do the smallest part that meets the requirements, and leave out what is optional."
        };
        Some(format!("{message}\n{advice}"))
    }

    /// What people said about a unit.
    fn answers_about(&self, unit: &str) -> Vec<String> {
        let answers = self.snapshot.request.state.answers.iter();
        let is_about = |subject: &QuestionSubject| match subject {
            QuestionSubject::UnitFailed { unit: about } => about == unit,
            QuestionSubject::Intake {} => true,
            QuestionSubject::Budget {}
            | QuestionSubject::Phase {}
            | QuestionSubject::Review { .. }
            | QuestionSubject::ReviewCap { .. } => false,
        };
        answers
            .filter(|answered| is_about(&answered.asked.subject))
            .filter_map(|answered| match &answered.answer.reply {
                Some(Reply::Text { text }) => Some(text.clone()),
                _ => None,
            })
            .collect()
    }
}

/// Whether other units build on the changes of such a unit. Reviews and tests change nothing that is delivered.
pub(super) const fn is_source_kind(kind: UnitKind) -> bool {
    matches!(kind, UnitKind::Spec | UnitKind::Design | UnitKind::Implementation)
}

/// The finding that forbids to use changes.
pub(super) fn blocking_finding(diff: &TaskDiffView) -> Option<String> {
    let found =
        diff.changes.findings.iter().find(|finding| finding.severity == GitSeverity::Block)?;
    let path = found.path.as_deref().unwrap_or("the changes");
    Some(format!("{path}: {}", found.message))
}
