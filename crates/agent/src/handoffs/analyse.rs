//! An analyst judges criteria in prose and writes a finding about each, if anybody could look at them.

use cynode_domain::finding::{FindingStatus, Severity, at_criterion};
use cynode_domain::ids::TaskId;
use cynode_domain::policy::ErrorKind;
use cynode_wire::findings::FindingView;
use cynode_wire::handoff::{AnalystAnswer, DecidedBy, Handoff, VerifyHandoff};
use serde_json::{Value, json};

use super::exhibits::read_exhibits;
use crate::AgentError;
use crate::brain::Decision as _;
use crate::brain::decisions::{JudgeCriteria, Judgement};
use crate::tools;
use crate::work::Work;

const WRITE: &str = "db.finding.create";
/// What a finding may say at most, in characters.
const MAX_CHARS: usize = 4000;

/// Judges each criterion and writes what was found.
pub(crate) async fn analyse(
    mut work: Work,
    handoff: &Handoff<VerifyHandoff>,
) -> Result<AnalystAnswer, AgentError> {
    let body = &handoff.body;
    let Some(task) = &handoff.context.task else {
        let (tool, message) = (WRITE.to_owned(), "the handoff names no task".to_owned());
        return Err(AgentError::Tool { tool, kind: ErrorKind::InvalidArguments, message });
    };
    let mut question = JudgeCriteria {
        criteria: body.criteria.clone(),
        evidence: body.evidence.clone(),
        command: body.command.clone(),
        earlier: body.earlier.clone(),
        exhibits: vec![],
    };
    if question.by_rule().is_none() {
        question.exhibits = read_exhibits(&work, task, body).await?;
    }
    let judged = work.think(&question).await?;
    // Where nobody could look there is nothing to find: only who looked can ask a person.
    let has_looked = work.decisions.last().is_none_or(|record| record.by != DecidedBy::Fallback);
    let mut findings = Vec::new();
    for judgement in judged.judgements.iter().filter(|_| has_looked) {
        let about = body.criteria.get(judgement.criterion).map_or("", String::as_str);
        let arguments = finding(task.id, body, about, judgement);
        let written: FindingView = tools::call(work.tools.as_ref(), WRITE, arguments).await?;
        findings.push(written.id);
    }
    Ok(AnalystAnswer { status: judged.status(), findings, decisions: work.decisions })
}

fn finding(task: TaskId, body: &VerifyHandoff, about: &str, judgement: &Judgement) -> Value {
    let severity = match judgement.status {
        FindingStatus::Pass => Severity::Info,
        FindingStatus::NeedsClarification => Severity::Warning,
        FindingStatus::Fail => Severity::Error,
    };
    let message = format!("{about}: {}", judgement.reason);
    let mut arguments = json!({
        "task_id": task,
        "status": judgement.status,
        "severity": severity,
        "message": message.chars().take(MAX_CHARS).collect::<String>(),
        "location": at_criterion(judgement.criterion),
        "step_index": body.step_index,
        "job_id": body.job_id,
    });
    if !judgement.suggestion.trim().is_empty() {
        let suggestion: String = judgement.suggestion.chars().take(MAX_CHARS).collect();
        arguments["suggestion"] = suggestion.into();
    }
    arguments
}
