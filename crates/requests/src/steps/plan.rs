//! Decides scope, workflow and components, and creates the units.

use cynode_domain::project_context::{ProjectAnalysis, ProjectContext};
use cynode_domain::request::{Decided, DecisionAuthor};
use cynode_domain::status::RequestPhase;
use cynode_domain::work::{UnitKind, WorkComponent, order_components};
use cynode_domain::work_kind::{WorkKind, WorkScope};
use cynode_ops::work::{insert_plan, persist_board};
use cynode_planning::context::CONTEXT_RULES;
use cynode_planning::intake::{Submission, assess_scope};
use cynode_planning::structured_context::summarize;
use cynode_planning::workflow::select_workflow;
use cynode_store::WorkPlan;
use cynode_wire::handoff::{PlanWorkAnswer, PlanWorkHandoff};
use serde_json::json;

use super::Step;
use super::classify::{author, has_no_manager};
use crate::RequestError;

/// The name of the component of work that is not split.
const SINGLE_COMPONENT: &str = "main";

/// What the project manager, or the rules without one, decided.
struct DecidedPlan {
    scope: Decided<WorkScope>,
    components: Vec<WorkComponent>,
    /// What a model added to the context.
    analysis: Option<ProjectAnalysis>,
}

impl Step<'_> {
    pub(super) async fn plan(mut self) -> Result<(), RequestError> {
        let state = &self.snapshot.request.state;
        let (Some(kind), Some(context)) = (state.kind.clone(), state.context.clone()) else {
            return Err(RequestError::Invalid(vec![
                "the request has no kind or no context".to_owned(),
            ]));
        };
        let DecidedPlan { scope, components, analysis } =
            self.decide_plan(kind.value, &context).await?;
        let analysed = analysis.map(|analysis| {
            let mut context = context.clone();
            context.add_analysis(analysis);
            context
        });
        let selected = select_workflow(kind.value, scope.value, context.has_ui);
        let workflow = state.workflow.clone().unwrap_or(Decided {
            value: selected.units,
            by: DecisionAuthor::Rule,
            reason: selected.reason,
        });
        let components = self.with_units(components, &workflow, selected.is_split);
        let ordered = order_components(&components).map_err(RequestError::Invalid)?;
        let estimate = self.estimate(&ordered, scope.value, &context).await?;
        let data = json!({
            "scope": scope.value, "by": scope.by, "reason": scope.reason,
            "workflow": workflow.value, "workflow_reason": workflow.reason,
            "components": components.iter().map(|part| &part.name).collect::<Vec<_>>(),
            "model_calls": estimate.model_calls, "cost_micro_usd": estimate.cost_micro_usd,
            "architecture": analysed.as_ref().map(|context| &context.architecture),
        });
        let request = &mut self.snapshot.request;
        let tree = request.state.context_tree.clone();
        if let Some(analysed) = &analysed {
            request.state.context = Some(analysed.clone());
        }
        request.state.scope = Some(scope);
        request.state.estimate = Some(estimate);
        request.state.workflow = Some(workflow);
        request.phase = request.phase.advance(RequestPhase::Working)?;
        let (task, now) = (self.snapshot.task.clone(), self.service.clock.now());
        let plan = WorkPlan {
            task: task.spec.id,
            issue_number: None,
            components,
            created_at: now,
            completed_at: None,
        };
        self.save_with("request.planned", data, move |tx| {
            Box::pin(async move {
                if let Some(board) = insert_plan(tx, &plan).await? {
                    persist_board(tx, &task, &board).await?;
                }
                if let (Some(tree), Some(context)) = (tree, analysed) {
                    let project = task.spec.project;
                    tx.project_context_put(project, &tree, CONTEXT_RULES, &context).await?;
                }
                Ok(())
            })
        })
        .await
    }

    async fn decide_plan(
        &self,
        kind: WorkKind,
        context: &ProjectContext,
    ) -> Result<DecidedPlan, RequestError> {
        let given = self.snapshot.request.state.scope.clone();
        let text = &self.snapshot.task.spec.prompt;
        let labels = &self.snapshot.request.source.labels;
        let body = PlanWorkHandoff {
            request: text.clone(),
            labels: labels.clone(),
            kind,
            scope: given.as_ref().map(|scope| scope.value),
            context: context.clone(),
        };
        let answer = self.service.handoffs.plan_work(&self.handoff_subject().await?, body).await;
        match answer {
            Ok(answer) => {
                let by = author(&answer.decisions, "assess_scope");
                let scope = Decided { value: answer.scope, by, reason: answer.reason };
                let PlanWorkAnswer { components, analysis, .. } = answer;
                Ok(DecidedPlan { scope: given.unwrap_or(scope), components, analysis })
            }
            Err(error) if has_no_manager(&error) => {
                let submission = Submission { text, labels, is_brief: false };
                let ruling = assess_scope(&submission, kind, Some(context));
                let scope = Decided {
                    value: ruling.value,
                    by: DecisionAuthor::Rule,
                    reason: ruling.reason,
                };
                let (components, analysis) = (vec![], None);
                Ok(DecidedPlan { scope: given.unwrap_or(scope), components, analysis })
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The components with the units of the workflow; one component if the work is not split.
    fn with_units(
        &self,
        components: Vec<WorkComponent>,
        workflow: &Decided<Vec<UnitKind>>,
        is_split: bool,
    ) -> Vec<WorkComponent> {
        let whole = WorkComponent {
            name: SINGLE_COMPONENT.to_owned(),
            description: summarize(&self.snapshot.task.spec.prompt),
            priority: 0,
            dependencies: vec![],
            skip_design: false,
            skip_review: false,
            units: vec![],
        };
        let parts = if is_split && !components.is_empty() { components } else { vec![whole] };
        let with_units = |part: WorkComponent| {
            // A model may leave out a design, unless a person wants it.
            let has_design = !part.skip_design || workflow.by == DecisionAuthor::Person;
            let is_wanted = |unit: &UnitKind| *unit != UnitKind::Design || has_design;
            let units = workflow.value.iter().copied().filter(is_wanted).collect();
            // Every component is reviewed where the workflow says so: a model cannot skip the gate.
            WorkComponent { units, skip_design: false, skip_review: false, ..part }
        };
        parts.into_iter().map(with_units).collect()
    }
}
