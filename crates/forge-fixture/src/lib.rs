//! A forge for tests: the APIs of GitHub, GitLab and Gitea over real HTTP on loopback, for the operations that the
//! project manager needs.
//!
//! Start at [`ScriptedForge`]. It keeps state, checks tokens, permissions, bodies and pages as the real servers do, and
//! rejects a second open pull request of the same branches. A [`ScriptedFault`] makes a request fail, also after its
//! change was applied. It shares no code with the client.
//!
//! ```no_run
//! use cynode_forge_fixture::{ScriptedForge, ScriptedForgeApi};
//!
//! let forge = ScriptedForge::start(ScriptedForgeApi::Gitlab);
//! forge.add_user("ada", "ada-token");
//! forge.add_repository("group/site", "ada");
//! forge.push_branch("group/site", "main", 'a');
//! // … point a client at forge.base_url() …
//! assert_eq!(forge.pull_requests("group/site").len(), 1);
//! ```
//!
//! For tests only: what cannot be set up is a panic with the reason.

mod body_schema;
mod delivery;
mod exchange;
mod fault;
mod gitea;
mod github;
mod gitlab;
mod listener;
mod setup;
mod world;

pub use delivery::{ScriptedDelivery, ScriptedForgeEvent};
pub use exchange::RecordedForgeRequest;
pub use fault::{FaultKind, ScriptedFault};
pub use setup::{ScriptedForge, commit_id};
pub use world::{
    ScriptedComment, ScriptedForgeApi, ScriptedItem, ScriptedPermission, ScriptedPullRequest,
    ScriptedPullState, ScriptedReviewState, ScriptedStatusState, TokenScope,
};
