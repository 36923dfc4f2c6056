//! Issues, and comments in the conversation of issues and pull requests.

use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde_json::Value;

use super::{Account, Gitea, author};
use crate::address::{ItemKind, RepositoryPath};
use crate::error::ForgeError;
use crate::http::ForgeRequest;
use crate::item::{BoundedList, Comment, Issue, IssueState};
use crate::text::{MAX_NAME_BYTES, MAX_TITLE_BYTES, clean_body, clean_line, clean_optional_url};

#[derive(Debug, Deserialize)]
struct IssueRecord {
    number: u64,
    html_url: String,
    title: String,
    body: Option<String>,
    user: Option<Account>,
    state: String,
    /// `null` instead of an empty list in old versions.
    labels: Option<Vec<Label>>,
    /// Present if the number belongs to a pull request.
    pull_request: Option<Value>,
}

#[derive(Debug, Deserialize)]
struct Label {
    name: String,
}

#[derive(Debug, Deserialize)]
struct CommentRecord {
    id: u64,
    html_url: Option<String>,
    user: Option<Account>,
    body: Option<String>,
    created_at: Option<DateTime<Utc>>,
    updated_at: Option<DateTime<Utc>>,
}

impl Gitea {
    pub(super) async fn issue(
        &self,
        repository: &RepositoryPath,
        number: u64,
    ) -> Result<Issue, ForgeError> {
        let id = number.to_string();
        let request = ForgeRequest::get(
            format!("issue {number}"),
            ["repos", repository.owner(), repository.name(), "issues", &id],
        );
        let record: IssueRecord = self.http.json(&request).await?;
        Ok(Issue {
            number: record.number,
            url: clean_optional_url(Some(&record.html_url)).unwrap_or_default(),
            title: clean_line(&record.title, MAX_TITLE_BYTES),
            body: clean_body(&record.body.unwrap_or_default()),
            author: author(record.user.as_ref()),
            state: if record.state == "open" { IssueState::Open } else { IssueState::Closed },
            labels: record
                .labels
                .unwrap_or_default()
                .iter()
                .map(|label| clean_line(&label.name, MAX_NAME_BYTES))
                .collect(),
            kind: match record.pull_request {
                Some(_) => ItemKind::PullRequest,
                None => ItemKind::Issue,
            },
            comments: BoundedList::default(),
        })
    }

    /// All comments in one answer: this list has no pages, and ignores the number of one.
    pub(super) async fn comments(
        &self,
        repository: &RepositoryPath,
        number: u64,
    ) -> Result<BoundedList<Comment>, ForgeError> {
        let id = number.to_string();
        let request = ForgeRequest::get(
            format!("comments of {number}"),
            ["repos", repository.owner(), repository.name(), "issues", &id, "comments"],
        );
        let entries: Vec<CommentRecord> = match self.http.json(&request).await {
            // Gitea answers with 500 if there is no such issue.
            Err(error @ ForgeError::Unavailable { .. }) => {
                return match self.issue(repository, number).await {
                    Err(missing @ ForgeError::NotFound { .. }) => Err(missing),
                    Ok(_) | Err(_) => Err(error),
                };
            }
            entries => entries?,
        };
        let list = BoundedList { entries, is_truncated: false };
        Ok(list.map(|record| Comment {
            id: record.id,
            url: clean_optional_url(record.html_url.as_deref()),
            author: author(record.user.as_ref()),
            body: clean_body(&record.body.unwrap_or_default()),
            created_at: record.created_at,
            updated_at: record.updated_at,
        }))
    }
}
