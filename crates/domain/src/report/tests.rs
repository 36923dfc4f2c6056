//! Deserialisation and validation of reports.

use serde_json::{Value, json};

use super::*;

fn read(kind: &str, payload: &Value) -> Result<AgentReport, String> {
    serde_json::from_value(json!({ "messageType": kind, "payload": payload }))
        .map_err(|fault| fault.to_string())
}

fn faults(kind: &str, payload: &Value) -> Vec<String> {
    read(kind, payload).unwrap().validation_errors()
}

fn issue() -> Value {
    json!({ "description": "off by one", "fileLocation": "src/a.rs:7", "howToFix": "count from 0" })
}

#[test]
fn every_report_type_has_a_payload_that_fits_it() {
    let question = json!({ "question": "blue or green?", "options": ["blue", "green"] });
    let approved = json!({ "verdict": "approved", "summary": "good", "minorIssues": [issue()] });
    let changes =
        json!({ "verdict": "changes_requested", "summary": "no", "criticalIssues": [issue()] });
    let payloads = [
        json!({ "summary": "added a toggle", "filesModified": ["a.rs"] }),
        approved,
        changes,
        json!({ "total": 3, "passed": 3, "failed": 0 }),
        json!({ "total": 3, "passed": 2, "failed": 1, "failures": [{ "name": "t" }] }),
        json!({ "reason": "no database", "attempted": ["started it"] }),
        question.clone(),
        question,
    ];
    assert_eq!(payloads.len(), ReportKind::ALL.len());
    for (kind, payload) in ReportKind::ALL.iter().zip(&payloads) {
        let report = read(kind.as_str(), payload).unwrap();

        assert_eq!((report.kind(), report.validation_errors()), (*kind, vec![]));
        assert!(!report.headline().is_empty());
    }
}

#[test]
fn a_payload_of_another_type_is_refused() {
    let tests = json!({ "total": 1, "passed": 1, "failed": 0 });
    for kind in ReportKind::ALL {
        let fits = matches!(kind, ReportKind::TestsPassed | ReportKind::TestsFailed);
        assert_eq!(read(kind.as_str(), &tests).is_ok(), fits, "{kind}");
    }
    assert!(read("made_up", &tests).is_err());
    assert!(read("work_completed", &json!({ "summary": "s", "extra": 1 })).is_err());
}

#[test]
fn a_payload_that_contradicts_its_type_is_refused() {
    let approved = json!({ "verdict": "approved", "summary": "s" });
    let changes = json!({ "verdict": "changes_requested", "summary": "s" });

    assert_eq!(faults("review_approved", &changes), ["verdict must be approved"]);
    assert_eq!(
        faults("review_changes_requested", &approved),
        [
            "verdict must be changes_requested",
            "a review that requests changes must have at least one issue"
        ]
    );
    let failed = json!({ "total": 2, "passed": 1, "failed": 1 });
    assert_eq!(faults("tests_passed", &failed), ["tests_passed requires failed to be 0"]);
    let passed = json!({ "total": 1, "passed": 2, "failed": 0 });
    assert_eq!(
        faults("tests_failed", &passed),
        ["passed plus failed exceeds total", "tests_failed requires failed to be at least 1"]
    );
}

#[test]
fn oversize_payloads_are_refused() {
    let long = "x".repeat(MAX_TEXT_BYTES + 1);
    let many: Vec<_> = (0..=MAX_ITEMS).map(|n| n.to_string()).collect();

    assert_eq!(faults("work_completed", &json!({ "summary": long })).len(), 1);
    assert_eq!(faults("work_completed", &json!({ "summary": " " })), ["summary is empty"]);
    let files = json!({ "summary": "s", "filesModified": many });
    assert_eq!(faults("work_completed", &files), ["filesModified has more than 200 items"]);
}

#[test]
fn minor_issues_are_not_handed_on() {
    let feedback = json!({
        "verdict": "changes_requested", "summary": "s",
        "majorIssues": [issue()], "minorIssues": [issue()],
    });
    let feedback: ReviewFeedback = serde_json::from_value(feedback).unwrap();

    let handed_on = feedback.clone().without_minor();

    assert_eq!((feedback.issues().count(), handed_on.issues().count()), (2, 1));
}
