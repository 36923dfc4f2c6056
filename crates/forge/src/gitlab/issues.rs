//! Issues, and notes in the conversation of issues and merge requests.

use chrono::{DateTime, Utc};
use http::Method;
use serde::Deserialize;
use serde_json::json;

use super::{Account, Gitlab, author, collection};
use crate::address::{ItemAddress, ItemKind, RepositoryAddress, RepositoryPath};
use crate::api::WrittenComment;
use crate::error::ForgeError;
use crate::http::ForgeRequest;
use crate::item::{BoundedList, Comment, Issue, IssueState};
use crate::text::{MAX_NAME_BYTES, MAX_TITLE_BYTES, clean_body, clean_line, clean_optional_url};

#[derive(Debug, Deserialize)]
struct IssueRecord {
    iid: u64,
    web_url: String,
    title: String,
    description: Option<String>,
    author: Option<Account>,
    state: String,
    #[serde(default)]
    labels: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct NoteRecord {
    id: u64,
    body: Option<String>,
    author: Option<Account>,
    /// Written by GitLab itself, for example about a new label.
    #[serde(default)]
    system: bool,
    /// `DiffNote` for review comments.
    #[serde(rename = "type")]
    kind: Option<String>,
    created_at: Option<DateTime<Utc>>,
    updated_at: Option<DateTime<Utc>>,
}

impl Gitlab {
    pub(super) async fn issue(
        &self,
        repository: &RepositoryPath,
        number: u64,
    ) -> Result<Issue, ForgeError> {
        let id = number.to_string();
        let request = ForgeRequest::get(
            format!("issue {number}"),
            ["projects", repository.as_str(), "issues", &id],
        );
        let record: IssueRecord = self.http.json(&request).await?;
        Ok(Issue {
            number: record.iid,
            url: clean_optional_url(Some(&record.web_url)).unwrap_or_default(),
            title: clean_line(&record.title, MAX_TITLE_BYTES),
            body: clean_body(&record.description.unwrap_or_default()),
            author: author(record.author.as_ref()),
            state: if record.state == "opened" { IssueState::Open } else { IssueState::Closed },
            labels: record.labels.iter().map(|label| clean_line(label, MAX_NAME_BYTES)).collect(),
            kind: ItemKind::Issue,
            comments: BoundedList::default(),
        })
    }

    pub(super) async fn comments(
        &self,
        repository: &RepositoryPath,
        kind: ItemKind,
        number: u64,
    ) -> Result<BoundedList<Comment>, ForgeError> {
        let id = number.to_string();
        let request = ForgeRequest::get(
            format!("comments of {number}"),
            ["projects", repository.as_str(), collection(kind), &id, "notes"],
        )
        .query("sort", "asc")
        .query("order_by", "created_at");
        let list = self.http.list::<NoteRecord>(&request).await?;
        Ok(list.filter_map(|note| {
            let is_conversation = !note.system && note.kind.as_deref() != Some("DiffNote");
            is_conversation.then(|| Comment {
                id: note.id,
                url: Some(self.note_url(repository, kind, number, note.id)),
                author: author(note.author.as_ref()),
                body: clean_body(&note.body.unwrap_or_default()),
                created_at: note.created_at,
                updated_at: note.updated_at,
            })
        }))
    }

    pub(super) async fn write_comment(
        &self,
        repository: &RepositoryPath,
        kind: ItemKind,
        number: u64,
        body: &str,
    ) -> Result<WrittenComment, ForgeError> {
        let id = number.to_string();
        let request = ForgeRequest::write(
            Method::POST,
            format!("{} {number}", collection(kind)),
            ["projects", repository.as_str(), collection(kind), &id, "notes"],
            json!({ "body": body }),
        );
        let note: NoteRecord = self.http.json(&request).await?;
        let url = Some(self.note_url(repository, kind, number, note.id));
        Ok(WrittenComment { id: note.id, url })
    }

    /// Notes have no address in the API.
    pub(super) fn note_url(
        &self,
        repository: &RepositoryPath,
        kind: ItemKind,
        number: u64,
        note: u64,
    ) -> String {
        let repository =
            RepositoryAddress { instance: self.instance.clone(), path: repository.clone() };
        format!("{}#note_{note}", ItemAddress { repository, kind, number }.url())
    }
}
