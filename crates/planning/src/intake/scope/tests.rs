//! The scope of single submissions.

use super::*;

fn scope(text: &str, kind: WorkKind) -> WorkScope {
    assess_scope(&Submission { text, labels: &[], is_brief: false }, kind, None).value
}

#[test]
fn each_scope_has_its_cues() {
    assert_eq!(scope("fix a typo", WorkKind::QuickFix), WorkScope::Trivial);
    assert_eq!(scope("Add a --json flag", WorkKind::FeatureRequest), WorkScope::Small);
    assert_eq!(scope("Add a page with statistics", WorkKind::FeatureRequest), WorkScope::Medium);
    assert_eq!(scope("Log JSON in all services", WorkKind::FeatureRequest), WorkScope::Large);
    assert_eq!(scope("A shop", WorkKind::NewProject), WorkScope::Large);
}
