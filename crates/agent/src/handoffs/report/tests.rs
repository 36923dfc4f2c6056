//! Reports with scripted tools: the decisions and the actions.

use cynode_client::McpClientError;
use cynode_domain::policy::ErrorKind;
use cynode_domain::report::{
    AgentQuestion, CompletedWork, ReviewFeedback, ReviewIssue, TestResults, Verdict, WorkBlocker,
};
use cynode_wire::handoff::{DecidedBy, Handoff};

use super::*;
use crate::handoffs::tests::{ID, handoff, report_of};
use crate::script::{ScriptedTools, scripted_session};
use serde_json::{Value, json};

fn no_unit() -> McpClientError {
    McpClientError::ToolFailed { kind: ErrorKind::NotFound, message: "no such unit".to_owned() }
}

fn unit(id: &str, kind: &str, (status, revisions): (&str, u32)) -> Value {
    json!({
        "task_id": ID, "work_unit_id": id, "component": "auth", "type": kind, "status": status,
        "assigned_role": "developer", "parent_work_unit_id": null, "artifact_path": "a.rs",
        "summary": "s", "metadata": null, "notes": null, "revision_count": revisions,
        "revision_feedback": null, "assigned_at": null, "completed_at": null,
        "updated_at": "2026-11-15T12:00:00Z",
    })
}

fn completed_report(summary: &str) -> AgentReport {
    AgentReport::WorkCompleted(CompletedWork {
        files_modified: vec!["src/auth.rs".to_owned()],
        summary: summary.to_owned(),
        artifact_path: None,
        work_unit_id: Some("impl:auth".to_owned()),
    })
}

fn review(major: usize) -> AgentReport {
    let issue = |n: usize| ReviewIssue {
        description: format!("issue {n}"),
        file_location: "src/auth.rs:1".to_owned(),
        how_to_fix: "mend it".to_owned(),
    };
    AgentReport::ReviewChangesRequested(ReviewFeedback {
        verdict: Verdict::ChangesRequested,
        critical_issues: vec![],
        major_issues: (0..major).map(issue).collect(),
        minor_issues: vec![issue(9)],
        summary: "not yet".to_owned(),
    })
}

fn reviewed(report: AgentReport) -> Handoff<AgentReportHandoff> {
    let mut body = report_of(report);
    body.from = "reviewer".to_owned();
    handoff(body)
}

fn purposes(answer: &ActedAnswer) -> Vec<&str> {
    answer.decisions.iter().map(|decided| decided.purpose.as_str()).collect()
}

fn message_page(items: &Value) -> Value {
    json!({ "items": items })
}

#[tokio::test]
async fn completed_work_is_reviewed_and_stays_handed_in_where_nobody_can_look() {
    let submitted = unit("impl:auth", "implementation", ("submitted", 0));
    let shelf = ScriptedTools::new([("db.work_unit.get", Ok(submitted))]);

    let answer = agent_report(
        scripted_session(&shelf, None),
        &handoff(report_of(completed_report("did it"))),
    )
    .await
    .unwrap();

    assert_eq!(purposes(&answer), ["review_artifact"]);
    assert_eq!(answer.decisions[0].by, DecidedBy::Fallback);
    assert!(answer.summary.contains("impl:auth stays submitted"), "{}", answer.summary);
    assert!(answer.needs_person.is_some());
    assert_eq!(shelf.names(), ["db.message.list", "db.work_unit.get"], "nothing is decided");
}

#[tokio::test]
async fn empty_work_is_sent_back_by_rule_with_what_is_wrong() {
    let submitted = unit("impl:auth", "implementation", ("submitted", 1));
    let shelf = ScriptedTools::new([("db.work_unit.get", Ok(submitted))]);
    let AgentReport::WorkCompleted(mut empty) = completed_report(" ") else { panic!() };
    empty.files_modified.clear();

    let body = report_of(AgentReport::WorkCompleted(empty));
    let answer = agent_report(scripted_session(&shelf, None), &handoff(body)).await.unwrap();

    let (tool, routed) = shelf.called().pop().unwrap();
    assert_eq!((tool.as_str(), &routed["decision"]), ("apmas_route_work", &json!("revision")));
    assert_eq!(routed["feedback"]["criticalIssues"][0]["description"], "it is empty");
    assert_eq!(answer.decisions[0].by, DecidedBy::Rule);
}

