//! Payloads of GitHub.

use serde_json::{Value, json};

use super::{EventPayload, EventSubject, ScriptedForgeEvent as E};
use crate::github::render;
use crate::world::{ForgeWorld, ScriptedStatusState};

pub(super) fn payload(world: &ForgeWorld, event: &E, subject: &EventSubject<'_>) -> EventPayload {
    let row = subject.repository;
    let issue = || render::issue(world, row, subject.number).unwrap_or_default();
    let pull = || subject.pull.map(|pull| render::pull(world, row, pull, true)).unwrap_or_default();
    let (name, mut payload): (&str, Value) = match event {
        E::IssueOpened { .. } => ("issues", json!({ "action": "opened", "issue": issue() })),
        E::Commented { .. } => {
            let comment = subject.comment.map(|it| render::comment(world, row, subject.number, it));
            ("issue_comment", json!({ "action": "created", "issue": issue(), "comment": comment }))
        }
        E::PullOpened { .. } => {
            ("pull_request", json!({ "action": "opened", "pull_request": pull() }))
        }
        E::PullPushed { .. } => {
            ("pull_request", json!({ "action": "synchronize", "pull_request": pull() }))
        }
        E::PullClosed { .. } => {
            ("pull_request", json!({ "action": "closed", "pull_request": pull() }))
        }
        E::Reviewed { .. } => {
            let review = subject.review.zip(subject.pull);
            let mut review = review
                .map(|(review, pull)| render::review(world, row, pull, review))
                .unwrap_or_default();
            // Webhooks write states in lower case, the API in upper case.
            let state = review["state"].as_str().unwrap_or_default().to_ascii_lowercase();
            review["state"] = state.into();
            let payload =
                json!({ "action": "submitted", "review": review, "pull_request": pull() });
            ("pull_request_review", payload)
        }
        E::ReviewCommented { .. } => {
            let comment = subject.review_comment.zip(subject.pull);
            let comment = comment.map(|(it, pull)| render::review_comment(world, row, pull, it));
            let payload =
                json!({ "action": "created", "comment": comment, "pull_request": pull() });
            ("pull_request_review_comment", payload)
        }
        E::CiUpdated { commit, state, .. } => {
            let conclusion = match state {
                ScriptedStatusState::Pending => None,
                ScriptedStatusState::Success => Some("success"),
                ScriptedStatusState::Failure => Some("failure"),
            };
            let run = json!({ "id": 1, "head_sha": commit, "status": "completed", "conclusion": conclusion });
            ("check_run", json!({ "action": "completed", "check_run": run }))
        }
        E::Pushed { .. } => ("push", json!({ "ref": "refs/heads/main", "commits": [] })),
    };
    payload["repository"] = json!({ "id": row.id, "full_name": row.path });
    payload["sender"] = render::user(world, &subject.sender);
    EventPayload { name, event_type: name, payload }
}
