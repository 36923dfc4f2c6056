//! Refusals of the gateway's administration.

use cynode_ops::access::AccessError;
use cynode_ops::agents::AgentError;
use cynode_ops::audit::AuditError;
use cynode_ops::rules::RuleError;
use cynode_ops::settings::SettingError;
use cynode_ops::tools::ToolError;
use cynode_runtime::problem::Kind;

use crate::error::ApiError;

impl From<AgentError> for ApiError {
    fn from(error: AgentError) -> Self {
        use AgentError as E;
        let detail = error.to_string();
        match error {
            E::BadToken => Self::new(Kind::Authentication, detail),
            E::NotAdmin => Self::new(Kind::Forbidden, detail),
            E::NotFound => Self::new(Kind::NotFound, detail),
            E::Invalid(faults) => Self::invalid(faults),
            E::Page(_) => Self::new(Kind::Validation, detail),
            error @ E::Secret(_) => Self::internal(error),
            E::Store(error) => error.into(),
        }
    }
}

impl From<ToolError> for ApiError {
    fn from(error: ToolError) -> Self {
        use ToolError as E;
        let detail = error.to_string();
        match error {
            E::NotFound(_) | E::NoServer(_) => Self::new(Kind::NotFound, detail),
            E::NotAdmin => Self::new(Kind::Forbidden, detail),
            E::Changed | E::Taken(_) => Self::new(Kind::Conflict, detail),
            E::Invalid(faults) => Self::invalid(faults),
            E::Page(_) => Self::new(Kind::Validation, detail),
            E::Store(error) => error.into(),
        }
    }
}

impl From<RuleError> for ApiError {
    fn from(error: RuleError) -> Self {
        use RuleError as E;
        let detail = error.to_string();
        match error {
            E::NotFound => Self::new(Kind::NotFound, detail),
            E::NotAdmin => Self::new(Kind::Forbidden, detail),
            E::NoGroup | E::Pattern(_) | E::Page(_) => Self::new(Kind::Validation, detail),
            E::Store(error) => error.into(),
        }
    }
}

impl From<SettingError> for ApiError {
    fn from(error: SettingError) -> Self {
        use SettingError as E;
        let detail = error.to_string();
        match error {
            E::NotFound(_) => Self::new(Kind::NotFound, detail),
            E::NotAdmin => Self::new(Kind::Forbidden, detail),
            E::Conflict { .. } => Self::new(Kind::Conflict, detail),
            E::Invalid(_) | E::Page(_) => Self::new(Kind::Validation, detail),
            E::Store(error) => error.into(),
        }
    }
}

impl From<AuditError> for ApiError {
    fn from(error: AuditError) -> Self {
        use AuditError as E;
        let detail = error.to_string();
        match error {
            E::NotFound => Self::new(Kind::NotFound, detail),
            E::NotAdmin => Self::new(Kind::Forbidden, detail),
            E::Page(_) => Self::new(Kind::Validation, detail),
            error @ E::Instance { .. } => Self::internal(error),
            E::Store(error) => error.into(),
        }
    }
}

impl From<AccessError> for ApiError {
    fn from(error: AccessError) -> Self {
        use AccessError as E;
        let detail = error.to_string();
        match error {
            E::NotAdmin => Self::new(Kind::Forbidden, detail),
            E::NoUser(_) => Self::new(Kind::NotFound, detail),
            E::Task(error) => error.into(),
            E::Store(error) => error.into(),
        }
    }
}
