//! Reports, statuses, notes, help requests, and completion of agents.

use cynode_domain::agent::{HelpKind, MessageKind, Progress, Role, is_project_manager};
use cynode_domain::ids::TaskId;
use cynode_domain::report::AgentReport;
use cynode_domain::status::AgentStatus;
use cynode_wire::apmas::{
    CompleteAgent, CompletedView, MessageReceiptView, ReportStatus, ReportToPm, RequestHelp,
    SendMessage,
};
use serde_json::json;

use super::append::{AgentChange, MessageDraft, append_message};
use super::{
    AgentMessages, MAX_LINE_BYTES, MAX_TEXT_BYTES, MessageError, RoleClaim, check_json,
    check_lines, check_max_bytes, check_text, invalid_message,
};
use crate::work;
use cynode_resources::agents::AgentIdentity;
use cynode_resources::secrets::RedactSecrets as _;
use cynode_resources::signals::Topic;

impl AgentMessages {
    /// Sends a typed report.
    pub async fn send_report(
        &self,
        identity: &AgentIdentity,
        request: ReportToPm,
    ) -> Result<MessageReceiptView, MessageError> {
        check_text("component", &request.component)?;
        check_max_bytes("component", &request.component, MAX_LINE_BYTES)?;
        check_json("payload", &request.payload)?;
        let tagged = json!({ "messageType": request.message_type, "payload": request.payload });
        let report: AgentReport = serde_json::from_value(tagged).map_err(|fault| {
            invalid_message(format!("payload of {}: {fault}", request.message_type))
        })?;
        let faults = report.validation_errors();
        if !faults.is_empty() {
            return Err(MessageError::Invalid(faults));
        }
        let work_unit = match &report {
            AgentReport::WorkCompleted(done) => done.work_unit_id.clone(),
            AgentReport::ReviewApproved(_)
            | AgentReport::ReviewChangesRequested(_)
            | AgentReport::TestsPassed(_)
            | AgentReport::TestsFailed(_)
            | AgentReport::WorkBlocked(_)
            | AgentReport::NeedsClarification(_)
            | AgentReport::RequestHumanInput(_) => None,
        };
        let speaker = self.role_claim(identity, request.task_id, request.agent_role);
        let (named, component) = (work_unit.clone(), request.component.clone());
        let draft = MessageDraft {
            kind: MessageKind::Report,
            subtype: report.kind().as_str(),
            component: Some(request.component),
            work_unit: speaker.claim_unit(work_unit)?,
            content: report.headline().to_owned(),
            payload: request.payload,
            key: request.idempotency_key,
        };
        let kind = report.kind();
        let message = self
            .store
            .write(move |tx| {
                Box::pin(async move {
                    let message =
                        append_message(tx, &speaker, draft, AgentChange::default()).await?;
                    // An error undoes the message.
                    work::check_reported_units(tx, &message.agent, kind, &component, named)
                        .await
                        .map_err(|fault| MessageError::Work(Box::new(fault)))?;
                    Ok::<_, MessageError>(message)
                })
            })
            .await?;
        self.signals.send(Topic::Messages);
        Ok(message.into())
    }

    /// Reports the agent's status. A named work unit is started or blocked accordingly.
    pub async fn status(
        &self,
        identity: &AgentIdentity,
        request: ReportStatus,
    ) -> Result<MessageReceiptView, MessageError> {
        check_text("message", &request.message)?;
        let reason = request.blocked_reason.unwrap_or_default().redact_secrets();
        check_max_bytes("blockedReason", &reason, MAX_TEXT_BYTES)?;
        if request.status == Progress::Blocked && reason.trim().is_empty() {
            return Err(invalid_message("blockedReason is missing: describe what blocks the work"));
        }
        let artifacts = check_lines("artifacts", request.artifacts)?;
        let change = AgentChange {
            to: Some(match request.status {
                Progress::Working | Progress::NeedsReview => AgentStatus::Running,
                Progress::Done => AgentStatus::Completed,
                Progress::Blocked => AgentStatus::Escalated,
                Progress::ContextLimit => AgentStatus::Paused,
            }),
            artifacts: artifacts.clone(),
            progress: Some(request.message.clone()),
        };
        let speaker = self.role_claim(identity, request.task_id, request.agent_role);
        let work_unit = speaker.claim_unit(request.work_unit_id.clone())?;
        let draft = MessageDraft {
            kind: MessageKind::Status,
            subtype: request.status.as_str(),
            component: None,
            work_unit,
            content: request.message,
            payload: json!({ "artifacts": artifacts, "blocked_reason": reason }),
            key: request.idempotency_key,
        };
        let (unit, status) = (request.work_unit_id, request.status);
        let message = self
            .store
            .write(move |tx| {
                Box::pin(async move {
                    let message = append_message(tx, &speaker, draft, change).await?;
                    if let Some(unit) = unit.filter(|_| !message.is_repeated) {
                        work::apply_agent_status(
                            tx,
                            &message.agent,
                            &unit,
                            status,
                            &reason,
                            speaker.now,
                        )
                        .await
                        .map_err(|fault| MessageError::Work(Box::new(fault)))?;
                    }
                    Ok::<_, MessageError>(message)
                })
            })
            .await?;
        self.signals.send(Topic::Messages);
        Ok(message.into())
    }

