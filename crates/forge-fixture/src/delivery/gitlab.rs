//! Payloads of GitLab.

use serde_json::{Value, json};

use super::{EventPayload, EventSubject, ScriptedForgeEvent as E};
use crate::gitlab::render;
use crate::world::{ForgeWorld, ScriptedReviewState, ScriptedStatusState};

pub(super) fn payload(world: &ForgeWorld, event: &E, subject: &EventSubject<'_>) -> EventPayload {
    let merge_request = |action: &str| {
        let pull = subject.pull;
        json!({
            "object_kind": "merge_request",
            "object_attributes": {
                "id": pull.map(|pull| pull.id), "iid": subject.number, "action": action,
                "state": pull.map(render::state), "draft": pull.map(|pull| pull.is_draft),
                "last_commit": { "id": pull.map(|pull| &pull.head_commit) },
            },
            "changes": {},
        })
    };
    let (name, mut payload): (&str, Value) = match event {
        E::IssueOpened { .. } => {
            let attributes =
                json!({ "id": 1, "iid": subject.number, "action": "open", "state": "opened" });
            ("Issue Hook", json!({ "object_kind": "issue", "object_attributes": attributes }))
        }
        E::Commented { comment, .. } => ("Note Hook", note(subject, *comment, None)),
        E::ReviewCommented { comment, .. } => {
            ("Note Hook", note(subject, *comment, Some("DiffNote")))
        }
        E::PullOpened { .. } => ("Merge Request Hook", merge_request("open")),
        E::PullPushed { .. } => {
            let mut payload = merge_request("update");
            payload["object_attributes"]["oldrev"] = "0".repeat(40).into();
            ("Merge Request Hook", payload)
        }
        E::PullClosed { .. } => {
            let action = if subject.is_merged() { "merge" } else { "close" };
            ("Merge Request Hook", merge_request(action))
        }
        E::Reviewed { .. } => {
            let state = subject.review.map(|review| review.state);
            let is_approved = state == Some(ScriptedReviewState::Approved);
            let action = if is_approved { "approved" } else { "unapproved" };
            ("Merge Request Hook", merge_request(action))
        }
        E::CiUpdated { commit, state, .. } => {
            let status = match state {
                ScriptedStatusState::Pending => "running",
                ScriptedStatusState::Success => "success",
                ScriptedStatusState::Failure => "failed",
            };
            let attributes = json!({ "id": 31, "sha": commit, "status": status, "ref": "main" });
            ("Pipeline Hook", json!({ "object_kind": "pipeline", "object_attributes": attributes }))
        }
        E::Pushed { .. } => (
            "Push Hook",
            json!({ "object_kind": "push", "user_username": subject.sender, "commits": [] }),
        ),
    };
    let row = subject.repository;
    payload["project"] = json!({ "id": row.id, "path_with_namespace": row.path });
    if payload["user_username"].is_null() {
        payload["user"] = render::user(world, &subject.sender);
    }
    EventPayload { name, event_type: name, payload }
}

fn note(subject: &EventSubject<'_>, id: u64, kind: Option<&str>) -> Value {
    let item = json!({ "id": 1, "iid": subject.number });
    let (noteable, key) = match subject.pull {
        Some(_) => ("MergeRequest", "merge_request"),
        None => ("Issue", "issue"),
    };
    let mut payload = json!({
        "object_kind": "note",
        "object_attributes": {
            "id": id, "noteable_type": noteable, "action": "create", "system": false, "type": kind,
        },
    });
    payload[key] = item;
    payload
}
