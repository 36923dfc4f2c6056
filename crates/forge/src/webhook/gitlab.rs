//! Events of GitLab.

use serde_json::Value;

use super::event::{ForgeEvent, IssueChange, PullRequestChange};
use super::github::commit;
use crate::gitlab::parse_ci_state;
use crate::pull_request::{PullRequestState, ReviewState};
use crate::text::clean_line;

/// Parses an event; `None` if a field that it must have is missing.
pub(super) fn parse(payload: &Value) -> Option<ForgeEvent> {
    let kind = payload["object_kind"].as_str()?;
    let attributes = &payload["object_attributes"];
    let action = attributes["action"].as_str().unwrap_or_default();
    Some(match kind {
        "issue" => ForgeEvent::IssueChanged {
            number: attributes["iid"].as_u64()?,
            change: match action {
                "open" => IssueChange::Opened,
                "close" => IssueChange::Closed,
                "reopen" => IssueChange::Reopened,
                "update" if payload["changes"]["labels"].is_object() => IssueChange::Labeled,
                "update" if payload["changes"]["assignees"].is_object() => IssueChange::Assigned,
                "update" => IssueChange::Edited,
                _ => IssueChange::Other,
            },
        },
        "note" => parse_note(payload)?,
        "merge_request" => parse_merge_request(action, payload)?,
        "pipeline" => {
            let commit = commit(&attributes["sha"])?;
            let state = parse_ci_state(attributes["status"].as_str()?, false);
            ForgeEvent::CiUpdated { commit, state }
        }
        _ => ForgeEvent::Ignored { name: clean_line(kind, 40) },
    })
}

fn parse_note(payload: &Value) -> Option<ForgeEvent> {
    let attributes = &payload["object_attributes"];
    let comment_id = attributes["id"].as_u64()?;
    let is_review = attributes["type"].as_str() == Some("DiffNote")
        || attributes["position"].is_object()
        || attributes["line_code"].is_string();
    let event = match attributes["noteable_type"].as_str()? {
        _ if attributes["system"].as_bool() == Some(true) => {
            ForgeEvent::Ignored { name: "system_note".to_owned() }
        }
        "Issue" => ForgeEvent::Commented {
            number: payload["issue"]["iid"].as_u64()?,
            is_pull_request: false,
            comment_id,
        },
        "MergeRequest" => {
            let number = payload["merge_request"]["iid"].as_u64()?;
            if is_review {
                ForgeEvent::ReviewCommented { number, comment_id: Some(comment_id) }
            } else {
                ForgeEvent::Commented { number, is_pull_request: true, comment_id }
            }
        }
        _ => ForgeEvent::Ignored { name: "note".to_owned() },
    };
    Some(event)
}

fn parse_merge_request(action: &str, payload: &Value) -> Option<ForgeEvent> {
    let attributes = &payload["object_attributes"];
    let number = attributes["iid"].as_u64()?;
    let state = match attributes["state"].as_str()? {
        "merged" => PullRequestState::Merged,
        "opened" | "locked" => PullRequestState::Open,
        _ => PullRequestState::Closed,
    };
    let change = match action {
        "approved" | "approval" => {
            return Some(ForgeEvent::Reviewed { number, state: ReviewState::Approved });
        }
        "unapproved" | "unapproval" => {
            return Some(ForgeEvent::Reviewed { number, state: ReviewState::Dismissed });
        }
        "open" => PullRequestChange::Opened,
        "close" => PullRequestChange::Closed,
        "reopen" => PullRequestChange::Reopened,
        "merge" => PullRequestChange::Merged,
        "update" if attributes["oldrev"].is_string() => PullRequestChange::Pushed,
        "update" if payload["changes"]["draft"]["current"].as_bool() == Some(false) => {
            PullRequestChange::Ready
        }
        "update" => PullRequestChange::Edited,
        _ => PullRequestChange::Other,
    };
    let head_commit = commit(&attributes["last_commit"]["id"]);
    Some(ForgeEvent::PullRequestChanged { number, change, state, head_commit })
}