#[tokio::test]
async fn a_unit_that_was_not_handed_in_is_asked_for() {
    let begun = unit("impl:auth", "implementation", ("in_progress", 0));
    let shelf = ScriptedTools::new([("db.work_unit.get", Ok(begun))]);

    agent_report(scripted_session(&shelf, None), &handoff(report_of(completed_report("did it"))))
        .await
        .unwrap();

    let (tool, reported) = shelf.called().pop().unwrap();
    assert_eq!((tool.as_str(), &reported["toAgent"]), ("apmas_pm_instruct", &json!("developer")));
    assert_eq!(reported["idempotencyKey"], format!("report/{ID}"));
    assert!(reported["instructions"].as_str().unwrap().contains("apmas_submit_work"));
}

#[tokio::test]
async fn changes_are_wanted_of_a_unit_twice_at_most() {
    for (revisions, decided, tool) in
        [(1, vec![], "apmas_route_work"), (2, vec!["review_cap_exceeded"], "apmas_pm_instruct")]
    {
        let routed = unit("impl:auth", "implementation", ("routed", revisions));
        let shelf = ScriptedTools::new([("db.work_unit.get", Ok(routed))]);

        let answer =
            agent_report(scripted_session(&shelf, None), &reviewed(review(1))).await.unwrap();

        assert_eq!(purposes(&answer), decided);
        let (called, body) = shelf.called().pop().unwrap();
        assert_eq!(called, tool, "{}", answer.summary);
        let is_last = revisions == 2;
        // The orchestrator removes minor issues from what it forwards for a unit.
        let has_minor = body.to_string().contains("issue 9");
        assert!(!(is_last && has_minor), "a minor issue was forwarded: {body}");
        assert_eq!(answer.needs_person.is_some(), is_last);
    }
}

#[tokio::test]
async fn after_the_last_round_what_matters_little_is_noted_if_tests_pass() {
    let passed = json!([{ "kind": "report", "type": "tests_passed", "component": "auth" }]);
    let routed = unit("impl:auth", "implementation", ("routed", 2));
    let shelf = ScriptedTools::new([
        ("db.message.list", Ok(message_page(&passed))),
        ("db.work_unit.get", Ok(routed)),
    ]);

    let answer = agent_report(scripted_session(&shelf, None), &reviewed(review(0))).await.unwrap();

    let (tool, decision) = shelf.called().pop().unwrap();
    assert_eq!((tool.as_str(), &decision["decision"]), ("apmas_route_work", &json!("approve")));
    assert_eq!(decision["notes"], "src/auth.rs:1: issue 9");
    assert!(answer.needs_person.is_none(), "{answer:?}");
}

#[tokio::test]
async fn changes_go_to_whoever_did_the_work_where_there_is_no_plan() {
    let reported = json!({
        "kind": "instruction", "type": "revise", "recipient": "developer", "sender": "pm",
        "payload": { "component": "auth" },
    });
    let did = |role: &str| json!({ "kind": "report", "type": "work_completed", "sender": role });
    for (earlier, expected) in [(0, "revise"), (1, "revise"), (2, "pause")] {
        let mut messages = vec![reported.clone(); earlier];
        messages.extend([did("designer"), did("developer"), did("reviewer")]);
        let shelf = ScriptedTools::new([
            ("db.message.list", Ok(message_page(&json!(messages)))),
            ("db.work_unit.get", Err(no_unit())),
        ]);

        let answer =
            agent_report(scripted_session(&shelf, None), &reviewed(review(1))).await.unwrap();

        assert_eq!(purposes(&answer)[0], "route_ambiguity");
        let (tool, instruction) = shelf.called().pop().unwrap();
        assert_eq!(tool, "apmas_pm_instruct");
        assert_eq!(instruction["toAgent"], "developer");
        assert_eq!(instruction["instructionType"], expected, "{earlier}");
    }
}

#[tokio::test]
async fn an_approval_asks_for_the_tests_that_must_pass() {
    let did = json!([{
        "kind": "report", "type": "work_completed", "sender": "developer", "component": "auth",
        "payload": { "filesModified": ["src/auth.rs"] },
    }]);
    let shelf = ScriptedTools::new([
        ("db.message.list", Ok(message_page(&did))),
        ("db.work_unit.get", Err(no_unit())),
        ("db.work_unit.get", Err(no_unit())),
    ]);
    let approval = AgentReport::ReviewApproved(ReviewFeedback {
        verdict: Verdict::Approved,
        critical_issues: vec![],
        major_issues: vec![],
        minor_issues: vec![],
        summary: "fine".to_owned(),
    });

    let answer = agent_report(scripted_session(&shelf, None), &reviewed(approval)).await.unwrap();

    assert_eq!(purposes(&answer), ["route_ambiguity", "tests_needed"]);
    let (_, reported) = shelf.called().pop().unwrap();
    assert_eq!(
        (&reported["toAgent"], &reported["instructionType"]),
        (&json!("developer"), &json!("continue"))
    );
    let words = reported["instructions"].as_str().unwrap();
    assert!(words.contains("Run the tests of what you changed"), "{words}");
    assert!(words.contains("tests_passed or tests_failed"), "{words}");
}

