//! Writes comments on GitHub and Gitea, which have the same resource for them.

use http::Method;
use serde::Deserialize;
use serde_json::json;

use crate::address::RepositoryPath;
use crate::api::WrittenComment;
use crate::error::ForgeError;
use crate::http::{ForgeHttp, ForgeRequest};
use crate::text::clean_optional_url;

#[derive(Debug, Deserialize)]
struct CommentRecord {
    id: u64,
    html_url: Option<String>,
}

/// Writes a comment in the conversation of an issue or a pull request.
pub(crate) async fn post_comment(
    http: &ForgeHttp,
    repository: &RepositoryPath,
    number: u64,
    body: &str,
) -> Result<WrittenComment, ForgeError> {
    let id = number.to_string();
    let request = ForgeRequest::write(
        Method::POST,
        format!("issue {number}"),
        ["repos", repository.owner(), repository.name(), "issues", &id, "comments"],
        json!({ "body": body }),
    );
    let record: CommentRecord = http.json(&request).await?;
    Ok(WrittenComment { id: record.id, url: clean_optional_url(record.html_url.as_deref()) })
}
