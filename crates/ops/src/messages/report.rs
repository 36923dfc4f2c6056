//! Reports, statuses, plain messages, cries for help, and an agent's last words.

use cynode_domain::agent::{HelpKind, MessageKind, Progress, Role, is_project_manager};
use cynode_domain::ids::TaskId;
use cynode_domain::report::Report;
use cynode_domain::status::AgentStatus;
use cynode_wire::apmas::{
    CompleteAgent, CompletedView, ReportStatus, ReportToPm, RequestHelp, SaidView, SendMessage,
};
use serde_json::json;

use super::say::{Change, Draft, say};
use super::{
    MAX_LINE_BYTES, MAX_TEXT_BYTES, MessageError, Messages, Speaker, at_most, check_json,
    check_lines, check_text, invalid,
};
use crate::agents::AgentIdentity;
use crate::secrets::WithoutSecrets as _;
use crate::signals::Topic;
use crate::work;

impl Messages {
    /// A typed report.
    pub async fn report(
        &self,
        who: &AgentIdentity,
        request: ReportToPm,
    ) -> Result<SaidView, MessageError> {
        check_text("component", &request.component)?;
        at_most("component", &request.component, MAX_LINE_BYTES)?;
        check_json("payload", &request.payload)?;
        let tagged = json!({ "messageType": request.message_type, "payload": request.payload });
        let report: Report = serde_json::from_value(tagged)
            .map_err(|fault| invalid(format!("payload of {}: {fault}", request.message_type)))?;
        let faults = report.faults();
        if !faults.is_empty() {
            return Err(MessageError::Invalid(faults));
        }
        let work_unit = match &report {
            Report::WorkCompleted(done) => done.work_unit_id.clone(),
            Report::ReviewApproved(_)
            | Report::ReviewChangesRequested(_)
            | Report::TestsPassed(_)
            | Report::TestsFailed(_)
            | Report::WorkBlocked(_)
            | Report::NeedsClarification(_)
            | Report::RequestHumanInput(_) => None,
        };
        let draft = Draft {
            kind: MessageKind::Report,
            subtype: report.kind().as_str(),
            component: Some(request.component),
            work_unit,
            content: report.headline().to_owned(),
            payload: request.payload,
            key: request.idempotency_key,
        };
        let speaker = self.speaker(who, request.task_id, request.agent_role);
        Ok(self.say(speaker, draft, Change::default()).await?.into())
    }

    /// How it is going. Naming a work unit begins or blocks it.
    pub async fn status(
        &self,
        who: &AgentIdentity,
        request: ReportStatus,
    ) -> Result<SaidView, MessageError> {
        check_text("message", &request.message)?;
        let reason = request.blocked_reason.unwrap_or_default().without_secrets();
        at_most("blockedReason", &reason, MAX_TEXT_BYTES)?;
        if request.status == Progress::Blocked && reason.trim().is_empty() {
            return Err(invalid("blockedReason is missing: say why it cannot go on"));
        }
        let artifacts = check_lines("artifacts", request.artifacts)?;
        let change = Change {
            to: Some(match request.status {
                Progress::Working | Progress::NeedsReview => AgentStatus::Running,
                Progress::Done => AgentStatus::Completed,
                Progress::Blocked => AgentStatus::Escalated,
                Progress::ContextLimit => AgentStatus::Paused,
            }),
            artifacts: artifacts.clone(),
            progress: Some(request.message.clone()),
        };
        let draft = Draft {
            kind: MessageKind::Status,
            subtype: request.status.as_str(),
            component: None,
            work_unit: request.work_unit_id.clone(),
            content: request.message,
            payload: json!({ "artifacts": artifacts, "blocked_reason": reason }),
            key: request.idempotency_key,
        };
        let speaker = self.speaker(who, request.task_id, request.agent_role);
        let (unit, status) = (request.work_unit_id, request.status);
        let said = self
            .store
            .write(move |tx| {
                Box::pin(async move {
                    let said = say(tx, &speaker, draft, change).await?;
                    if let Some(unit) = unit.filter(|_| !said.is_repeated) {
                        work::follow(tx, &said.agent, &unit, (status, &reason), speaker.now)
                            .await
                            .map_err(|fault| MessageError::Work(Box::new(fault)))?;
                    }
                    Ok::<_, MessageError>(said)
                })
            })
            .await?;
        self.signals.send(Topic::Events);
        Ok(said.into())
    }

