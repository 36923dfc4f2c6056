//! Converts a message into one of the eight report types of the project manager.

use cynode_domain::agent::MessageKind;
use cynode_domain::report::{AgentQuestion, AgentReport, CompletedWork, ReportKind, WorkBlocker};
use cynode_store::{AgentMessage, NewAgentMessage};
use cynode_wire::handoff::AgentReportHandoff;
use serde_json::{Value, json};

/// Returns the report in a message; `None` if this version cannot parse it. A submission counts as
/// completed work; a help request or note counts as a need for clarification.
pub(super) fn to_report(message: &AgentMessage) -> Option<AgentReportHandoff> {
    let sent = &message.sent;
    let report = match sent.kind {
        MessageKind::Report => {
            let kind: ReportKind = sent.subtype.parse().ok()?;
            let tagged = json!({ "messageType": kind, "payload": sent.payload });
            serde_json::from_value(tagged).ok()?
        }
        MessageKind::Submission => AgentReport::WorkCompleted(to_work_done(sent, vec![])),
        MessageKind::Status if sent.subtype == "blocked" => AgentReport::WorkBlocked(WorkBlocker {
            reason: non_empty_text(&sent.payload, "blocked_reason")
                .unwrap_or_else(|| sent.content.clone()),
            blocked_on: None,
            attempted: vec![],
        }),
        MessageKind::Status => {
            let files = serde_json::from_value(sent.payload["artifacts"].clone());
            AgentReport::WorkCompleted(to_work_done(sent, files.unwrap_or_default()))
        }
        MessageKind::Help | MessageKind::Note => AgentReport::NeedsClarification(AgentQuestion {
            question: sent.content.clone(),
            options: vec![],
            context: non_empty_text(&sent.payload, "context"),
        }),
        MessageKind::Completion | MessageKind::Instruction => return None,
    };
    Some(AgentReportHandoff {
        report_id: sent.id,
        from: sent.sender.clone(),
        component: sent.component.clone(),
        report,
        work_unit: sent.work_unit.clone(),
    })
}

fn to_work_done(sent: &NewAgentMessage, files_modified: Vec<String>) -> CompletedWork {
    CompletedWork {
        files_modified,
        summary: sent.content.clone(),
        artifact_path: non_empty_text(&sent.payload, "artifact_path"),
        work_unit_id: sent.work_unit.clone(),
    }
}

fn non_empty_text(payload: &Value, name: &str) -> Option<String> {
    payload[name].as_str().filter(|text| !text.trim().is_empty()).map(str::to_owned)
}
