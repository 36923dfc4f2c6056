//! What a submission is: its kind, its scope, and what keeps it from being planned.

mod classify;
mod inspect;
mod phrases;
mod reading;
mod requested;
mod scope;

pub use classify::classify;
pub use inspect::{MAX_SUBMISSION_BYTES, SubmissionFault, inspect};
pub(crate) use requested::{find_requested, split_demands};
pub use scope::assess_scope;

/// A decision by rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ruling<T> {
    pub value: T,
    /// Whether the rule decides alone; otherwise it is a guess that a model may replace.
    pub is_certain: bool,
    /// Why, in one sentence for people.
    pub reason: String,
}

/// A submitted text, with what its source says about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Submission<'a> {
    pub text: &'a str,
    /// Labels of a forge issue.
    pub labels: &'a [String],
    /// Whether the text is a project brief, or the project has one and nothing else.
    pub is_brief: bool,
}
