//! The kind of single submissions.

use super::*;

fn kind(text: &str) -> WorkKind {
    classify(&Submission { text, labels: &[], is_brief: false }).value
}

#[test]
fn the_request_decides_and_not_its_words() {
    assert_eq!(kind("Add a fix for the crash in the importer"), WorkKind::QuickFix);
    assert_eq!(kind("Add an error page"), WorkKind::FeatureRequest);
    assert_eq!(kind("Create a new project page"), WorkKind::FeatureRequest);
    assert_eq!(kind("Create a new project for invoices"), WorkKind::NewProject);
    assert_eq!(kind("Support ticket form crashes"), WorkKind::QuickFix);
}

#[test]
fn a_brief_is_a_new_project_whatever_it_says() {
    let brief = Submission { text: "Fix the crash", labels: &["bug".to_owned()], is_brief: true };

    assert_eq!(classify(&brief).value, WorkKind::NewProject);
    assert!(classify(&brief).is_certain);
}

#[test]
fn the_reason_names_the_deciding_cues() {
    let labels = ["bug".to_owned()];
    let submission =
        Submission { text: "Fix the crash on login", labels: &labels, is_brief: false };
    let ruling = classify(&submission);

    assert!(ruling.is_certain);
    assert_eq!(ruling.reason, "it has the label \"bug\", the verb \"fix\"");
}
