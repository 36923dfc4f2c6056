//! What a refusal looks like on the wire: one exhaustive match for each error of `ops`.
//!
//! Clients get a kind and a safe sentence; the log gets the whole chain, once.

use std::error::Error as StdError;
use std::sync::Arc;

use axum::response::{IntoResponse, Response};
use cynode_ops::chat::ThreadError;
use cynode_ops::runs::RunError;
use cynode_ops::schedules::ScheduleError;
use cynode_ops::{
    AccountError, ArtifactError, BlobError, EventError, NodeError, ProjectError, TaskError,
    WorkflowError,
};
use cynode_runtime::problem::Kind;
use http::StatusCode;

type Cause = Arc<dyn StdError + Send + Sync>;

/// A refusal on its way out; [`crate::edge`] gives it its body and trace id.
#[derive(Debug, Clone)]
pub(crate) struct ApiError {
    pub(crate) kind: Kind,
    pub(crate) detail: String,
    pub(crate) errors: Vec<String>,
    pub(crate) cause: Option<Cause>,
}

impl ApiError {
    pub(crate) fn new(kind: Kind, detail: impl Into<String>) -> Self {
        Self { kind, detail: detail.into(), errors: vec![], cause: None }
    }

    pub(crate) fn caused_by(mut self, cause: impl StdError + Send + Sync + 'static) -> Self {
        self.cause = Some(Arc::new(cause));
        self
    }

    pub(crate) fn invalid(faults: Vec<String>) -> Self {
        let detail = match faults.as_slice() {
            [only] => only.clone(),
            many => format!("the request has {} faults: {}", many.len(), many.join("; ")),
        };
        Self { errors: faults, ..Self::new(Kind::Validation, detail) }
    }

    pub(crate) fn internal(cause: impl StdError + Send + Sync + 'static) -> Self {
        Self::new(Kind::Internal, "something failed on our side; the log has the cause")
            .caused_by(cause)
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.kind.status());
        let mut response = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR).into_response();
        response.extensions_mut().insert(self);
        response
    }
}

impl From<cynode_ops::StoreError> for ApiError {
    fn from(error: cynode_ops::StoreError) -> Self {
        use cynode_ops::StoreError as E;
        match error {
            error @ (E::Unavailable(_) | E::Closed) => {
                Self::new(Kind::Unavailable, "the database does not answer: try again shortly")
                    .caused_by(error)
            }
            E::NulCharacter => Self::new(Kind::Validation, error.to_string()),
            E::Quarantined { ref table, ref key, ref column, .. } => {
                // The reason may quote what is stored: it is for the log and for administrators.
                let detail = format!(
                    "row {key} of table {table} cannot be read: column {column} holds something this \
                     version does not understand. It is quarantined: an administrator repairs or \
                     deletes it in the database. `cynork status` lists such rows"
                );
                Self::new(Kind::Internal, detail).caused_by(error)
            }
            error @ (E::Duplicate { .. }
            | E::Statement(_)
            | E::Unreadable { .. }
            | E::Newer { .. }
            | E::UnknownEngine { .. }) => Self::internal(error),
        }
    }
}

impl From<BlobError> for ApiError {
    fn from(error: BlobError) -> Self {
        match error {
            BlobError::TooLarge { .. } => Self::new(Kind::TooLarge, error.to_string()),
            BlobError::CutOff => Self::new(Kind::Validation, error.to_string()),
            BlobError::Missing { .. } => Self::new(Kind::NotFound, error.to_string()),
            BlobError::Damaged { .. } => {
                Self::new(Kind::Internal, error.to_string()).caused_by(error)
            }
            BlobError::Disk(_) => Self::internal(error),
        }
    }
}

impl From<AccountError> for ApiError {
    fn from(error: AccountError) -> Self {
        use AccountError as E;
        let detail = error.to_string();
        match error {
            E::WrongCredentials | E::BadToken => Self::new(Kind::Authentication, detail),
            E::TooManyAttempts => Self::new(Kind::RateLimited, detail),
            E::NotAdmin => Self::new(Kind::Forbidden, detail),
            E::Invalid(faults) => Self::invalid(faults),
            E::HandleTaken(_) => Self::new(Kind::Conflict, detail),
            E::NoSuchToken => Self::new(Kind::NotFound, detail),
            E::Page(_) => Self::new(Kind::Validation, detail),
            error @ E::Secret(_) => Self::internal(error),
            E::Store(error) => error.into(),
        }
    }
}

impl From<ProjectError> for ApiError {
    fn from(error: ProjectError) -> Self {
        use ProjectError as E;
        let detail = error.to_string();
        match error {
            E::NotFound(_) => Self::new(Kind::NotFound, detail),
            E::Invalid(faults) => Self::invalid(faults),
            E::Page(_) => Self::new(Kind::Validation, detail),
            E::Store(error) => error.into(),
        }
    }
}

