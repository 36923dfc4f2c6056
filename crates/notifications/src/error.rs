//! Why an operation on notifications failed.

use cynode_domain::error_class::{Classification, Classified, ErrorClass};
use cynode_resources::servers::SealingError;
use cynode_resources::{PageError, ProjectError};

#[derive(Debug, thiserror::Error)]
pub enum NotificationError {
    #[error("there is no channel \"{0}\"; run `cynork notify channel list`")]
    NoChannel(String),
    #[error("there is no delivery {0}; run `cynork notify dead list`")]
    NoDelivery(String),
    #[error("you have a channel \"{0}\" already: choose another name")]
    Duplicate(String),
    #[error("only a dead delivery can be retried; this one is {0}")]
    NotDead(String),
    #[error("{}", .0.join("; "))]
    Invalid(Vec<String>),
    #[error("no mail server is configured: an administrator sets it with `cynork notify smtp set`")]
    NoMailServer,
    #[error("only an administrator may do this")]
    NotAdmin,
    /// A test was not delivered.
    #[error("not delivered: {0}")]
    Undelivered(String),
    #[error(transparent)]
    Sealing(#[from] SealingError),
    #[error(transparent)]
    Project(#[from] ProjectError),
    #[error(transparent)]
    Page(#[from] PageError),
    #[error(transparent)]
    Store(#[from] cynode_store::Error),
}

impl NotificationError {
    pub(crate) fn invalid(fault: impl Into<String>) -> Self {
        Self::Invalid(vec![fault.into()])
    }
}

impl Classified for NotificationError {
    fn classify(&self) -> Classification<'_> {
        match self {
            Self::NoChannel(_) | Self::NoDelivery(_) => {
                Classification::new(ErrorClass::NotFound, self)
            }
            Self::Duplicate(_) | Self::NotDead(_) | Self::NoMailServer => {
                Classification::new(ErrorClass::Conflict, self)
            }
            Self::Invalid(faults) => Classification::invalid(self, faults),
            Self::NotAdmin => Classification::new(ErrorClass::Forbidden, self),
            Self::Undelivered(_) => Classification::new(ErrorClass::UpstreamFailed, self),
            Self::Sealing(_) => Classification::new(ErrorClass::Unavailable, self),
            Self::Project(error) => error.classify(),
            Self::Page(error) => error.classify(),
            Self::Store(error) => error.classify(),
        }
    }
}
