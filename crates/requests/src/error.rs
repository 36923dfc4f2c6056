//! Why an operation on a request failed.

use cynode_domain::error_class::{Classification, Classified, ErrorClass};
use cynode_domain::status::{IllegalTransition, RequestPhase};
use cynode_execution::artifacts::ArtifactError;
use cynode_execution::handoff::HandoffError;
use cynode_execution::tasks::TaskError;
use cynode_ops::WorkError;
use cynode_resources::PageError;

#[derive(Debug, thiserror::Error)]
pub enum RequestError {
    #[error("there is no request \"{0}\"")]
    NotFound(String),
    #[error("{}", .0.join("; "))]
    Invalid(Vec<String>),
    /// An open request has the same text.
    #[error(
        "request \"{name}\" with the same text is open: see `cynork pm show {name}`, or submit it again with --force"
    )]
    Duplicate { name: String },
    #[error("the request waits for no answer")]
    NoQuestion,
    #[error("this question accepts: {accepted}")]
    WrongReply { accepted: String },
    #[error(
        "the request is {phase} already: its kind and scope can be changed until it is planned"
    )]
    AlreadyPlanned { phase: RequestPhase },
    /// Another process advances the request.
    #[error("another process advances the request")]
    ClaimLost,
    #[error(transparent)]
    IllegalMove(#[from] IllegalTransition),
    #[error(transparent)]
    Task(#[from] TaskError),
    #[error(transparent)]
    Work(#[from] WorkError),
    #[error(transparent)]
    Artifact(#[from] ArtifactError),
    #[error(transparent)]
    Handoff(#[from] HandoffError),
    #[error(transparent)]
    Page(#[from] PageError),
    #[error(transparent)]
    Store(#[from] cynode_store::Error),
}

impl Classified for RequestError {
    fn classify(&self) -> Classification<'_> {
        match self {
            Self::NotFound(_) => Classification::new(ErrorClass::NotFound, self),
            Self::Invalid(faults) => Classification::invalid(self, faults),
            Self::WrongReply { .. } => Classification::new(ErrorClass::Invalid, self),
            Self::Duplicate { .. }
            | Self::NoQuestion
            | Self::AlreadyPlanned { .. }
            | Self::ClaimLost
            | Self::IllegalMove(_) => Classification::new(ErrorClass::Conflict, self),
            Self::Handoff(_) => Classification::new(ErrorClass::Unavailable, self),
            Self::Task(error) => error.classify(),
            Self::Work(error) => error.classify(),
            Self::Artifact(error) => error.classify(),
            Self::Page(error) => error.classify(),
            Self::Store(error) => error.classify(),
        }
    }
}
