//! Decides the kind of submitted work, then its scope and its components.

use cynode_planning::workflow::select_workflow;
use cynode_wire::handoff::{
    ClassifyAnswer, ClassifyHandoff, DecidedBy, Handoff, PlanWorkAnswer, PlanWorkHandoff,
};

use super::project::describe_context;
use crate::HandoffAgentError;
use crate::brain::decisions::{
    AnalyseCodebase, AssessScope, ClassifyRequest, IdentifyComponents, ScopeAssessment,
};
use crate::session::HandoffSession;

/// Decides the kind of a request.
pub(crate) async fn classify(
    mut work: HandoffSession,
    handoff: &Handoff<ClassifyHandoff>,
) -> Result<ClassifyAnswer, HandoffAgentError> {
    let body = &handoff.body;
    let question = ClassifyRequest {
        request: body.request.clone(),
        has_brief: body.is_brief,
        labels: body.labels.clone(),
    };
    let decided = work.decide(&question).await?;
    Ok(ClassifyAnswer { kind: decided.kind, reason: decided.reason, decisions: work.decisions })
}

/// Decides the scope and the components of a request.
pub(crate) async fn plan_work(
    mut work: HandoffSession,
    handoff: &Handoff<PlanWorkHandoff>,
) -> Result<PlanWorkAnswer, HandoffAgentError> {
    let body = &handoff.body;
    let mut project = describe_context(&body.context);
    let mut analysis = None;
    if cynode_planning::context::find_gap(&body.context).is_some() {
        let question = AnalyseCodebase { files: body.context.files.clone(), guide: None };
        let sketch = work.decide(&question).await?;
        project.clone_from(&sketch.architecture);
        // The names of the files say no more than the context does.
        let by = work.decisions.last().map(|decision| decision.by);
        analysis = (by == Some(DecidedBy::Model)).then(|| sketch.into());
    }
    let assessed = if let Some(scope) = body.scope {
        ScopeAssessment::decided_by_person(scope)
    } else {
        let question = AssessScope {
            request: body.request.clone(),
            kind: body.kind,
            labels: body.labels.clone(),
            project,
        };
        work.decide(&question).await?
    };
    let ScopeAssessment { scope, reasoning: reason, .. } = assessed;
    let question = IdentifyComponents { request: body.request.clone(), kind: body.kind, scope };
    let workflow = select_workflow(body.kind, scope, body.context.has_ui);
    let components = if workflow.is_split {
        work.decide(&question).await?.components
    } else {
        question.single_component().components
    };
    Ok(PlanWorkAnswer { scope, reason, components, analysis, decisions: work.decisions })
}