    /// Sends a note to the project manager, the only recipient.
    pub async fn send(
        &self,
        identity: &AgentIdentity,
        request: SendMessage,
    ) -> Result<MessageReceiptView, MessageError> {
        if !is_project_manager(&request.to) {
            return Err(MessageError::RecipientNotAllowed(request.to.chars().take(64).collect()));
        }
        check_text("content", &request.content)?;
        let draft = MessageDraft {
            kind: MessageKind::Note,
            subtype: request.kind.as_str(),
            component: None,
            work_unit: None,
            content: request.content,
            payload: json!({}),
            key: request.idempotency_key,
        };
        let speaker = self.role_claim(identity, request.task_id, request.agent_role);
        Ok(self.append(speaker, draft, AgentChange::default()).await?.into())
    }

    /// Asks for help; the project manager answers or forwards it. An agent that needs a person is
    /// suspended.
    pub async fn request_help(
        &self,
        identity: &AgentIdentity,
        request: RequestHelp,
    ) -> Result<MessageReceiptView, MessageError> {
        check_text("issue", &request.issue)?;
        check_max_bytes("context", request.context.as_deref().unwrap_or_default(), MAX_TEXT_BYTES)?;
        let to = match (request.help_type, &request.target_agent) {
            (HelpKind::Agent, None) => {
                return Err(invalid_message("targetAgent is missing: name the agent to ask"));
            }
            (HelpKind::Human, _) => Some(AgentStatus::Escalated),
            (HelpKind::Agent | HelpKind::Clarification | HelpKind::PmDecision, _) => None,
        };
        let payload = json!({ "target_agent": request.target_agent, "context": request.context });
        let draft = MessageDraft {
            kind: MessageKind::Help,
            subtype: request.help_type.as_str(),
            component: None,
            work_unit: None,
            content: request.issue,
            payload,
            key: request.idempotency_key,
        };
        let speaker = self.role_claim(identity, request.task_id, request.agent_role);
        Ok(self.append(speaker, draft, AgentChange { to, ..AgentChange::default() }).await?.into())
    }

    /// Completes the agent and frees its role.
    pub async fn complete(
        &self,
        identity: &AgentIdentity,
        request: CompleteAgent,
    ) -> Result<CompletedView, MessageError> {
        check_text("summary", &request.summary)?;
        check_max_bytes("notes", request.notes.as_deref().unwrap_or_default(), MAX_TEXT_BYTES)?;
        let artifacts = check_lines("artifacts", request.artifacts)?;
        let draft = MessageDraft {
            kind: MessageKind::Completion,
            subtype: Progress::Done.as_str(),
            component: None,
            work_unit: None,
            content: request.summary.clone(),
            payload: json!({ "artifacts": artifacts, "notes": request.notes }),
            key: None,
        };
        let (to, progress) = (Some(AgentStatus::Completed), Some(request.summary));
        let speaker = self.role_claim(identity, request.task_id, request.agent_role);
        let message = self.append(speaker, draft, AgentChange { to, artifacts, progress }).await?;
        let ended_at = message.agent.ended_at.unwrap_or(message.agent.started_at);
        Ok(CompletedView {
            message_id: message.message,
            repeated: message.is_repeated,
            agent_status: message.agent.status.as_str().to_owned(),
            elapsed_seconds: (ended_at - message.agent.started_at).num_seconds(),
            note: message.note.map(str::to_owned),
        })
    }

    pub(super) fn role_claim(
        &self,
        identity: &AgentIdentity,
        task: TaskId,
        role: Role,
    ) -> RoleClaim {
        RoleClaim { identity: identity.clone(), task, role, now: self.clock.now() }
    }
}
