//! Events of GitHub.

use serde_json::Value;

use super::event::{ForgeEvent, IssueChange, PullRequestChange};
use crate::ci::CiState;
use crate::pull_request::{PullRequestState, ReviewState};
use crate::text::{MAX_NAME_BYTES, clean_line};

/// Parses an event; `None` if a field that it must have is missing.
pub(super) fn parse(name: &str, payload: &Value) -> Option<ForgeEvent> {
    let action = payload["action"].as_str().unwrap_or_default();
    let ignored = || ForgeEvent::Ignored { name: format!("{name}.{}", clean_line(action, 40)) };
    let pull_number = || payload["pull_request"]["number"].as_u64();
    Some(match (name, action) {
        ("ping", _) => ForgeEvent::Ping,
        ("issues", _) => ForgeEvent::IssueChanged {
            number: payload["issue"]["number"].as_u64()?,
            change: IssueChange::parse(action),
        },
        ("issue_comment", "created" | "edited") => ForgeEvent::Commented {
            number: payload["issue"]["number"].as_u64()?,
            is_pull_request: !payload["issue"]["pull_request"].is_null(),
            comment_id: payload["comment"]["id"].as_u64()?,
        },
        ("pull_request", _) => parse_pull_request(action, &payload["pull_request"])?,
        ("pull_request_review", "submitted" | "dismissed" | "edited") => {
            let state = match payload["review"]["state"].as_str()?.to_ascii_lowercase().as_str() {
                _ if action == "dismissed" => ReviewState::Dismissed,
                "approved" => ReviewState::Approved,
                "changes_requested" => ReviewState::ChangesRequested,
                "dismissed" => ReviewState::Dismissed,
                _ => ReviewState::Commented,
            };
            ForgeEvent::Reviewed { number: pull_number()?, state }
        }
        ("pull_request_review_comment", "created" | "edited") => ForgeEvent::ReviewCommented {
            number: pull_number()?,
            comment_id: Some(payload["comment"]["id"].as_u64()?),
        },
        ("status", _) => ForgeEvent::CiUpdated {
            commit: commit(&payload["sha"])?,
            state: match payload["state"].as_str()? {
                "success" => CiState::Passed,
                "pending" => CiState::Pending,
                _ => CiState::Failed,
            },
        },
        ("check_run" | "check_suite" | "workflow_run", "completed") => {
            let run = &payload[name];
            let state = match run["conclusion"].as_str()? {
                "success" | "neutral" | "skipped" => CiState::Passed,
                _ => CiState::Failed,
            };
            ForgeEvent::CiUpdated { commit: commit(&run["head_sha"])?, state }
        }
        _ => ignored(),
    })
}

/// Gitea has the same form.
pub(super) fn parse_pull_request(action: &str, pull: &Value) -> Option<ForgeEvent> {
    let state = match (pull["merged"].as_bool(), pull["state"].as_str()?) {
        (Some(true), _) => PullRequestState::Merged,
        (_, "open") => PullRequestState::Open,
        _ => PullRequestState::Closed,
    };
    Some(ForgeEvent::PullRequestChanged {
        number: pull["number"].as_u64()?,
        change: PullRequestChange::parse(action, state),
        state,
        head_commit: commit(&pull["head"]["sha"]),
    })
}

pub(super) fn commit(value: &Value) -> Option<String> {
    let id = value.as_str().filter(|id| id.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
    (id.len() >= 40).then(|| clean_line(id, MAX_NAME_BYTES))
}