#[tokio::test]
async fn an_approval_or_passed_tests_close_the_unit_that_was_handed_in_without_notes() {
    let approval = AgentReport::ReviewApproved(ReviewFeedback {
        verdict: Verdict::Approved,
        critical_issues: vec![],
        major_issues: vec![],
        minor_issues: vec![],
        summary: "fine".to_owned(),
    });
    let passed =
        AgentReport::TestsPassed(TestResults { total: 2, passed: 2, failed: 0, failures: vec![] });
    for (id, kind, report) in [("review:auth", "review", approval), ("test:auth", "test", passed)] {
        let found = Ok(unit(id, kind, ("submitted", 0)));
        let shelf =
            ScriptedTools::new([("db.work_unit.get", found), ("db.work_unit.get", Err(no_unit()))]);

        agent_report(scripted_session(&shelf, None), &reviewed(report)).await.unwrap();

        let routed = shelf.called().into_iter().find(|(tool, _)| tool == "apmas_route_work");
        let expected = json!({ "task_id": ID, "workUnitId": id, "decision": "approve" });
        assert_eq!(routed.unwrap().1, expected);
    }
}

#[tokio::test]
async fn a_question_that_no_model_answers_waits_for_a_person() {
    let shelf = ScriptedTools::new([]);
    let request =
        AgentQuestion { question: "Which colour?".to_owned(), options: vec![], context: None };
    let body = report_of(AgentReport::NeedsClarification(request));

    let answer = agent_report(scripted_session(&shelf, None), &handoff(body)).await.unwrap();

    assert_eq!(purposes(&answer), ["clarify"]);
    assert!(answer.needs_person.unwrap().contains("Which colour?"));
    assert_eq!(shelf.names(), ["db.message.list"], "the agent is told nothing");
}

#[tokio::test]
async fn an_agent_that_was_told_to_wait_still_needs_a_person_when_its_report_comes_again() {
    let reported =
        json!([{ "kind": "instruction", "type": "pause", "payload": { "report_id": ID } }]);
    let shelf = ScriptedTools::new([("db.message.list", Ok(message_page(&reported)))]);

    let answer = agent_report(
        scripted_session(&shelf, None),
        &handoff(report_of(completed_report("did it"))),
    )
    .await
    .unwrap();

    assert!(answer.needs_person.is_some(), "{answer:?}");
}

#[tokio::test]
async fn a_blocked_unit_goes_on_with_its_agent() {
    let blocked = unit("impl:auth", "implementation", ("blocked", 0));
    let shelf = ScriptedTools::new([("db.work_unit.get", Ok(blocked))]);
    let obstacle =
        WorkBlocker { reason: "no disk".to_owned(), blocked_on: None, attempted: vec![] };
    let mut body = report_of(AgentReport::WorkBlocked(obstacle));
    body.work_unit = Some("impl:auth".to_owned());

    agent_report(scripted_session(&shelf, None), &handoff(body)).await.unwrap();

    let tools = ["db.message.list", "db.work_unit.get", "apmas_route_work", "apmas_pm_instruct"];
    assert_eq!(shelf.names(), tools);
    assert_eq!(shelf.called()[2].1["decision"], "resume");
}

#[tokio::test]
async fn tests_that_fail_are_told_to_whoever_did_the_work() {
    let did = json!([{ "kind": "report", "type": "work_completed", "sender": "developer" }]);
    let shelf = ScriptedTools::new([("db.message.list", Ok(message_page(&did)))]);
    let failed =
        AgentReport::TestsFailed(TestResults { total: 2, passed: 1, failed: 1, failures: vec![] });
    let mut body = report_of(failed);
    body.from = "tester".to_owned();

    let answer = agent_report(scripted_session(&shelf, None), &handoff(body)).await.unwrap();

    assert_eq!(purposes(&answer), ["route_ambiguity", "handle_failure"]);
    assert_eq!(shelf.called().pop().unwrap().1["toAgent"], "developer");
}

#[tokio::test]
async fn a_report_that_was_answered_tells_nobody_again() {
    let reported =
        json!([{ "kind": "instruction", "type": "continue", "payload": { "report_id": ID } }]);
    let shelf = ScriptedTools::new([("db.message.list", Ok(message_page(&reported)))]);

    let answer = agent_report(
        scripted_session(&shelf, None),
        &handoff(report_of(completed_report("did it"))),
    )
    .await
    .unwrap();

    assert_eq!(shelf.names(), ["db.message.list"]);
    assert!(answer.decisions.is_empty() && answer.summary.contains("before"));
}
