//! Decides the kind of a request: by a person, by the project manager, or by rule without one.

use cynode_domain::request::{Decided, DecisionAuthor};
use cynode_domain::status::RequestPhase;
use cynode_domain::work_kind::WorkKind;
use cynode_execution::handoff::HandoffError;
use cynode_planning::intake::{Submission, classify};
use cynode_wire::handoff::{ClassifyHandoff, DecidedBy, DecisionRecord};
use serde_json::json;

use super::Step;
use crate::RequestError;

impl Step<'_> {
    pub(super) async fn classify(mut self) -> Result<(), RequestError> {
        let decided = match self.snapshot.request.state.kind.clone() {
            Some(decided) => decided,
            None => self.decide_kind().await?,
        };
        let data = json!({ "kind": decided.value, "by": decided.by, "reason": decided.reason });
        self.snapshot.request.state.kind = Some(decided);
        self.snapshot.request.phase = self.snapshot.request.phase.advance(RequestPhase::Context)?;
        self.save("request.classified", data).await
    }

    async fn decide_kind(&self) -> Result<Decided<WorkKind>, RequestError> {
        let source = &self.snapshot.request.source;
        let text = &self.snapshot.task.spec.prompt;
        let body = ClassifyHandoff {
            request: text.clone(),
            labels: source.labels.clone(),
            is_brief: source.is_brief,
        };
        let answer = self.service.handoffs.classify(&self.handoff_subject().await?, body).await;
        match answer {
            Ok(answer) => {
                let by = author(&answer.decisions, "classify");
                Ok(Decided { value: answer.kind, by, reason: answer.reason })
            }
            Err(error) if has_no_manager(&error) => {
                let (labels, is_brief) = (source.labels.as_slice(), source.is_brief);
                let ruling = classify(&Submission { text, labels, is_brief });
                Ok(Decided { value: ruling.value, by: DecisionAuthor::Rule, reason: ruling.reason })
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// Who made the decision with this purpose.
pub(super) fn author(decisions: &[DecisionRecord], purpose: &str) -> DecisionAuthor {
    let record = decisions.iter().rev().find(|record| record.purpose == purpose);
    match record.map(|record| record.by) {
        Some(DecidedBy::Model) => DecisionAuthor::Model,
        Some(DecidedBy::Fallback) => DecisionAuthor::Fallback,
        Some(DecidedBy::Rule) | None => DecisionAuthor::Rule,
    }
}

/// Whether rules decide, because there is no project manager. One that is busy or fails is asked again.
pub(super) fn has_no_manager(error: &HandoffError) -> bool {
    matches!(error, HandoffError::Unreachable(_))
}
