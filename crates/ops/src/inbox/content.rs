//! A message as the project manager gets it: one of the eight types of report.

use cynode_domain::agent::MessageKind;
use cynode_domain::report::{Blocker, Question, Report, ReportKind, WorkDone};
use cynode_store::{Message, NewMessage};
use cynode_wire::handoff::AgentReportHandoff;
use serde_json::{Value, json};

/// The report in a message; none if this version cannot read it. Work that was handed in is reported as done, and
/// whoever asks for help, or sends a note that wants something, needs clarification.
pub(super) fn report_of(message: &Message) -> Option<AgentReportHandoff> {
    let sent = &message.sent;
    let report = match sent.kind {
        MessageKind::Report => {
            let kind: ReportKind = sent.subtype.parse().ok()?;
            let tagged = json!({ "messageType": kind, "payload": sent.payload });
            serde_json::from_value(tagged).ok()?
        }
        MessageKind::Submission => Report::WorkCompleted(work_done(sent, vec![])),
        MessageKind::Status if sent.subtype == "blocked" => Report::WorkBlocked(Blocker {
            reason: text(&sent.payload, "blocked_reason").unwrap_or_else(|| sent.content.clone()),
            blocked_on: None,
            attempted: vec![],
        }),
        MessageKind::Status => {
            let files = serde_json::from_value(sent.payload["artifacts"].clone());
            Report::WorkCompleted(work_done(sent, files.unwrap_or_default()))
        }
        MessageKind::Help | MessageKind::Note => Report::NeedsClarification(Question {
            question: sent.content.clone(),
            options: vec![],
            context: text(&sent.payload, "context"),
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

fn work_done(sent: &NewMessage, files_modified: Vec<String>) -> WorkDone {
    WorkDone {
        files_modified,
        summary: sent.content.clone(),
        artifact_path: text(&sent.payload, "artifact_path"),
        work_unit_id: sent.work_unit.clone(),
    }
}

fn text(payload: &Value, name: &str) -> Option<String> {
    payload[name].as_str().filter(|text| !text.trim().is_empty()).map(str::to_owned)
}
