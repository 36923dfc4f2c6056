//! One interface to code forges: GitHub, GitLab, and Gitea or Forgejo (ADR 46).
//!
//! Start at [`Forge`], the client of one forge. [`address`] parses what people paste, [`webhook`] verifies and parses
//! what forges send. Each forge has a folder of its own with the same operations.
//!
//! Invariants: no method retries; the token is sent to the host of the forge only, and is in no error and no log; every
//! text of a forge is bounded, and single-line texts have no control characters.

pub mod address;
mod api;
mod author;
mod ci;
mod default_branch;
mod draft_title;
mod error;
mod forge;
mod gitea;
mod github;
mod gitlab;
mod http;
mod item;
mod options;
mod own_login;
mod post_comment;
mod pull_request;
mod text;
pub mod webhook;

pub use address::{
    AddressError, ForgeInstance, ForgeKind, ItemAddress, ItemKind, RepositoryAddress,
    RepositoryPath,
};
pub use ci::{CiCheck, CiReport, CiState};
pub use error::ForgeError;
pub use forge::Forge;
pub use item::{
    Author, BoundedList, Comment, CommentMarker, CommentOutcome, Discussion, Issue, IssueState,
    WriteAccess,
};
pub use options::{ForgeLimits, ForgeOptions};
pub use pull_request::{
    EnsuredPullRequest, Mergeability, NewPullRequest, PullRequest, PullRequestFilter,
    PullRequestState, PullRequestUpdate, Readiness, Review, ReviewComment, ReviewState,
};
pub use text::strip_html_comments;
