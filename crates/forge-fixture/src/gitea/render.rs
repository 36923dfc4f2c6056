//! The JSON of Gitea.

use serde_json::{Value, json};

use crate::world::{
    ForgeWorld, RepositoryRow, ReviewCommentRow, ReviewRow, ScriptedComment, ScriptedPermission,
    ScriptedPullRequest, ScriptedPullState, ScriptedReviewState, ScriptedStatusState, StatusRow,
};

/// A deleted account is shown as a user with a negative id.
pub(crate) fn user(world: &ForgeWorld, login: &str) -> Value {
    match world.users.get(login) {
        Some(user) => json!({ "id": user.id, "login": user.login, "username": user.login }),
        None => json!({ "id": -1, "login": "Ghost", "username": "Ghost" }),
    }
}

pub(crate) fn permission(row: &RepositoryRow, login: &str) -> &'static str {
    let is_owner = row.path.split('/').next() == Some(login);
    match row.permission(login) {
        _ if is_owner => "owner",
        ScriptedPermission::None => "none",
        ScriptedPermission::Read => "read",
        ScriptedPermission::Write => "write",
        ScriptedPermission::Admin => "admin",
    }
}

pub(crate) fn is_draft(title: &str) -> bool {
    let title = title.to_ascii_uppercase();
    title.starts_with("WIP:") || title.starts_with("[WIP]")
}

/// An issue, or a pull request as an issue.
pub(crate) fn issue(world: &ForgeWorld, row: &RepositoryRow, index: u64) -> Option<Value> {
    let page = format!("{}/{}", world.base_url, row.path);
    if let Some(pull) = row.pulls.get(&index) {
        return Some(json!({
            "number": index, "html_url": format!("{page}/pulls/{index}"),
            "title": pull.title, "body": pull.body, "user": user(world, &pull.author),
            "state": if pull.state == ScriptedPullState::Open { "open" } else { "closed" },
            "labels": [], "pull_request": { "merged": pull.state == ScriptedPullState::Merged },
        }));
    }
    let issue = row.issues.get(&index)?;
    let labels: Vec<Value> =
        issue.labels.iter().map(|name| json!({ "id": 1, "name": name })).collect();
    Some(json!({
        "number": index, "html_url": format!("{page}/issues/{index}"),
        "title": issue.title, "body": issue.body, "user": user(world, &issue.author),
        "state": if issue.is_open { "open" } else { "closed" },
        "labels": labels, "pull_request": null,
    }))
}

pub(crate) fn comment(
    world: &ForgeWorld,
    row: &RepositoryRow,
    index: u64,
    comment: &ScriptedComment,
) -> Value {
    // Times have the offset of the server's zone.
    let time = ForgeWorld::time(comment.id).replace('Z', "+02:00");
    json!({
        "id": comment.id, "user": user(world, &comment.author), "body": comment.body,
        "html_url": format!("{}/{}/issues/{index}#issuecomment-{}", world.base_url, row.path, comment.id),
        "created_at": time, "updated_at": time,
    })
}

pub(crate) fn pull(world: &ForgeWorld, row: &RepositoryRow, pull: &ScriptedPullRequest) -> Value {
    let is_merged = pull.state == ScriptedPullState::Merged;
    let branch = |name: &str, sha: Option<&String>, id: u64| json!({ "label": name, "ref": name, "sha": sha, "repo_id": id });
    let head_repository = if pull.fork.is_some() { 1 } else { row.id };
    json!({
        "id": pull.id, "number": pull.number, "user": user(world, &pull.author),
        "html_url": format!("{}/{}/pulls/{}", world.base_url, row.path, pull.number),
        "title": pull.title, "body": pull.body, "draft": pull.is_draft,
        "state": if pull.state == ScriptedPullState::Open { "open" } else { "closed" },
        "merged": is_merged, "merged_at": is_merged.then(|| ForgeWorld::time(pull.id)),
        "mergeable": pull.mergeable == Some(true) && !pull.is_draft && !is_merged,
        "head": branch(&pull.head, Some(&pull.head_commit), head_repository),
        "base": branch(&pull.base, row.branches.get(&pull.base), row.id),
    })
}

pub(crate) fn review(
    world: &ForgeWorld,
    row: &RepositoryRow,
    pull: &ScriptedPullRequest,
    review: &ReviewRow,
) -> Value {
    let (state, is_dismissed) = match review.state {
        ScriptedReviewState::Approved => ("APPROVED", false),
        ScriptedReviewState::ChangesRequested => ("REQUEST_CHANGES", false),
        ScriptedReviewState::Commented => ("COMMENT", false),
        ScriptedReviewState::Dismissed => ("REQUEST_CHANGES", true),
        ScriptedReviewState::Pending => ("PENDING", false),
    };
    json!({
        "id": review.id, "user": user(world, &review.author), "team": null, "state": state,
        "body": review.body, "commit_id": pull.head_commit, "stale": false,
        "official": row.permission(&review.author) >= ScriptedPermission::Write,
        "dismissed": is_dismissed, "comments_count": review.comments.len(),
        "submitted_at": ForgeWorld::time(review.id),
    })
}

pub(crate) fn review_comment(
    world: &ForgeWorld,
    row: &RepositoryRow,
    pull: &ScriptedPullRequest,
    comment: &ReviewCommentRow,
) -> Value {
    json!({
        "id": comment.id, "user": user(world, &comment.author), "resolver": null,
        "body": comment.body, "path": comment.path, "position": comment.line, "original_position": 0,
        "html_url": format!("{}/{}/pulls/{}#issuecomment-{}", world.base_url, row.path, pull.number, comment.id),
        "created_at": ForgeWorld::time(comment.id), "updated_at": ForgeWorld::time(comment.id),
    })
}

/// Every status of the commit, in the order in which they were reported: times have seconds only.
pub(crate) fn statuses(row: &RepositoryRow, commit: &str) -> Vec<Value> {
    let render = |status: &StatusRow| {
        let state = match status.state {
            ScriptedStatusState::Pending => "pending",
            ScriptedStatusState::Success => "success",
            ScriptedStatusState::Failure => "failure",
        };
        json!({
            "id": status.id, "context": status.name, "status": state, "description": "",
            "target_url": "https://ci.example/1", "created_at": "2026-01-01T00:00:00Z",
        })
    };
    row.statuses.iter().filter(|status| status.commit == commit).map(render).collect()
}
