//! The JSON of GitHub.

use serde_json::{Value, json};

use crate::world::{
    ForgeWorld, RepositoryRow, ReviewCommentRow, ReviewRow, ScriptedComment, ScriptedPermission,
    ScriptedPullRequest, ScriptedPullState, ScriptedReviewState, ScriptedStatusState, StatusRow,
};

/// `null` for a deleted account.
pub(crate) fn user(world: &ForgeWorld, login: &str) -> Value {
    match world.users.get(login) {
        Some(user) => {
            json!({ "login": user.login, "id": user.id, "type": "User", "site_admin": false })
        }
        None => Value::Null,
    }
}

pub(crate) fn permission(permission: ScriptedPermission) -> &'static str {
    match permission {
        ScriptedPermission::None => "none",
        ScriptedPermission::Read => "read",
        ScriptedPermission::Write => "write",
        ScriptedPermission::Admin => "admin",
    }
}

fn association(row: &RepositoryRow, login: &str) -> &'static str {
    let is_owner = row.path.split('/').next() == Some(login);
    match row.permission(login) {
        _ if is_owner => "OWNER",
        ScriptedPermission::None => "NONE",
        // A collaborator who may only read has the same association as one who may write.
        ScriptedPermission::Read | ScriptedPermission::Write | ScriptedPermission::Admin => {
            "COLLABORATOR"
        }
    }
}

pub(crate) fn node_id(pull: &ScriptedPullRequest) -> String {
    format!("PR_{}", pull.id)
}

/// An issue, or a pull request as an issue.
pub(crate) fn issue(world: &ForgeWorld, row: &RepositoryRow, number: u64) -> Option<Value> {
    let page = format!("{}/{}", world.base_url, row.path);
    if let Some(pull) = row.pulls.get(&number) {
        let is_open = pull.state == ScriptedPullState::Open;
        return Some(json!({
            "number": number, "html_url": format!("{page}/pull/{number}"),
            "title": pull.title, "body": pull.body, "user": user(world, &pull.author),
            "author_association": association(row, &pull.author),
            "state": if is_open { "open" } else { "closed" }, "labels": [],
            "pull_request": { "html_url": format!("{page}/pull/{number}") },
        }));
    }
    let issue = row.issues.get(&number)?;
    let labels: Vec<Value> =
        issue.labels.iter().map(|name| json!({ "id": 1, "name": name })).collect();
    Some(json!({
        "number": number, "html_url": format!("{page}/issues/{number}"),
        "title": issue.title, "body": issue.body, "user": user(world, &issue.author),
        "author_association": association(row, &issue.author),
        "state": if issue.is_open { "open" } else { "closed" }, "labels": labels,
    }))
}

pub(crate) fn comment(
    world: &ForgeWorld,
    row: &RepositoryRow,
    number: u64,
    comment: &ScriptedComment,
) -> Value {
    let time = ForgeWorld::time(comment.id);
    json!({
        "id": comment.id, "user": user(world, &comment.author), "body": comment.body,
        "html_url": format!("{}/{}/issues/{number}#issuecomment-{}", world.base_url, row.path, comment.id),
        "author_association": association(row, &comment.author),
        "created_at": time, "updated_at": time,
    })
}

/// Lists leave `merged` and `mergeable` out.
pub(crate) fn pull(
    world: &ForgeWorld,
    row: &RepositoryRow,
    pull: &ScriptedPullRequest,
    is_whole: bool,
) -> Value {
    let repository = |path: &str, id: u64| json!({ "id": id, "full_name": path });
    let head_repository = match &pull.fork {
        Some(path) => repository(path, 1),
        None => repository(&row.path, row.id),
    };
    let is_merged = pull.state == ScriptedPullState::Merged;
    let mut object = json!({
        "id": pull.id, "node_id": node_id(pull), "number": pull.number,
        "html_url": format!("{}/{}/pull/{}", world.base_url, row.path, pull.number),
        "title": pull.title, "body": pull.body, "user": user(world, &pull.author),
        "state": if pull.state == ScriptedPullState::Open { "open" } else { "closed" },
        "draft": pull.is_draft, "merged_at": is_merged.then(|| ForgeWorld::time(pull.id)),
        "head": { "ref": pull.head, "sha": pull.head_commit, "repo": head_repository },
        "base": {
            "ref": pull.base, "sha": row.branches.get(&pull.base),
            "repo": repository(&row.path, row.id),
        },
    });
    if is_whole {
        object["merged"] = is_merged.into();
        object["mergeable"] = pull.mergeable.into();
    }
    object
}

pub(crate) fn review(
    world: &ForgeWorld,
    row: &RepositoryRow,
    pull: &ScriptedPullRequest,
    review: &ReviewRow,
) -> Value {
    let state = match review.state {
        ScriptedReviewState::Approved => "APPROVED",
        ScriptedReviewState::ChangesRequested => "CHANGES_REQUESTED",
        ScriptedReviewState::Commented => "COMMENTED",
        ScriptedReviewState::Dismissed => "DISMISSED",
        ScriptedReviewState::Pending => "PENDING",
    };
    json!({
        "id": review.id, "user": user(world, &review.author), "body": review.body, "state": state,
        "author_association": association(row, &review.author), "commit_id": pull.head_commit,
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
        "id": comment.id, "user": user(world, &comment.author), "body": comment.body,
        "path": comment.path, "line": comment.line, "original_line": comment.line, "side": "RIGHT",
        "html_url": format!("{}/{}/pull/{}#discussion_r{}", world.base_url, row.path, pull.number, comment.id),
        "author_association": association(row, &comment.author),
        "created_at": ForgeWorld::time(comment.id), "updated_at": ForgeWorld::time(comment.id),
    })
}

pub(crate) fn status(status: &StatusRow) -> Value {
    let state = match status.state {
        ScriptedStatusState::Pending => "pending",
        ScriptedStatusState::Success => "success",
        ScriptedStatusState::Failure => "failure",
    };
    json!({
        "id": status.id, "context": status.name, "state": state, "description": "a status",
        "target_url": "https://ci.example/1",
    })
}

fn run_state(state: ScriptedStatusState) -> (&'static str, Option<&'static str>) {
    match state {
        ScriptedStatusState::Pending => ("in_progress", None),
        ScriptedStatusState::Success => ("completed", Some("success")),
        ScriptedStatusState::Failure => ("completed", Some("failure")),
    }
}

pub(crate) fn check_run(status: &StatusRow) -> Value {
    let (state, conclusion) = run_state(status.state);
    json!({
        "id": status.id, "name": status.name, "status": state, "conclusion": conclusion,
        "head_sha": status.commit, "html_url": "https://ci.example/2", "output": { "title": null },
    })
}

pub(crate) fn workflow_run(status: &StatusRow) -> Value {
    let (state, conclusion) = run_state(status.state);
    json!({
        "id": status.id, "name": status.name, "status": state, "conclusion": conclusion,
        "head_sha": status.commit, "html_url": "https://ci.example/3",
        "workflow_id": status.name.len(), "event": "push",
    })
}
