//! Issues and comments.

use chrono::{DateTime, Utc};

use crate::address::ItemKind;
use crate::pull_request::{Review, ReviewComment};

/// What a list request returned, up to the limits of [`crate::ForgeLimits`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoundedList<T> {
    pub entries: Vec<T>,
    /// Whether the forge has more entries than were read.
    pub is_truncated: bool,
}

impl<T> Default for BoundedList<T> {
    fn default() -> Self {
        Self { entries: Vec::new(), is_truncated: false }
    }
}

impl<T> BoundedList<T> {
    pub(crate) fn map<U>(self, convert: impl Fn(T) -> U) -> BoundedList<U> {
        self.filter_map(|entry| Some(convert(entry)))
    }

    pub(crate) fn filter_map<U>(self, convert: impl Fn(T) -> Option<U>) -> BoundedList<U> {
        let entries = self.entries.into_iter().filter_map(convert).collect();
        BoundedList { entries, is_truncated: self.is_truncated }
    }
}

/// Whether a user may push to the repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteAccess {
    Granted,
    Denied,
    /// The forge does not tell the token, or the limit of lookups was reached. Treat as denied.
    Unknown,
}

impl WriteAccess {
    /// Only a confirmed grant counts.
    pub fn is_granted(self) -> bool {
        self == Self::Granted
    }
}

/// A user of the forge who wrote something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Author {
    /// The login name; `ghost` if the account was deleted.
    pub login: String,
    /// The number of the account, which a new name does not change.
    pub id: Option<u64>,
    pub write_access: WriteAccess,
    /// Whether the text was written with the token of this client.
    pub is_self: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IssueState {
    Open,
    Closed,
}

/// An issue with its comments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issue {
    pub number: u64,
    /// The page of the issue.
    pub url: String,
    pub title: String,
    pub body: String,
    pub author: Author,
    pub state: IssueState,
    pub labels: Vec<String>,
    /// `PullRequest` if the number belongs to one: GitHub and Gitea number both together.
    pub kind: ItemKind,
    /// Oldest first.
    pub comments: BoundedList<Comment>,
}

/// A comment in the conversation of an issue or pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comment {
    pub id: u64,
    /// The page of the comment, if the forge returns it.
    pub url: Option<String>,
    pub author: Author,
    pub body: String,
    pub created_at: Option<DateTime<Utc>>,
    pub updated_at: Option<DateTime<Utc>>,
}

/// What was said about a pull request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Discussion {
    /// In the conversation, oldest first.
    pub comments: BoundedList<Comment>,
    /// Submitted ones, oldest first where the forge has an order.
    pub reviews: BoundedList<Review>,
    /// On lines of the changes, oldest first.
    pub review_comments: BoundedList<ReviewComment>,
}

impl Discussion {
    /// Whether the forge has more than was read.
    pub fn is_truncated(&self) -> bool {
        self.comments.is_truncated || self.reviews.is_truncated || self.review_comments.is_truncated
    }
}

/// Identifies a comment across repeated attempts: an invisible line of its body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommentMarker(String);

/// Bytes of a marker.
const MAX_MARKER_BYTES: usize = 128;

impl CommentMarker {
    /// A marker of ASCII letters, digits, `.`, `_`, `:`, `/` and `-` without two dashes in a row; `None` for another text.
    pub fn new(key: &str) -> Option<Self> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._:/-".contains(&byte);
        let is_marker = (1..=MAX_MARKER_BYTES).contains(&key.len())
            && key.bytes().all(is_plain)
            && !key.contains("--")
            && !key.ends_with('-');
        is_marker.then(|| Self(key.to_owned()))
    }

    /// The line in the body of the comment.
    pub fn line(&self) -> String {
        format!("<!-- cynode:{} -->", self.0)
    }

    /// Whether a body has the marker as a line of its own.
    pub fn is_in(&self, body: &str) -> bool {
        let line = self.line();
        body.lines().any(|candidate| candidate.trim() == line)
    }

    /// The body with the marker as its last line.
    pub(crate) fn append_to(&self, body: &str) -> String {
        format!("{}\n\n{}", body.trim_end(), self.line())
    }
}

/// A comment that was written, now or by an earlier attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommentOutcome {
    pub id: u64,
    pub url: Option<String>,
    /// `false` if an earlier attempt wrote it.
    pub is_new: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_marker_is_found_only_as_a_whole_line() {
        let marker = CommentMarker::new("task/1:summary").unwrap();
        let body = marker.append_to("Done.\n");

        assert_eq!(body, "Done.\n\n<!-- cynode:task/1:summary -->");
        assert!(marker.is_in(&body));
        assert!(marker.is_in(&body.replace('\n', "\r\n")));
        assert!(!marker.is_in(&format!("> {}", marker.line())));
        assert!(!CommentMarker::new("task/1").unwrap().is_in(&body));
    }

    #[test]
    fn a_marker_cannot_end_the_html_comment_that_holds_it() {
        for key in ["", "a b", "a-->b", "a--b", "a-", "ä", "a\nb", &"x".repeat(129)] {
            assert_eq!(CommentMarker::new(key), None, "{key:?}");
        }
    }
}
