//! The kind of a submission.

use cynode_domain::work_kind::WorkKind;

use super::{Ruling, Submission};

/// Classifies a submission.
pub fn classify(submission: &Submission<'_>) -> Ruling<WorkKind> {
    if submission.is_brief {
        let reason = "there is a project brief".to_owned();
        return Ruling { value: WorkKind::NewProject, is_certain: true, reason };
    }
    let reason = "the default for unclear requests".to_owned();
    Ruling { value: WorkKind::FeatureRequest, is_certain: false, reason }
}
