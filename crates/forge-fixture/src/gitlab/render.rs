//! The JSON of GitLab.

use serde_json::{Value, json};

use crate::world::{
    ForgeWorld, RepositoryRow, ScriptedComment, ScriptedPullRequest, ScriptedPullState,
    ScriptedReviewState, ScriptedStatusState,
};

/// Texts of a deleted account belong to the ghost user.
pub(crate) fn user(world: &ForgeWorld, login: &str) -> Value {
    match world.users.get(login) {
        Some(user) => {
            json!({ "id": user.id, "username": user.login, "name": user.login, "state": "active" })
        }
        None => json!({ "id": 1, "username": "ghost", "name": "Ghost User", "state": "active" }),
    }
}

pub(crate) fn is_draft(title: &str) -> bool {
    let title = title.to_ascii_lowercase();
    ["draft:", "[draft]", "(draft)"].iter().any(|prefix| title.starts_with(prefix))
}

pub(crate) fn state(pull: &ScriptedPullRequest) -> &'static str {
    match pull.state {
        ScriptedPullState::Open => "opened",
        ScriptedPullState::Closed => "closed",
        ScriptedPullState::Merged => "merged",
    }
}

pub(crate) fn issue(world: &ForgeWorld, row: &RepositoryRow, iid: u64) -> Option<Value> {
    let issue = row.issues.get(&iid)?;
    Some(json!({
        "id": 1000 + iid, "iid": iid, "title": issue.title, "description": issue.body,
        "web_url": format!("{}/{}/-/issues/{iid}", world.base_url, row.path),
        "author": user(world, &issue.author), "labels": issue.labels,
        "state": if issue.is_open { "opened" } else { "closed" },
    }))
}

pub(crate) fn note(world: &ForgeWorld, note: &ScriptedComment) -> Value {
    json!({
        "id": note.id, "type": null, "body": note.body, "author": user(world, &note.author),
        "system": note.is_system, "resolvable": false,
        "created_at": ForgeWorld::time(note.id), "updated_at": ForgeWorld::time(note.id),
    })
}

/// Notes of a conversation, oldest first. Those of a merge request include what GitLab itself and reviewers wrote.
pub(crate) fn notes(
    world: &ForgeWorld,
    row: &RepositoryRow,
    kind: &str,
    iid: u64,
) -> Option<Vec<Value>> {
    let comments = match kind {
        "issues" => row.issues.get(&iid).map(|_| &row.issue_comments)?,
        _ => row.pulls.get(&iid).map(|_| &row.pull_comments)?,
    };
    let mut notes: Vec<Value> =
        comments.get(&iid).into_iter().flatten().map(|it| note(world, it)).collect();
    let label = ScriptedComment {
        id: 1,
        author: "root".to_owned(),
        body: "added ~1 label".to_owned(),
        is_system: true,
    };
    notes.insert(0, note(world, &label));
    if let Some(pull) = row.pulls.get(&iid).filter(|_| kind == "merge_requests") {
        let discussions = discussions(world, row, pull);
        notes.extend(discussions.iter().filter_map(|it| it["notes"].as_array()).flatten().cloned());
    }
    Some(notes)
}

/// Lists leave the pipeline out.
pub(crate) fn merge_request(
    world: &ForgeWorld,
    row: &RepositoryRow,
    pull: &ScriptedPullRequest,
    is_whole: bool,
) -> Value {
    let merge_status = match pull.mergeable {
        None => "checking",
        Some(false) => "conflict",
        Some(true) if pull.is_draft => "draft_status",
        Some(true) => "mergeable",
    };
    let source = if pull.fork.is_some() { 1 } else { row.id };
    let mut object = json!({
        "id": pull.id, "iid": pull.number, "project_id": row.id,
        "title": pull.title, "description": pull.body, "author": user(world, &pull.author),
        "web_url": format!("{}/{}/-/merge_requests/{}", world.base_url, row.path, pull.number),
        "state": state(pull), "draft": pull.is_draft, "work_in_progress": pull.is_draft,
        "source_branch": pull.head, "target_branch": pull.base,
        "source_project_id": source, "target_project_id": row.id, "sha": pull.head_commit,
        "has_conflicts": pull.mergeable == Some(false), "detailed_merge_status": merge_status,
    });
    if is_whole {
        object["head_pipeline"] = pipeline(world, row, pull);
    }
    object
}

