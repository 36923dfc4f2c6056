//! Why an operation on a request failed.

use chrono::{DateTime, Utc};
use cynode_domain::error_class::{Classification, Classified, ErrorClass};
use cynode_domain::ids::ProjectId;
use cynode_domain::status::{IllegalTransition, RequestPhase};
use cynode_execution::artifacts::ArtifactError;
use cynode_execution::handoff::HandoffError;
use cynode_execution::tasks::TaskError;
use cynode_forge::{AddressError, ForgeError};
use cynode_ops::{MessageError, WorkError};
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
    #[error("only a person can decide this: `cynork pm answer`")]
    PeopleOnly,
    #[error("this question accepts: {accepted}")]
    WrongReply { accepted: String },
    #[error(
        "the request is {phase} already: its kind, scope and workflow can be changed until it is planned"
    )]
    AlreadyPlanned { phase: RequestPhase },
    #[error(
        "{repository} has no forge in this project: set one with `cynork forge set {repository}`"
    )]
    NoForge { repository: String },
    /// Also returned if the caller may not see the forge.
    #[error("there is no such forge: run `cynork forge list`")]
    NoSuchForge,
    #[error(
        "no rule allows pull requests in {resource}: an administrator can add one with `cynork rules add allow '{resource}' --action forge.pull_request.open --for project:{project}`, or deliver a branch"
    )]
    NoPullRequestRule { resource: String, project: ProjectId },
    #[error("the forge was set at the same time; read it and try again")]
    ForgeChanged,
    #[error("{0}")]
    Forbidden(&'static str),
    /// A secret cannot be sealed or opened.
    #[error("{0}")]
    Sealing(String),
    #[error(transparent)]
    Address(#[from] AddressError),
    #[error(transparent)]
    Forge(#[from] ForgeError),
    /// A delivery of a webhook that is not accepted. The sender does not learn the reason.
    #[error("the delivery is rejected")]
    RejectedDelivery,
    /// The background task ended before its result was known.
    #[error("the work was interrupted: try again")]
    Interrupted,
    /// The setting with the agents of work units cannot be used.
    #[error(
        "the setting pm.agents is not valid: {0}; correct it with `cynork settings set pm.agents`"
    )]
    InvalidRoster(String),
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
    Message(#[from] MessageError),
    #[error(transparent)]
    Artifact(#[from] ArtifactError),
    #[error(transparent)]
    Handoff(#[from] HandoffError),
    #[error(transparent)]
    Page(#[from] PageError),
    #[error(transparent)]
    Store(#[from] cynode_store::Error),
}

/// How often a failing action is repeated before a person is asked.
const MAX_FAILURES: u32 = 6;
/// The same for a forge that is not available: about an hour.
const MAX_OUTAGE_FAILURES: u32 = 60;

impl RequestError {
    /// How often the action that failed is repeated before a person is asked.
    pub(crate) fn max_failures(&self) -> u32 {
        // Repeating the action does not help.
        let is_permanent = matches!(
            self,
            Self::Forge(
                ForgeError::NotFound { .. }
                    | ForgeError::Unauthorized { .. }
                    | ForgeError::Rejected { .. }
                    | ForgeError::Misconfigured { .. }
            ) | Self::NoForge { .. }
                | Self::NoPullRequestRule { .. }
                | Self::InvalidRoster(_)
                | Self::Address(_)
                | Self::Task(TaskError::RepositoryDenied(_))
                | Self::Artifact(ArtifactError::Task(TaskError::RepositoryDenied(_)))
        );
        let is_outage = matches!(self, Self::Forge(error) if error.is_retryable());
        match (is_permanent, is_outage) {
            (true, _) => 1,
            (false, true) => MAX_OUTAGE_FAILURES,
            (false, false) => MAX_FAILURES,
        }
    }

    /// The earliest time of another attempt, if the forge named one.
    pub(crate) fn retry_at(&self) -> Option<DateTime<Utc>> {
        if let Self::Forge(error) = self { error.retry_at() } else { None }
    }
}

impl Classified for RequestError {
    fn classify(&self) -> Classification<'_> {
        match self {
            Self::NotFound(_) | Self::NoSuchForge => {
                Classification::new(ErrorClass::NotFound, self)
            }
            Self::PeopleOnly => Classification::new(ErrorClass::Forbidden, self),
            Self::Invalid(faults) => Classification::invalid(self, faults),
            Self::WrongReply { .. }
            | Self::NoForge { .. }
            | Self::InvalidRoster(_)
            | Self::Address(_) => Classification::new(ErrorClass::Invalid, self),
            Self::NoPullRequestRule { .. } | Self::Forbidden(_) => {
                Classification::new(ErrorClass::Forbidden, self)
            }
            Self::RejectedDelivery => Classification::new(ErrorClass::Unauthenticated, self),
            Self::Sealing(_) | Self::Interrupted => Classification::new(ErrorClass::Outage, self),
            Self::Forge(error) => error.classify(),
            Self::Duplicate { .. }
            | Self::NoQuestion
            | Self::AlreadyPlanned { .. }
            | Self::ClaimLost
            | Self::ForgeChanged
            | Self::IllegalMove(_) => Classification::new(ErrorClass::Conflict, self),
            Self::Handoff(_) => Classification::new(ErrorClass::Unavailable, self),
            Self::Task(error) => error.classify(),
            Self::Work(error) => error.classify(),
            Self::Message(error) => error.classify(),
            Self::Artifact(error) => error.classify(),
            Self::Page(error) => error.classify(),
            Self::Store(error) => error.classify(),
        }
    }
}
