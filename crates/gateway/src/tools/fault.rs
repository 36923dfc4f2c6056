//! Why a built-in tool did not do as asked: one exhaustive match for each error of `ops`.

mod state;

use cynode_domain::policy::ErrorKind;
use cynode_ops::analysts::AnalystRequestError;
use cynode_ops::settings::SettingError;
use cynode_ops::{
    ArtifactError, BlobError, MessageError, NodeError, ProjectError, StoreError, TaskError,
    WorkError,
};
use tracing::error;

use crate::recorded::Failure;

/// A tool did not do as asked.
pub(crate) type ToolFault = Failure;

impl ToolFault {
    pub(super) fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidArguments, message)
    }

    pub(super) fn not_found(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::NotFound, message)
    }

    pub(super) fn internal(cause: &(dyn std::error::Error + 'static)) -> Self {
        error!(error = cause, "a built-in tool failed");
        let text = "something failed on our side; the log has the cause";
        Self::new(ErrorKind::InternalError, text)
    }
}

impl From<StoreError> for ToolFault {
    fn from(fault: StoreError) -> Self {
        match &fault {
            StoreError::Unavailable(_) | StoreError::Closed => {
                error!(
                    error = &fault as &dyn std::error::Error,
                    "a built-in tool found no database"
                );
                Self::new(
                    ErrorKind::ServiceUnavailable,
                    "the database does not answer: try again shortly",
                )
            }
            StoreError::NulCharacter => Self::invalid(fault.to_string()),
            StoreError::Duplicate { .. }
            | StoreError::Statement(_)
            | StoreError::Unreadable { .. }
            | StoreError::Quarantined { .. }
            | StoreError::Newer { .. }
            | StoreError::UnknownEngine { .. } => Self::internal(&fault),
        }
    }
}

impl From<BlobError> for ToolFault {
    fn from(fault: BlobError) -> Self {
        match fault {
            BlobError::TooLarge { .. } | BlobError::CutOff => Self::invalid(fault.to_string()),
            BlobError::Missing { .. } => Self::not_found(fault.to_string()),
            BlobError::Disk(_) | BlobError::Damaged { .. } => Self::internal(&fault),
        }
    }
}

impl From<AnalystRequestError> for ToolFault {
    fn from(fault: AnalystRequestError) -> Self {
        use AnalystRequestError as E;
        match fault {
            E::NoJob => Self::not_found(fault.to_string()),
            E::Nothing(_) => Self::invalid(fault.to_string()),
            E::Off => Self::new(ErrorKind::ToolDisabled, fault.to_string()),
            E::Full => Self::new(ErrorKind::ServiceUnavailable, fault.to_string()),
            E::Handoff(_) => Self::internal(&fault),
            E::Store(fault) => fault.into(),
        }
    }
}

impl From<ProjectError> for ToolFault {
    fn from(fault: ProjectError) -> Self {
        use ProjectError as E;
        match fault {
            E::NotFound(_) => Self::not_found(fault.to_string()),
            E::Invalid(_) | E::Page(_) => Self::invalid(fault.to_string()),
            E::Store(fault) => fault.into(),
        }
    }
}

impl From<TaskError> for ToolFault {
    fn from(fault: TaskError) -> Self {
        use TaskError as E;
        match fault {
            E::NotFound(_) => Self::not_found(fault.to_string()),
            E::Invalid(_) | E::Page(_) => Self::invalid(fault.to_string()),
            E::Closed { .. }
            | E::KeyReused { .. }
            | E::DeadDependency { .. }
            | E::Cycle { .. }
            | E::Started
            | E::Judged
            | E::Changed
            | E::NameTaken(_) => Self::new(ErrorKind::Conflict, fault.to_string()),
            E::Weakening(_) => Self::new(ErrorKind::Forbidden, fault.to_string()),
            E::Project(fault) => fault.into(),
            E::Blob(fault) => fault.into(),
            E::Store(fault) => fault.into(),
        }
    }
}

impl From<ArtifactError> for ToolFault {
    fn from(fault: ArtifactError) -> Self {
        use ArtifactError as E;
        match fault {
            E::BadPath(_) => Self::invalid(fault.to_string()),
            E::NotYourJob(_) => Self::new(ErrorKind::Conflict, fault.to_string()),
            E::NotFound(_) => Self::not_found(fault.to_string()),
            E::Task(fault) => fault.into(),
            E::Blob(fault) => fault.into(),
            E::Store(fault) => fault.into(),
        }
    }
}

impl From<NodeError> for ToolFault {
    fn from(fault: NodeError) -> Self {
        use NodeError as E;
        match fault {
            E::NotFound(_) => Self::not_found(fault.to_string()),
            E::Invalid(_) => Self::invalid(fault.to_string()),
            E::BadToken | E::NotAdmin => Self::new(ErrorKind::Forbidden, fault.to_string()),
            E::NotYourJob(_) | E::NameInUse { .. } | E::Superseded(_) | E::IllegalMove(_) => {
                Self::new(ErrorKind::Conflict, fault.to_string())
            }
            E::Secret(_) => Self::internal(&fault),
            E::Store(fault) => fault.into(),
        }
    }
}

impl From<SettingError> for ToolFault {
    fn from(fault: SettingError) -> Self {
        use SettingError as E;
        match fault {
            E::NotFound(_) => Self::not_found(fault.to_string()),
            E::NotAdmin => Self::new(ErrorKind::Forbidden, fault.to_string()),
            E::Conflict { .. } => Self::new(ErrorKind::Conflict, fault.to_string()),
            E::Invalid(_) | E::Page(_) => Self::invalid(fault.to_string()),
            E::Store(fault) => fault.into(),
        }
    }
}

impl From<MessageError> for ToolFault {
    fn from(fault: MessageError) -> Self {
        use MessageError as E;
        match fault {
            E::NotFound(_) | E::NobodyThere { .. } => Self::not_found(fault.to_string()),
            E::Invalid(_) | E::Page(_) | E::Nameless => Self::invalid(fault.to_string()),
            E::OtherRole { .. } | E::NotTheManager(_) => {
                Self::new(ErrorKind::Forbidden, fault.to_string())
            }
            E::RoleTaken(_)
            | E::Ended { .. }
            | E::WaitsForHelp(_)
            | E::KeyReused
            | E::TooMany
            | E::Settled(_)
            | E::NotForPeople(_)
            | E::IllegalMove(_) => Self::new(ErrorKind::Conflict, fault.to_string()),
            E::Task(fault) => fault.into(),
            E::Work(fault) => (*fault).into(),
            E::Store(fault) => fault.into(),
        }
    }
}

impl From<WorkError> for ToolFault {
    fn from(fault: WorkError) -> Self {
        use WorkError as E;
        match fault {
            E::NoPlan | E::NotFound(_) => Self::not_found(fault.to_string()),
            E::Invalid(_) | E::Page(_) => Self::invalid(fault.to_string()),
            E::NotYours { .. } => Self::new(ErrorKind::Forbidden, fault.to_string()),
            E::PlanExists | E::Taken(_) | E::TooManyRevisions(_) | E::IllegalMove(_) => {
                Self::new(ErrorKind::Conflict, fault.to_string())
            }
            E::Message(fault) => fault.into(),
            E::Task(fault) => fault.into(),
            E::Store(fault) => fault.into(),
        }
    }
}