/// The pipeline of the head commit; `null` without a job.
fn pipeline(world: &ForgeWorld, row: &RepositoryRow, pull: &ScriptedPullRequest) -> Value {
    let jobs = row.latest_statuses(&pull.head_commit, true);
    if jobs.is_empty() {
        return Value::Null;
    }
    let has = |state| jobs.iter().any(|job| job.state == state);
    let status = match () {
        () if has(ScriptedStatusState::Pending) => "running",
        () if has(ScriptedStatusState::Failure) => "failed",
        () => "success",
    };
    json!({
        "id": 31, "iid": 3, "sha": pull.head_commit, "ref": pull.head, "status": status,
        "source": "push", "web_url": format!("{}/{}/-/pipelines/31", world.base_url, row.path),
    })
}

fn reviewers_in(row: &RepositoryRow, number: u64) -> Vec<(String, ScriptedReviewState, u64)> {
    let mut newest: Vec<(String, ScriptedReviewState, u64)> = Vec::new();
    for review in row.reviews.get(&number).into_iter().flatten() {
        newest.retain(|(author, ..)| *author != review.author);
        newest.push((review.author.clone(), review.state, review.id));
    }
    newest
}

pub(crate) fn approvals(world: &ForgeWorld, row: &RepositoryRow, number: u64) -> Vec<Value> {
    let reviewers = reviewers_in(row, number).into_iter();
    let approved = reviewers.filter(|(_, state, _)| *state == ScriptedReviewState::Approved);
    approved
        .map(|(author, _, id)| json!({ "user": user(world, &author), "approved_at": ForgeWorld::time(id) }))
        .collect()
}

pub(crate) fn reviewers(world: &ForgeWorld, row: &RepositoryRow, number: u64) -> Vec<Value> {
    let render = |(author, state, id): (String, ScriptedReviewState, u64)| {
        let state = match state {
            ScriptedReviewState::Approved => "approved",
            ScriptedReviewState::ChangesRequested => "requested_changes",
            ScriptedReviewState::Commented => "reviewed",
            ScriptedReviewState::Dismissed => "unapproved",
            ScriptedReviewState::Pending => "review_started",
        };
        json!({ "user": user(world, &author), "state": state, "created_at": ForgeWorld::time(id) })
    };
    reviewers_in(row, number).into_iter().map(render).collect()
}

/// One discussion for each review comment, and one for each comment of the conversation.
pub(crate) fn discussions(
    world: &ForgeWorld,
    row: &RepositoryRow,
    pull: &ScriptedPullRequest,
) -> Vec<Value> {
    let reviews = row.reviews.get(&pull.number).into_iter().flatten();
    let comments = reviews.flat_map(|review| &review.comments);
    comments
        .map(|comment| {
            let note = json!({
                "id": comment.id, "type": "DiffNote", "body": comment.body, "system": false,
                "author": user(world, &comment.author), "resolvable": true, "resolved": false,
                "created_at": ForgeWorld::time(comment.id), "updated_at": ForgeWorld::time(comment.id),
                "position": {
                    "position_type": "text", "head_sha": pull.head_commit,
                    "old_path": comment.path, "new_path": comment.path,
                    "old_line": null, "new_line": comment.line,
                },
            });
            json!({ "id": format!("{:040x}", comment.id), "individual_note": false, "notes": [note] })
        })
        .collect()
}

/// Jobs and statuses of external services.
pub(crate) fn statuses(row: &RepositoryRow, commit: &str) -> Vec<Value> {
    let mut found = row.latest_statuses(commit, true);
    found.extend(row.latest_statuses(commit, false));
    let render = |status: &crate::world::StatusRow| {
        let state = match status.state {
            ScriptedStatusState::Pending => "running",
            ScriptedStatusState::Success => "success",
            ScriptedStatusState::Failure => "failed",
        };
        json!({
            "id": status.id, "sha": status.commit, "name": status.name, "status": state,
            "allow_failure": status.name.starts_with("optional"), "description": null,
            "target_url": "https://ci.example/1",
        })
    };
    found.into_iter().map(render).collect()
}
