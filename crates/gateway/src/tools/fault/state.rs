//! The errors of what tools keep: preferences, notes, skills, findings, runs and sandboxes.

use cynode_domain::policy::ErrorKind;
use cynode_ops::findings::FindingError;
use cynode_ops::memory::MemoryError;
use cynode_ops::preferences::PreferenceError;
use cynode_ops::runs::RunError;
use cynode_ops::sandboxes::SandboxError;
use cynode_ops::schedules::ScheduleError;
use cynode_ops::skills::SkillError;

use super::ToolFault;

impl From<PreferenceError> for ToolFault {
    fn from(fault: PreferenceError) -> Self {
        use PreferenceError as E;
        match fault {
            E::NotFound { .. } => Self::not_found(fault.to_string()),
            E::Exists { .. } | E::Conflict { .. } => {
                Self::new(ErrorKind::Conflict, fault.to_string())
            }
            E::Forbidden(_) => Self::new(ErrorKind::Forbidden, fault.to_string()),
            E::Scope(_) | E::Invalid(_) | E::Page(_) => Self::invalid(fault.to_string()),
            E::Task(fault) => fault.into(),
            E::Project(fault) => fault.into(),
            E::Store(fault) => fault.into(),
        }
    }
}

impl From<ScheduleError> for ToolFault {
    fn from(fault: ScheduleError) -> Self {
        use ScheduleError as E;
        match fault {
            E::NotFound(_) => Self::not_found(fault.to_string()),
            E::Ambiguous(_)
            | E::NameTaken(_)
            | E::TooMany
            | E::TooManyOpen(_)
            | E::TooFarAhead
            | E::NothingAhead(_) => Self::new(ErrorKind::Conflict, fault.to_string()),
            E::Invalid(_) | E::Page(_) => Self::invalid(fault.to_string()),
            E::Project(fault) => fault.into(),
            E::Store(fault) => fault.into(),
        }
    }
}

impl From<MemoryError> for ToolFault {
    fn from(fault: MemoryError) -> Self {
        use MemoryError as E;
        match fault {
            E::NoJob(_) | E::NotFound(_) => Self::not_found(fault.to_string()),
            E::Ended(_) => Self::new(ErrorKind::Conflict, fault.to_string()),
            E::Invalid(_) | E::Page(_) => Self::invalid(fault.to_string()),
            E::Store(fault) => fault.into(),
        }
    }
}

impl From<SkillError> for ToolFault {
    fn from(fault: SkillError) -> Self {
        use SkillError as E;
        match fault {
            E::NotFound(_) => Self::not_found(fault.to_string()),
            E::Forbidden(_) => Self::new(ErrorKind::Forbidden, fault.to_string()),
            E::Hostile(_) => Self::new(ErrorKind::PolicyViolation, fault.to_string()),
            E::Conflict => Self::new(ErrorKind::Conflict, fault.to_string()),
            E::Invalid(_) | E::Page(_) => Self::invalid(fault.to_string()),
            E::Project(fault) => fault.into(),
            E::Store(fault) => fault.into(),
        }
    }
}

impl From<FindingError> for ToolFault {
    fn from(fault: FindingError) -> Self {
        use FindingError as E;
        match fault {
            E::NotFound(_) => Self::not_found(fault.to_string()),
            E::Invalid(_) | E::Page(_) => Self::invalid(fault.to_string()),
            E::NotVerifier(_) => Self::new(ErrorKind::Forbidden, fault.to_string()),
            E::Task(fault) => fault.into(),
            E::Store(fault) => fault.into(),
        }
    }
}

impl From<RunError> for ToolFault {
    fn from(fault: RunError) -> Self {
        use RunError as E;
        match fault {
            E::NotFound(_) | E::NoRow { .. } => Self::not_found(fault.to_string()),
            E::Refused(_) => Self::new(ErrorKind::Conflict, fault.to_string()),
            E::Invalid(_) | E::Page(_) => Self::invalid(fault.to_string()),
            E::Task(fault) => fault.into(),
            E::Project(fault) => fault.into(),
            E::Store(fault) => fault.into(),
        }
    }
}

impl From<SandboxError> for ToolFault {
    fn from(fault: SandboxError) -> Self {
        use SandboxError as E;
        match fault {
            E::NotFound(_) | E::NoExec(_) => Self::not_found(fault.to_string()),
            E::Destroyed
            | E::Closed { .. }
            | E::Halted(_)
            | E::TooMany(_)
            | E::Elsewhere { .. }
            | E::File(_) => Self::new(ErrorKind::Conflict, fault.to_string()),
            E::Invalid(_) => Self::invalid(fault.to_string()),
            E::Task(fault) => fault.into(),
            E::Store(fault) => fault.into(),
        }
    }
}
