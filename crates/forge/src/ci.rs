//! Results of continuous integration for one commit.

/// The state of one check, or of all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CiState {
    /// The commit has no check.
    Absent,
    Pending,
    Passed,
    Failed,
}

/// One check: a status, a check run, a pipeline or a job of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CiCheck {
    pub name: String,
    pub state: CiState,
    /// What the forge says about the result, in one line.
    pub summary: String,
    /// The page with details.
    pub url: Option<String>,
}

/// All checks of one commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CiReport {
    /// The commit that was checked, in full.
    pub commit: String,
    /// Failed if any check failed, else pending if any check is pending or the list is truncated.
    pub state: CiState,
    pub checks: Vec<CiCheck>,
    /// Whether the forge has more checks than were read.
    pub is_truncated: bool,
}

impl CiReport {
    /// Combines checks. What was not read could have failed, so a truncated list is never passed.
    pub(crate) fn combine(commit: &str, checks: Vec<CiCheck>, is_truncated: bool) -> Self {
        let has = |state| checks.iter().any(|check| check.state == state);
        let state = if has(CiState::Failed) {
            CiState::Failed
        } else if has(CiState::Pending) || is_truncated {
            CiState::Pending
        } else if has(CiState::Passed) {
            CiState::Passed
        } else {
            CiState::Absent
        };
        Self { commit: commit.to_owned(), state, checks, is_truncated }
    }
}
