//! Refusals of calls to models as problems, for people; agents get them in OpenAI's shape.

use cynode_ops::credentials::CredentialError;
use cynode_ops::egress::{CallsError, EgressError, ProviderAdminError};
use cynode_runtime::problem::Kind;

use crate::error::ApiError;

impl From<CredentialError> for ApiError {
    fn from(error: CredentialError) -> Self {
        use CredentialError as E;
        let detail = error.to_string();
        match error {
            E::NotFound => Self::new(Kind::NotFound, detail),
            E::Exists { .. } | E::Conflict => Self::new(Kind::Conflict, detail),
            E::Forbidden(_) => Self::new(Kind::Forbidden, detail),
            E::Invalid(_) | E::Page(_) => Self::new(Kind::Validation, detail),
            // Whoever sets credentials must hear what to do about the key.
            E::KeyMissing { .. }
            | E::KeyUnknown { .. }
            | E::Unopenable { .. }
            | E::KeyFile { .. }
            | E::SecretFile(_)
            | E::KeyFileUnwritable { .. } => Self::new(Kind::Unavailable, detail).caused_by(error),
            error @ E::Seal(_) => Self::internal(error),
            E::Store(error) => error.into(),
        }
    }
}

impl From<ProviderAdminError> for ApiError {
    fn from(error: ProviderAdminError) -> Self {
        use ProviderAdminError as E;
        let detail = error.to_string();
        match error {
            E::NotFound(_) => Self::new(Kind::NotFound, detail),
            E::NotAdmin => Self::new(Kind::Forbidden, detail),
            E::Conflict => Self::new(Kind::Conflict, detail),
            E::Invalid(_) | E::Address(_) | E::Page(_) => Self::new(Kind::Validation, detail),
            E::Egress(error) => error.into(),
            E::Store(error) => error.into(),
        }
    }
}

impl From<CallsError> for ApiError {
    fn from(error: CallsError) -> Self {
        let detail = error.to_string();
        match error {
            CallsError::NotFound => Self::new(Kind::NotFound, detail),
            CallsError::Page(_) => Self::new(Kind::Validation, detail),
            CallsError::Store(error) => error.into(),
        }
    }
}

impl From<EgressError> for ApiError {
    fn from(error: EgressError) -> Self {
        use EgressError as E;
        let detail = error.to_string();
        match error {
            E::NoProvider | E::NoCredential { .. } | E::Provider { .. } | E::GivenUp(_) => {
                Self::new(Kind::Unavailable, detail)
            }
            E::UnknownModel(_) => Self::new(Kind::NotFound, detail),
            E::Ambiguous { .. } => Self::new(Kind::Validation, detail),
            E::Denied(_) | E::OverBudget(_) => Self::new(Kind::Forbidden, detail),
            E::Credential(error) => error.into(),
            E::Preferences(error) => (*error).into(),
            E::Store(error) => error.into(),
        }
    }
}