    /// A plain message to the project manager, and to nobody else.
    pub async fn send(
        &self,
        who: &AgentIdentity,
        request: SendMessage,
    ) -> Result<SaidView, MessageError> {
        if !is_project_manager(&request.to) {
            return Err(MessageError::NotTheManager(request.to.chars().take(64).collect()));
        }
        check_text("content", &request.content)?;
        let draft = Draft {
            kind: MessageKind::Note,
            subtype: request.kind.as_str(),
            component: None,
            work_unit: None,
            content: request.content,
            payload: json!({}),
            key: request.idempotency_key,
        };
        let speaker = self.speaker(who, request.task_id, request.agent_role);
        Ok(self.say(speaker, draft, Change::default()).await?.into())
    }

    /// A question that the project manager answers or passes on. Whoever needs a person waits.
    pub async fn help(
        &self,
        who: &AgentIdentity,
        request: RequestHelp,
    ) -> Result<SaidView, MessageError> {
        check_text("issue", &request.issue)?;
        at_most("context", request.context.as_deref().unwrap_or_default(), MAX_TEXT_BYTES)?;
        let to = match (request.help_type, &request.target_agent) {
            (HelpKind::Agent, None) => {
                return Err(invalid("targetAgent is missing: name the agent whose help is wanted"));
            }
            (HelpKind::Human, _) => Some(AgentStatus::Escalated),
            (HelpKind::Agent | HelpKind::Clarification | HelpKind::PmDecision, _) => None,
        };
        let payload = json!({ "target_agent": request.target_agent, "context": request.context });
        let draft = Draft {
            kind: MessageKind::Help,
            subtype: request.help_type.as_str(),
            component: None,
            work_unit: None,
            content: request.issue,
            payload,
            key: request.idempotency_key,
        };
        let speaker = self.speaker(who, request.task_id, request.agent_role);
        Ok(self.say(speaker, draft, Change { to, ..Change::default() }).await?.into())
    }

    /// An agent's last words: it is done, and its role is free.
    pub async fn complete(
        &self,
        who: &AgentIdentity,
        request: CompleteAgent,
    ) -> Result<CompletedView, MessageError> {
        check_text("summary", &request.summary)?;
        at_most("notes", request.notes.as_deref().unwrap_or_default(), MAX_TEXT_BYTES)?;
        let artifacts = check_lines("artifacts", request.artifacts)?;
        let draft = Draft {
            kind: MessageKind::Completion,
            subtype: Progress::Done.as_str(),
            component: None,
            work_unit: None,
            content: request.summary.clone(),
            payload: json!({ "artifacts": artifacts, "notes": request.notes }),
            key: None,
        };
        let (to, progress) = (Some(AgentStatus::Completed), Some(request.summary));
        let speaker = self.speaker(who, request.task_id, request.agent_role);
        let said = self.say(speaker, draft, Change { to, artifacts, progress }).await?;
        let ended_at = said.agent.ended_at.unwrap_or(said.agent.started_at);
        Ok(CompletedView {
            message_id: said.message,
            repeated: said.is_repeated,
            agent_status: said.agent.status.as_str().to_owned(),
            elapsed_seconds: (ended_at - said.agent.started_at).num_seconds(),
        })
    }

    pub(super) fn speaker(&self, who: &AgentIdentity, task: TaskId, role: Role) -> Speaker {
        Speaker { who: who.clone(), task, role, now: self.clock.now() }
    }
}
