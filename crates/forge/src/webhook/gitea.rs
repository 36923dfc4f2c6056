//! Events of Gitea and Forgejo. The header of the event type distinguishes more than the payload.

use serde_json::Value;

use super::event::{ForgeEvent, IssueChange};
use super::github::{commit, parse_pull_request};
use crate::gitea::parse_ci_state;
use crate::pull_request::ReviewState;

/// Parses an event; `None` if a field that it must have is missing.
pub(super) fn parse(name: &str, payload: &Value) -> Option<ForgeEvent> {
    let action = payload["action"].as_str().unwrap_or_default();
    let reviewed = |state| {
        let number = payload["pull_request"]["number"].as_u64()?;
        Some(ForgeEvent::Reviewed { number, state })
    };
    Some(match name {
        "issues" | "issue_assign" | "issue_label" | "issue_milestone" => ForgeEvent::IssueChanged {
            number: payload["issue"]["number"].as_u64()?,
            change: IssueChange::parse(action),
        },
        "issue_comment" | "pull_request_comment" if is_comment(payload) => match action {
            "created" | "edited" => ForgeEvent::Commented {
                number: payload["issue"]["number"].as_u64()?,
                is_pull_request: payload["is_pull"].as_bool().unwrap_or_default(),
                comment_id: payload["comment"]["id"].as_u64()?,
            },
            _ => ForgeEvent::Ignored { name: name.to_owned() },
        },
        "pull_request_review_approved" | "pull_request_approved" => {
            reviewed(ReviewState::Approved)?
        }
        "pull_request_review_rejected" | "pull_request_rejected" => {
            reviewed(ReviewState::ChangesRequested)?
        }
        // One event for a review with comments, which are not part of it.
        "pull_request_review_comment" | "pull_request_comment" => ForgeEvent::ReviewCommented {
            number: payload["pull_request"]["number"].as_u64()?,
            comment_id: None,
        },
        "pull_request"
        | "pull_request_sync"
        | "pull_request_assign"
        | "pull_request_label"
        | "pull_request_milestone"
        | "pull_request_review_request" => parse_pull_request(action, &payload["pull_request"])?,
        "status" => ForgeEvent::CiUpdated {
            commit: commit(&payload["sha"])?,
            state: parse_ci_state(payload["state"].as_str()?),
        },
        _ => ForgeEvent::Ignored { name: name.to_owned() },
    })
}

/// `pull_request_comment` is the type of a conversation's comment, and the event of a review.
fn is_comment(payload: &Value) -> bool {
    payload["comment"].is_object()
}
