//! Judges criteria in prose and creates a finding for each, unless no model was available.

use cynode_domain::finding::{FindingStatus, Severity, criterion_location};
use cynode_domain::policy::ErrorKind;
use cynode_domain::text::truncate_chars;
use cynode_wire::findings::{CreateFinding, FindingView, MAX_TEXT_CHARS};
use cynode_wire::handoff::{AnalystAnswer, DecidedBy, Handoff, VerifyHandoff};
use cynode_wire::tool_calls::{DbFindingCreate, ToolCall as _};

use super::evidence_files::read_evidence_files;
use crate::HandoffAgentError;
use crate::brain::BrainDecision as _;
use crate::brain::decisions::{CriterionJudgement, JudgeCriteria};
use crate::session::HandoffSession;
use crate::tools;

/// Judges each criterion and creates the findings.
pub(crate) async fn analyse(
    mut work: HandoffSession,
    handoff: &Handoff<VerifyHandoff>,
) -> Result<AnalystAnswer, HandoffAgentError> {
    let body = &handoff.body;
    let Some(task) = &handoff.context.task else {
        let (tool, message) =
            (DbFindingCreate::NAME.to_owned(), "the handoff has no task".to_owned());
        return Err(HandoffAgentError::Tool { tool, kind: ErrorKind::InvalidArguments, message });
    };
    let mut question = JudgeCriteria {
        criteria: body.criteria.clone(),
        evidence: body.evidence.clone(),
        command: body.command.clone(),
        earlier: body.earlier.clone(),
        exhibits: vec![],
        changes: body.changes.clone(),
    };
    if question.decide_by_rule().is_none() {
        question.exhibits = read_evidence_files(&work, task, body).await?;
    }
    let judged = work.decide(&question).await?;
    // A fallback judged nothing, so it creates no findings.
    let has_looked = work.decisions.last().is_none_or(|record| record.by != DecidedBy::Fallback);
    let mut findings = Vec::new();
    for judgement in judged.judgements.iter().filter(|_| has_looked) {
        let about = body.criteria.get(judgement.criterion).map_or("", String::as_str);
        let finding = new_finding(body, about, judgement);
        let call = DbFindingCreate { task_id: task.id, finding };
        let written: FindingView = tools::call_tool(work.tools.as_ref(), &call).await?;
        findings.push(written.id);
    }
    Ok(AnalystAnswer { status: judged.status(), findings, decisions: work.decisions })
}

fn new_finding(body: &VerifyHandoff, about: &str, judgement: &CriterionJudgement) -> CreateFinding {
    let severity = match judgement.status {
        FindingStatus::Pass => Severity::Info,
        FindingStatus::NeedsClarification => Severity::Warning,
        FindingStatus::Fail => Severity::Error,
    };
    let message = format!("{about}: {}", judgement.reason);
    let has_suggestion = !judgement.suggestion.trim().is_empty();
    CreateFinding {
        status: judgement.status,
        severity,
        message: truncate_chars(&message, MAX_TEXT_CHARS).to_owned(),
        location: Some(criterion_location(judgement.criterion)),
        suggestion: has_suggestion
            .then(|| truncate_chars(&judgement.suggestion, MAX_TEXT_CHARS).to_owned()),
        step_index: Some(body.step_index),
        job_id: Some(body.job_id),
    }
}
