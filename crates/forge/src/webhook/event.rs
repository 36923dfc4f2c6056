//! Events of all forges in one form.

use crate::ci::CiState;
use crate::pull_request::{PullRequestState, ReviewState};

/// What happened. Texts are left out: read them from the forge, with the write access of their author.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ForgeEvent {
    /// The forge tries the webhook out.
    Ping,
    IssueChanged {
        number: u64,
        change: IssueChange,
    },
    /// A comment in the conversation of an issue or pull request was created or edited.
    Commented {
        number: u64,
        is_pull_request: bool,
        comment_id: u64,
    },
    PullRequestChanged {
        number: u64,
        change: PullRequestChange,
        state: PullRequestState,
        head_commit: Option<String>,
    },
    /// A review was submitted or dismissed.
    Reviewed {
        number: u64,
        state: ReviewState,
    },
    /// A comment on a line of the changes was created or edited.
    ReviewCommented {
        number: u64,
        /// Gitea does not tell.
        comment_id: Option<u64>,
    },
    /// A check of a commit has a new state.
    CiUpdated {
        commit: String,
        state: CiState,
    },
    /// Verified, but of no interest.
    Ignored {
        name: String,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IssueChange {
    Opened,
    Edited,
    Closed,
    Reopened,
    Labeled,
    Assigned,
    Other,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PullRequestChange {
    Opened,
    Edited,
    /// New commits.
    Pushed,
    Ready,
    Merged,
    Closed,
    Reopened,
    Other,
}

impl IssueChange {
    /// Actions of GitHub and Gitea.
    pub(super) fn parse(action: &str) -> Self {
        match action {
            "opened" => Self::Opened,
            "edited" => Self::Edited,
            "closed" => Self::Closed,
            "reopened" => Self::Reopened,
            "labeled" | "unlabeled" | "label_updated" | "label_cleared" => Self::Labeled,
            "assigned" | "unassigned" => Self::Assigned,
            _ => Self::Other,
        }
    }
}

impl PullRequestChange {
    /// Actions of GitHub and Gitea; both close what they merge.
    pub(super) fn parse(action: &str, state: PullRequestState) -> Self {
        match action {
            "opened" => Self::Opened,
            "edited" => Self::Edited,
            "synchronize" | "synchronized" => Self::Pushed,
            "ready_for_review" => Self::Ready,
            "closed" if state == PullRequestState::Merged => Self::Merged,
            "closed" => Self::Closed,
            "reopened" => Self::Reopened,
            _ => Self::Other,
        }
    }
}
