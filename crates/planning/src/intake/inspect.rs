//! What keeps a submission from being planned.

/// The longest submission.
pub const MAX_SUBMISSION_BYTES: usize = 100 * 1024;

/// Why a submission is not planned as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SubmissionFault {
    /// It has no words.
    Blank,
    /// It is longer than [`MAX_SUBMISSION_BYTES`].
    TooLong { bytes: usize },
    /// It asks something instead of requesting work.
    Question,
    /// It contains several requests that have nothing to do with each other.
    SeveralRequests { requests: Vec<String> },
}

/// Finds the first fault of a submitted text.
pub fn inspect(text: &str) -> Option<SubmissionFault> {
    if text.trim().is_empty() {
        return Some(SubmissionFault::Blank);
    }
    if text.len() > MAX_SUBMISSION_BYTES {
        return Some(SubmissionFault::TooLong { bytes: text.len() });
    }
    None
}
