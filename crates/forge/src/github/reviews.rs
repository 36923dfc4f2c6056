//! Reviews and review comments.

use chrono::{DateTime, Utc};
use serde::Deserialize;

use super::{Account, Github, author};
use crate::address::RepositoryPath;
use crate::error::ForgeError;
use crate::http::ForgeRequest;
use crate::item::BoundedList;
use crate::pull_request::{Review, ReviewComment, ReviewState};
use crate::text::{MAX_NAME_BYTES, MAX_PATH_BYTES, clean_body, clean_line, clean_optional_url};

#[derive(Debug, Deserialize)]
struct ReviewRecord {
    id: u64,
    user: Option<Account>,
    author_association: Option<String>,
    body: Option<String>,
    state: String,
    commit_id: Option<String>,
    submitted_at: Option<DateTime<Utc>>,
}

#[derive(Debug, Deserialize)]
struct ReviewCommentRecord {
    id: u64,
    html_url: Option<String>,
    user: Option<Account>,
    author_association: Option<String>,
    path: String,
    /// `null` if the line is no longer part of the changes.
    line: Option<u64>,
    original_line: Option<u64>,
    body: Option<String>,
    in_reply_to_id: Option<u64>,
    created_at: Option<DateTime<Utc>>,
}

impl Github {
    pub(super) async fn reviews(
        &self,
        repository: &RepositoryPath,
        number: u64,
    ) -> Result<BoundedList<Review>, ForgeError> {
        let id = number.to_string();
        let request = ForgeRequest::get(
            format!("reviews of pull request {number}"),
            ["repos", repository.owner(), repository.name(), "pulls", &id, "reviews"],
        );
        let list = self.http.list::<ReviewRecord>(&request).await?;
        Ok(list.filter_map(|record| {
            let state = match record.state.as_str() {
                "APPROVED" => ReviewState::Approved,
                "CHANGES_REQUESTED" => ReviewState::ChangesRequested,
                "COMMENTED" => ReviewState::Commented,
                "DISMISSED" => ReviewState::Dismissed,
                // A pending review is not submitted yet.
                _ => return None,
            };
            Some(Review {
                id: record.id,
                author: author(record.user.as_ref(), record.author_association.as_deref()),
                state,
                body: clean_body(&record.body.unwrap_or_default()),
                commit: record.commit_id.map(|id| clean_line(&id, MAX_NAME_BYTES)),
                submitted_at: record.submitted_at,
            })
        }))
    }

    pub(super) async fn review_comments(
        &self,
        repository: &RepositoryPath,
        number: u64,
    ) -> Result<BoundedList<ReviewComment>, ForgeError> {
        let id = number.to_string();
        let request = ForgeRequest::get(
            format!("review comments of pull request {number}"),
            ["repos", repository.owner(), repository.name(), "pulls", &id, "comments"],
        );
        let list = self.http.list::<ReviewCommentRecord>(&request).await?;
        Ok(list.map(|record| ReviewComment {
            id: record.id,
            url: clean_optional_url(record.html_url.as_deref()),
            author: author(record.user.as_ref(), record.author_association.as_deref()),
            path: clean_line(&record.path, MAX_PATH_BYTES),
            line: record.line.or(record.original_line),
            body: clean_body(&record.body.unwrap_or_default()),
            in_reply_to: record.in_reply_to_id,
            is_resolved: None,
            created_at: record.created_at,
        }))
    }
}
