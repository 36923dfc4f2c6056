//! Payloads of Gitea.

use serde_json::{Value, json};

use super::{EventPayload, EventSubject, ScriptedForgeEvent as E};
use crate::gitea::render;
use crate::world::{ForgeWorld, ScriptedReviewState, ScriptedStatusState};

pub(super) fn payload(world: &ForgeWorld, event: &E, subject: &EventSubject<'_>) -> EventPayload {
    let row = subject.repository;
    let issue = || render::issue(world, row, subject.number).unwrap_or_default();
    let number = subject.number;
    let pull = |action: &str| {
        let pull = subject.pull.map(|pull| render::pull(world, row, pull));
        json!({ "action": action, "number": number, "pull_request": pull })
    };
    let (name, event_type, mut payload): (&str, &str, Value) = match event {
        E::IssueOpened { .. } => {
            let payload = json!({ "action": "opened", "number": number, "issue": issue() });
            ("issues", "issues", payload)
        }
        E::Commented { .. } => {
            let comment = subject.comment.map(|it| render::comment(world, row, number, it));
            let is_pull = subject.pull.is_some();
            let event_type = if is_pull { "pull_request_comment" } else { "issue_comment" };
            let payload = json!({
                "action": "created", "issue": issue(), "comment": comment, "is_pull": is_pull,
            });
            ("issue_comment", event_type, payload)
        }
        E::PullOpened { .. } => ("pull_request", "pull_request", pull("opened")),
        E::PullPushed { .. } => ("pull_request", "pull_request_sync", pull("synchronized")),
        E::PullClosed { .. } => ("pull_request", "pull_request", pull("closed")),
        E::Reviewed { .. } => match subject.review.map(|review| review.state) {
            Some(ScriptedReviewState::Approved) => {
                ("pull_request_approved", "pull_request_review_approved", pull("reviewed"))
            }
            _ => ("pull_request_rejected", "pull_request_review_rejected", pull("reviewed")),
        },
        E::ReviewCommented { .. } => {
            ("pull_request_comment", "pull_request_review_comment", pull("reviewed"))
        }
        E::CiUpdated { commit, state, .. } => {
            let state = match state {
                ScriptedStatusState::Pending => "pending",
                ScriptedStatusState::Success => "success",
                ScriptedStatusState::Failure => "failure",
            };
            ("status", "status", json!({ "sha": commit, "state": state, "context": "ci" }))
        }
        E::Pushed { .. } => ("push", "push", json!({ "ref": "refs/heads/main", "commits": [] })),
    };
    payload["repository"] = json!({ "id": row.id, "full_name": row.path });
    payload["sender"] = render::user(world, &subject.sender);
    EventPayload { name, event_type, payload }
}
