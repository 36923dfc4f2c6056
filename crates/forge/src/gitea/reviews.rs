//! Reviews and review comments. Comments are listed for each review.

use chrono::{DateTime, Utc};
use serde::Deserialize;

use super::{Account, Gitea, author};
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
    state: String,
    body: Option<String>,
    commit_id: Option<String>,
    #[serde(default)]
    dismissed: bool,
    #[serde(default)]
    comments_count: u64,
    submitted_at: Option<DateTime<Utc>>,
}

#[derive(Debug, Deserialize)]
struct ReviewCommentRecord {
    id: u64,
    body: Option<String>,
    user: Option<Account>,
    /// The user who resolved the thread.
    resolver: Option<Account>,
    path: String,
    /// The line of the new file; 0 if the comment is on a removed line.
    #[serde(default)]
    position: u64,
    #[serde(default)]
    original_position: u64,
    html_url: Option<String>,
    created_at: Option<DateTime<Utc>>,
}

impl Gitea {
    pub(super) async fn reviews(
        &self,
        repository: &RepositoryPath,
        number: u64,
    ) -> Result<BoundedList<Review>, ForgeError> {
        let list = self.review_records(repository, number).await?;
        Ok(list.filter_map(|record| {
            let state = match record.state.as_str() {
                "APPROVED" | "REQUEST_CHANGES" | "COMMENT" if record.dismissed => {
                    ReviewState::Dismissed
                }
                "APPROVED" => ReviewState::Approved,
                "REQUEST_CHANGES" => ReviewState::ChangesRequested,
                "COMMENT" => ReviewState::Commented,
                // Pending, or the request for a review.
                _ => return None,
            };
            Some(Review {
                id: record.id,
                author: author(record.user.as_ref()),
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
        let reviews = self.review_records(repository, number).await?;
        let mut comments = BoundedList { entries: vec![], is_truncated: reviews.is_truncated };
        let commented =
            |review: &ReviewRecord| review.comments_count > 0 && review.state != "PENDING";
        let mut ids: Vec<u64> =
            reviews.entries.iter().filter(|review| commented(review)).map(|it| it.id).collect();
        // The newest reviews are the ones that still wait for an answer.
        let surplus = ids.len().saturating_sub(self.http.limits.max_lookups);
        comments.is_truncated |= surplus > 0;
        ids.drain(..surplus);
        let id = number.to_string();
        for review in ids {
            let review = review.to_string();
            let request = ForgeRequest::get(
                format!("review comments of pull request {number}"),
                [
                    "repos",
                    repository.owner(),
                    repository.name(),
                    "pulls",
                    &id,
                    "reviews",
                    &review,
                    "comments",
                ],
            );
            let records: Vec<ReviewCommentRecord> = self.http.json(&request).await?;
            comments.entries.extend(records.into_iter().map(convert_comment));
        }
        comments.entries.sort_by_key(|comment| comment.id);
        Ok(comments)
    }

    async fn review_records(
        &self,
        repository: &RepositoryPath,
        number: u64,
    ) -> Result<BoundedList<ReviewRecord>, ForgeError> {
        let id = number.to_string();
        let request = ForgeRequest::get(
            format!("reviews of pull request {number}"),
            ["repos", repository.owner(), repository.name(), "pulls", &id, "reviews"],
        );
        self.http.list(&request).await
    }
}

fn convert_comment(record: ReviewCommentRecord) -> ReviewComment {
    let line = [record.position, record.original_position].into_iter().find(|line| *line > 0);
    ReviewComment {
        id: record.id,
        url: clean_optional_url(record.html_url.as_deref()),
        author: author(record.user.as_ref()),
        path: clean_line(&record.path, MAX_PATH_BYTES),
        line,
        body: clean_body(&record.body.unwrap_or_default()),
        in_reply_to: None,
        is_resolved: Some(record.resolver.is_some()),
        created_at: record.created_at,
    }
}
