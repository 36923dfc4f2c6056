//! The state of a scripted forge.

use std::collections::BTreeMap;

use crate::exchange::RecordedForgeRequest;
use crate::fault::ScriptedFault;

/// The API that a scripted forge speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScriptedForgeApi {
    Github,
    Gitlab,
    Gitea,
}

/// An issue or pull request, by its number. GitLab numbers them apart, so that both kinds have the same numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScriptedItem {
    Issue(u64),
    Pull(u64),
}

/// What a user may do in a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ScriptedPermission {
    None,
    Read,
    Write,
    Admin,
}

/// What a token may do on behalf of its user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenScope {
    Full,
    ReadOnly,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScriptedPullState {
    Open,
    Closed,
    Merged,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScriptedReviewState {
    Approved,
    ChangesRequested,
    Commented,
    Dismissed,
    Pending,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScriptedStatusState {
    Pending,
    Success,
    Failure,
}

/// A comment in a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptedComment {
    pub id: u64,
    pub author: String,
    pub body: String,
    /// GitLab: written by the forge itself.
    pub is_system: bool,
}

/// A pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptedPullRequest {
    /// Unique on the forge; the number is unique in its repository.
    pub id: u64,
    pub number: u64,
    /// As the forge stores it, with the prefix of a draft where it has one.
    pub title: String,
    pub body: String,
    pub author: String,
    pub head: String,
    /// The repository of the head branch, if it is a fork.
    pub fork: Option<String>,
    pub base: String,
    pub head_commit: String,
    pub is_draft: bool,
    pub state: ScriptedPullState,
    pub mergeable: Option<bool>,
}

#[derive(Debug, Clone)]
pub(crate) struct UserRow {
    pub(crate) id: u64,
    pub(crate) login: String,
}

#[derive(Debug, Clone)]
pub(crate) struct TokenRow {
    pub(crate) login: String,
    pub(crate) scope: TokenScope,
}

#[derive(Debug, Clone)]
pub(crate) struct IssueRow {
    pub(crate) title: String,
    pub(crate) body: String,
    pub(crate) author: String,
    pub(crate) is_open: bool,
    pub(crate) labels: Vec<String>,
}

#[derive(Debug, Clone)]
pub(crate) struct ReviewRow {
    pub(crate) id: u64,
    pub(crate) author: String,
    pub(crate) state: ScriptedReviewState,
    pub(crate) body: String,
    pub(crate) comments: Vec<ReviewCommentRow>,
}

#[derive(Debug, Clone)]
pub(crate) struct ReviewCommentRow {
    pub(crate) id: u64,
    pub(crate) author: String,
    pub(crate) path: String,
    pub(crate) line: u64,
    pub(crate) body: String,
}

#[derive(Debug, Clone)]
pub(crate) struct StatusRow {
    pub(crate) id: u64,
    pub(crate) commit: String,
    pub(crate) name: String,
    pub(crate) state: ScriptedStatusState,
    /// GitHub: a check run instead of a status.
    pub(crate) is_check_run: bool,
}

#[derive(Debug, Default)]
pub(crate) struct RepositoryRow {
    pub(crate) id: u64,
    pub(crate) path: String,
    pub(crate) permissions: BTreeMap<String, ScriptedPermission>,
    pub(crate) branches: BTreeMap<String, String>,
    pub(crate) issues: BTreeMap<u64, IssueRow>,
    pub(crate) pulls: BTreeMap<u64, ScriptedPullRequest>,
    /// By number of the issue; GitHub and Gitea number pull requests with them.
    pub(crate) issue_comments: BTreeMap<u64, Vec<ScriptedComment>>,
    pub(crate) pull_comments: BTreeMap<u64, Vec<ScriptedComment>>,
    pub(crate) reviews: BTreeMap<u64, Vec<ReviewRow>>,
    pub(crate) statuses: Vec<StatusRow>,
}

impl RepositoryRow {
    pub(crate) fn permission(&self, login: &str) -> ScriptedPermission {
        self.permissions.get(login).copied().unwrap_or(ScriptedPermission::None)
    }

    /// The newest status of each name, oldest first.
    pub(crate) fn latest_statuses(&self, commit: &str, check_runs: bool) -> Vec<&StatusRow> {
        let mut found: Vec<&StatusRow> = Vec::new();
        for status in &self.statuses {
            if status.commit == commit && status.is_check_run == check_runs {
                found.retain(|older| older.name != status.name);
                found.push(status);
            }
        }
        found
    }

    /// The open pull request of the same branches.
    pub(crate) fn open_pull(&self, head: &str, base: &str) -> Option<&ScriptedPullRequest> {
        self.pulls.values().find(|pull| {
            pull.state == ScriptedPullState::Open
                && pull.fork.is_none()
                && (pull.head.as_str(), pull.base.as_str()) == (head, base)
        })
    }
}

/// Everything that a scripted forge knows.
#[derive(Debug)]
pub(crate) struct ForgeWorld {
    pub(crate) api: ScriptedForgeApi,
    pub(crate) base_url: String,
    pub(crate) users: BTreeMap<String, UserRow>,
    pub(crate) tokens: BTreeMap<String, TokenRow>,
    pub(crate) repositories: BTreeMap<String, RepositoryRow>,
    pub(crate) faults: Vec<ScriptedFault>,
    pub(crate) requests: Vec<RecordedForgeRequest>,
    /// GitHub: whether drafts are part of the plan.
    pub(crate) has_drafts: bool,
    next_id: u64,
}

impl ForgeWorld {
    pub(crate) fn new(api: ScriptedForgeApi) -> Self {
        Self {
            api,
            base_url: String::new(),
            users: BTreeMap::new(),
            tokens: BTreeMap::new(),
            repositories: BTreeMap::new(),
            faults: Vec::new(),
            requests: Vec::new(),
            has_drafts: true,
            next_id: 100,
        }
    }

    pub(crate) fn generate_id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }

    /// The next number of an issue or pull request.
    pub(crate) fn next_number(&self, repository: &str, is_pull: bool) -> u64 {
        let Some(row) = self.repositories.get(repository) else { return 1 };
        let newest = |numbers: Option<&u64>| numbers.copied().unwrap_or(0);
        let (issue, pull) =
            (newest(row.issues.keys().next_back()), newest(row.pulls.keys().next_back()));
        1 + match (self.api, is_pull) {
            (ScriptedForgeApi::Gitlab, true) => pull,
            (ScriptedForgeApi::Gitlab, false) => issue,
            (ScriptedForgeApi::Github | ScriptedForgeApi::Gitea, _) => issue.max(pull),
        }
    }

    pub(crate) fn user_id(&self, login: &str) -> Option<u64> {
        self.users.get(login).map(|user| user.id)
    }

    /// A time that grows with the ids.
    pub(crate) fn time(id: u64) -> String {
        format!("2026-01-{:02}T{:02}:{:02}:00Z", 1 + id / 1440 % 28, id / 60 % 24, id % 60)
    }
}
