//! The scope of a submission.

use cynode_domain::project_context::ProjectContext;
use cynode_domain::work_kind::{WorkKind, WorkScope};

use super::{Ruling, Submission};

/// Assesses the scope of a submission of this kind; the project's context is not known for every submission.
pub fn assess_scope(
    _submission: &Submission<'_>,
    kind: WorkKind,
    _project: Option<&ProjectContext>,
) -> Ruling<WorkScope> {
    let (value, is_certain, reason) = match kind {
        WorkKind::NewProject => (WorkScope::Large, true, "a new project needs every part"),
        WorkKind::FeatureRequest => (WorkScope::Medium, false, "the default for features"),
        WorkKind::QuickFix => (WorkScope::Small, false, "the default for fixes"),
    };
    Ruling { value, is_certain, reason: reason.to_owned() }
}
