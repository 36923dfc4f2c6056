//! Reviews and review comments. GitLab has no list of reviews: approvals and the states of reviewers stand for them.

use chrono::{DateTime, Utc};
use serde::Deserialize;

use super::{Account, Gitlab, author};
use crate::address::{ItemKind, RepositoryPath};
use crate::error::ForgeError;
use crate::http::ForgeRequest;
use crate::item::BoundedList;
use crate::pull_request::{Review, ReviewComment, ReviewState};
use crate::text::{MAX_PATH_BYTES, clean_body, clean_line};

#[derive(Debug, Default, Deserialize)]
struct Approvals {
    #[serde(default)]
    approved_by: Vec<ApprovalRecord>,
}

#[derive(Debug, Deserialize)]
struct ApprovalRecord {
    user: Account,
    approved_at: Option<DateTime<Utc>>,
}

#[derive(Debug, Deserialize)]
struct ReviewerRecord {
    user: Account,
    state: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Discussion {
    #[serde(default)]
    notes: Vec<DiffNoteRecord>,
}

#[derive(Debug, Deserialize)]
struct DiffNoteRecord {
    id: u64,
    body: Option<String>,
    author: Option<Account>,
    #[serde(default)]
    system: bool,
    position: Option<PositionRecord>,
    resolved: Option<bool>,
    created_at: Option<DateTime<Utc>>,
}

#[derive(Debug, Deserialize)]
struct PositionRecord {
    new_path: Option<String>,
    old_path: Option<String>,
    new_line: Option<u64>,
    old_line: Option<u64>,
}

impl Gitlab {
    pub(super) async fn reviews(
        &self,
        repository: &RepositoryPath,
        number: u64,
    ) -> Result<BoundedList<Review>, ForgeError> {
        let id = number.to_string();
        let path = ["projects", repository.as_str(), "merge_requests", &id];
        let request = ForgeRequest::get(
            format!("approvals of merge request {number}"),
            [&path[..], &["approvals"]].concat(),
        );
        let approvals: Result<Approvals, ForgeError> = self.http.json(&request).await;
        let request = ForgeRequest::get(
            format!("reviewers of merge request {number}"),
            [&path[..], &["reviewers"]].concat(),
        );
        let reviewers = self.http.list::<ReviewerRecord>(&request).await;
        // Old versions have no states of reviewers, and free ones had no approvals.
        let (approvals, reviewers) = match (approvals, reviewers) {
            (Err(ForgeError::NotFound { .. }), Ok(reviewers)) => (Approvals::default(), reviewers),
            (Ok(approvals), Err(ForgeError::NotFound { .. })) => {
                (approvals, BoundedList::default())
            }
            (approvals, reviewers) => (approvals?, reviewers?),
        };
        let review = |user: &Account, state, submitted_at| Review {
            id: user.id,
            author: author(Some(user)),
            state,
            body: String::new(),
            commit: None,
            submitted_at,
        };
        let mut reviews = BoundedList { entries: vec![], is_truncated: reviewers.is_truncated };
        for approval in &approvals.approved_by {
            reviews.entries.push(review(
                &approval.user,
                ReviewState::Approved,
                approval.approved_at,
            ));
        }
        for reviewer in &reviewers.entries {
            let state = match reviewer.state.as_deref() {
                Some("approved") => ReviewState::Approved,
                Some("requested_changes") => ReviewState::ChangesRequested,
                Some("reviewed") => ReviewState::Commented,
                // Not reviewed yet, or withdrawn.
                _ => continue,
            };
            if !reviews.entries.iter().any(|review| review.id == reviewer.user.id) {
                reviews.entries.push(review(&reviewer.user, state, None));
            }
        }
        Ok(reviews)
    }

    pub(super) async fn review_comments(
        &self,
        repository: &RepositoryPath,
        number: u64,
    ) -> Result<BoundedList<ReviewComment>, ForgeError> {
        let id = number.to_string();
        let request = ForgeRequest::get(
            format!("discussions of merge request {number}"),
            ["projects", repository.as_str(), "merge_requests", &id, "discussions"],
        );
        let list = self.http.list::<Discussion>(&request).await?;
        let mut comments = BoundedList { entries: vec![], is_truncated: list.is_truncated };
        for discussion in list.entries {
            let first = discussion.notes.first().map(|note| note.id);
            for note in discussion.notes.into_iter().filter(|note| !note.system) {
                let Some(position) = note.position else { continue };
                let path = position.new_path.or(position.old_path).unwrap_or_default();
                comments.entries.push(ReviewComment {
                    id: note.id,
                    url: Some(self.note_url(repository, ItemKind::PullRequest, number, note.id)),
                    author: author(note.author.as_ref()),
                    path: clean_line(&path, MAX_PATH_BYTES),
                    line: position.new_line.or(position.old_line),
                    body: clean_body(&note.body.unwrap_or_default()),
                    in_reply_to: first.filter(|first| *first != note.id),
                    is_resolved: note.resolved,
                    created_at: note.created_at,
                });
            }
        }
        comments.entries.sort_by_key(|comment| comment.id);
        Ok(comments)
    }
}