impl From<ScheduleError> for ApiError {
    fn from(error: ScheduleError) -> Self {
        use ScheduleError as E;
        let detail = error.to_string();
        match error {
            E::NotFound(_) => Self::new(Kind::NotFound, detail),
            E::Ambiguous(_)
            | E::NameTaken(_)
            | E::TooMany
            | E::TooManyOpen(_)
            | E::TooFarAhead
            | E::NothingAhead(_) => Self::new(Kind::Conflict, detail),
            E::Invalid(faults) => Self::invalid(faults),
            E::Page(_) => Self::new(Kind::Validation, detail),
            E::Project(error) => error.into(),
            E::Store(error) => error.into(),
        }
    }
}

impl From<TaskError> for ApiError {
    fn from(error: TaskError) -> Self {
        use TaskError as E;
        let detail = error.to_string();
        match error {
            E::NotFound(_) => Self::new(Kind::NotFound, detail),
            E::Invalid(faults) => Self::invalid(faults),
            E::Closed { .. }
            | E::KeyReused { .. }
            | E::DeadDependency { .. }
            | E::Cycle { .. }
            | E::Started
            | E::Judged
            | E::Changed
            | E::NameTaken(_) => Self::new(Kind::Conflict, detail),
            E::Weakening(_) => Self::new(Kind::Forbidden, detail),
            E::Page(_) => Self::new(Kind::Validation, detail),
            E::Project(error) => error.into(),
            E::Blob(error) => error.into(),
            E::Store(error) => error.into(),
        }
    }
}

impl From<RunError> for ApiError {
    fn from(error: RunError) -> Self {
        use RunError as E;
        let detail = error.to_string();
        match error {
            E::NotFound(_) | E::NoRow { .. } => Self::new(Kind::NotFound, detail),
            E::Refused(_) => Self::new(Kind::Conflict, detail),
            E::Invalid(faults) => Self::invalid(faults),
            E::Page(_) => Self::new(Kind::Validation, detail),
            E::Task(error) => error.into(),
            E::Project(error) => error.into(),
            E::Store(error) => error.into(),
        }
    }
}

impl From<ArtifactError> for ApiError {
    fn from(error: ArtifactError) -> Self {
        use ArtifactError as E;
        let detail = error.to_string();
        match error {
            E::BadPath(_) => Self::new(Kind::Validation, detail),
            E::NotYourJob(_) => Self::new(Kind::Conflict, detail),
            E::NotFound(_) => Self::new(Kind::NotFound, detail),
            E::Task(error) => error.into(),
            E::Blob(error) => error.into(),
            E::Store(error) => error.into(),
        }
    }
}

impl From<NodeError> for ApiError {
    fn from(error: NodeError) -> Self {
        use NodeError as E;
        let detail = error.to_string();
        match error {
            E::BadToken => Self::new(Kind::Authentication, detail),
            E::NotFound(_) => Self::new(Kind::NotFound, detail),
            E::NotAdmin => Self::new(Kind::Forbidden, detail),
            E::Invalid(faults) => Self::invalid(faults),
            E::NotYourJob(_) | E::NameInUse { .. } | E::Superseded(_) | E::IllegalMove(_) => {
                Self::new(Kind::Conflict, detail)
            }
            error @ E::Secret(_) => Self::internal(error),
            E::Store(error) => error.into(),
        }
    }
}

impl From<WorkflowError> for ApiError {
    fn from(error: WorkflowError) -> Self {
        use WorkflowError as E;
        let detail = error.to_string();
        match error {
            E::NoTask(_) | E::NoJob(_) | E::NoCheckpoint(_) => Self::new(Kind::NotFound, detail),
            // To a runner, every conflict means the same: the task is not, or no longer, its own.
            E::Held { .. } | E::Gate { .. } | E::Fenced(_) | E::OutOfOrder { .. } => {
                Self::new(Kind::Conflict, detail)
            }
            E::Invalid(_) | E::StillRunning(_) => Self::new(Kind::Validation, detail),
            E::NoAnalyst(_) => Self::new(Kind::Unavailable, detail),
            error @ E::Judge(_) => Self::internal(error),
            E::Store(error) => error.into(),
        }
    }
}

impl From<EventError> for ApiError {
    fn from(error: EventError) -> Self {
        match error {
            EventError::BadCursor(_) => Self::new(Kind::Validation, error.to_string()),
            EventError::BadToken => Self::new(Kind::Authentication, error.to_string()),
            EventError::Task(error) => error.into(),
            EventError::Store(error) => error.into(),
        }
    }
}

impl From<ThreadError> for ApiError {
    fn from(error: ThreadError) -> Self {
        use ThreadError as E;
        let detail = error.to_string();
        match error {
            E::NotFound(_) => Self::new(Kind::NotFound, detail),
            E::Invalid(_) | E::Page(_) => Self::new(Kind::Validation, detail),
            E::Project(error) => error.into(),
            E::Store(error) => error.into(),
        }
    }
}
