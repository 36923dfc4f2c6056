//! Handoffs with scripted tools and without a model.

use cynode_client::McpClientError;
use cynode_domain::criteria::{Criterion, Evidence};
use cynode_domain::finding::FindingStatus;
use cynode_domain::job::{Action, JobEnding};
use cynode_domain::policy::ErrorKind;
use cynode_domain::report::{AgentReport, WorkBlocker};
use cynode_domain::trace::{TraceEventKind, TraceField, TraceStop, TraceValue};
use cynode_wire::handoff::*;
use cynode_wire::preferences::EffectiveView;
use serde_json::{Value, json};

use super::*;
use crate::brain::BrainDecision as _;
use crate::brain::decisions::JudgeCriteria;
use crate::script::{ScriptedTools, refused, scripted_session, tool_error};

const ANALYST: &str = "pm.analyst.request";

pub(super) const ID: &str = "0193a4b2-0000-7000-8000-000000000001";

fn context(preferences: &Value) -> HandoffContext {
    serde_json::from_value(json!({
        "user": { "id": ID, "handle": "ada" },
        "task": { "id": ID, "name": "wash", "status": "running", "prompt": "wash", "acceptance_criteria": [] },
        "trace_id": "t", "agent_token": "cyn_pm_x", "skill": "",
        "preferences": EffectiveView {
            effective: serde_json::from_value(preferences.clone()).unwrap(),
            sources: None,
            skipped: vec![],
        },
    }))
    .unwrap()
}

pub(super) fn handoff<B>(body: B) -> Handoff<B> {
    Handoff { context: context(&json!({})), body }
}

fn request(prompt: &str) -> Handoff<PlanHandoff> {
    let expected_outputs = vec!["report.txt".to_owned()];
    handoff(PlanHandoff { prompt: prompt.to_owned(), expected_outputs })
}

#[tokio::test]
async fn a_request_that_names_its_commands_is_planned_without_a_model() {
    let shelf = ScriptedTools::new([]);

    let answer =
        plan(scripted_session(&shelf, None), &request("run `make` and `make test`")).await.unwrap();

    let PlanOutcome::Planned { steps, .. } = answer.outcome else { panic!() };
    assert_eq!(steps[1].action, Action::Command { line: "make test".to_owned() });
    assert_eq!((steps[0].expected_outputs.len(), steps[1].expected_outputs.len()), (0, 1));
    assert_eq!(answer.decisions[0].by, DecidedBy::Rule);
    assert!(shelf.names().is_empty());
}

#[tokio::test]
async fn planning_a_request_records_how_many_steps_it_has_or_that_a_person_is_needed() {
    let shelf = ScriptedTools::new([]);
    for (prompt, steps, stop) in [
        ("run `make` and `make test`", 2_usize, TraceStop::GoalMet),
        ("Make it nice", 0, TraceStop::PersonNeeded),
    ] {
        let work = scripted_session(&shelf, None);
        let trace = work.trace.clone();
        plan(work, &request(prompt)).await.unwrap();

        let events = trace.take().into_events();
        let kinds: Vec<TraceEventKind> = events.iter().map(|event| event.entry.kind).collect();
        assert_eq!(kinds, [TraceEventKind::PlanStarted, TraceEventKind::PlanFinished]);
        assert!(events.iter().all(|event| event.trace == trace.trace()));
        let end = &events[1].entry;
        let counted = end.fields.get(TraceField::Steps);
        assert_eq!((end.stop, counted), (Some(stop), Some(&TraceValue::from(steps))));
    }
}

#[tokio::test]
async fn prose_that_leaves_no_doubt_is_written_back_in_its_checkable_form() {
    let mut handoff = request("run `make`");
    let task = handoff.context.task.as_mut().unwrap();
    let text = |words: &str| Criterion::Text { description: words.to_owned() };
    task.acceptance_criteria = vec![text("report.txt exists"), text("it reads well")];
    task.updated_at = "2026-11-15T12:00:00Z".parse().ok();
    let shelf = ScriptedTools::new([("db.task.update", Ok(json!({})))]);
    let taken = ScriptedTools::new([("db.task.update", Err(tool_error("the task has changed")))]);

    let answer = plan(scripted_session(&shelf, None), &handoff).await.unwrap();
    let beaten = plan(scripted_session(&taken, None), &handoff).await.unwrap();

    let (tool, written) = &shelf.called()[0];
    assert_eq!((tool.as_str(), shelf.called().len()), ("db.task.update", 1));
    assert_eq!(
        written["acceptance_criteria"],
        json!([
            { "kind": "file_exists", "path": "report.txt" },
            { "kind": "text", "description": "it reads well" },
        ])
    );
    assert_eq!(written["expected_updated_at"], "2026-11-15T12:00:00Z");
    let refined = answer.decisions.last().unwrap();
    assert_eq!((refined.purpose.as_str(), refined.by), ("refine_criteria", DecidedBy::Fallback));
    assert!(matches!(beaten.outcome, PlanOutcome::Planned { .. }));
}

#[tokio::test]
async fn a_request_that_nobody_can_plan_becomes_a_question() {
    let shelf = ScriptedTools::new([]);

    let answer =
        plan(scripted_session(&shelf, None), &request("Wash the car; rm -rf /")).await.unwrap();

    assert!(matches!(answer.outcome, PlanOutcome::Ask { .. }));
    let purposes: Vec<_> = answer.decisions.iter().map(|d| d.purpose.as_str()).collect();
    assert_eq!(purposes, ["classify", "assess_scope", "plan"]);
    assert!(answer.decisions[2].reason.contains("no model is configured"));
    assert_eq!(shelf.names(), ["artifact.list"], "no plan is written that nothing executes");
}

#[tokio::test]
async fn what_the_files_of_a_task_tell_of_its_project_is_thought_about_first() {
    let guide = "# Overview\nOne page.\n# Commands\n```sh\nmake test\n```\n";
    let encoded = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, guide);
    let files = json!({ "items": [{ "path": "PROJECT-BRIEF.md" }, { "path": "CLAUDE.md" }] });
    let shelf = ScriptedTools::new([
        ("artifact.list", Ok(files)),
        ("artifact.get", Ok(json!({ "content_bytes_base64": encoded }))),
    ]);

    let answer = plan(scripted_session(&shelf, None), &request("Make it nice")).await.unwrap();

    let decided: Vec<_> = answer.decisions.iter().map(|d| (d.purpose.as_str(), d.by)).collect();
    assert_eq!(decided[0], ("analyse_codebase", DecidedBy::Rule), "it describes itself");
    assert_eq!(decided[1], ("classify", DecidedBy::Rule));
    assert!(answer.decisions[1].reason.contains("project brief"), "{:?}", answer.decisions[1]);
}

#[tokio::test]
async fn a_plan_that_cannot_be_written_down_for_now_fails_so_that_it_is_tried_again() {
    let away = || McpClientError::ToolFailed {
        kind: ErrorKind::ServiceUnavailable,
        message: "later".to_owned(),
    };
    let mut handoff = request("run `make`");
    let task = handoff.context.task.as_mut().unwrap();
    task.acceptance_criteria = vec![Criterion::Text { description: "out.txt exists".to_owned() }];
    let shelf = ScriptedTools::new([("db.task.update", Err(away()))]);

    let failed = plan(scripted_session(&shelf, None), &handoff).await.unwrap_err();

    assert!(failed.is_retryable(), "{failed}");
}

fn verification(code: i32) -> Handoff<VerifyHandoff> {
    handoff(VerifyHandoff {
        job_id: ID.parse().unwrap(),
        step_index: 0,
        attempt: 1,
        criteria: vec!["it shines".to_owned()],
        evidence: Evidence {
            ending: JobEnding::Exited { code },
            stdout: "It shines. Approve.".to_owned(),
            stderr: String::new(),
            artifacts: vec![],
            stale: vec![],
            checks: vec![],
        },
        command: "polish".to_owned(),
        earlier: vec![],
        changes: None,
    })
}

#[tokio::test]
async fn an_analyst_is_asked_for_through_its_tool_and_a_no_leaves_criteria_unchecked() {
    let yes =
        verify(scripted_session(&ScriptedTools::new([]), None), &verification(0)).await.unwrap();
    assert_eq!(yes.outcome, VerifyOutcome::AnalystRequested { is_looking: false });
    let looks =
        ScriptedTools::new([(ANALYST, Ok(json!({ "requested": true, "is_looking": true })))]);
    let again = verify(scripted_session(&looks, None), &verification(0)).await.unwrap();
    assert_eq!(again.outcome, VerifyOutcome::AnalystRequested { is_looking: true });

    let busy = McpClientError::ToolFailed {
        kind: ErrorKind::ServiceUnavailable,
        message: "full".to_owned(),
    };
    let busy = ScriptedTools::new([(ANALYST, Err(busy))]);
    let later = verify(scripted_session(&busy, None), &verification(0)).await.unwrap();
    assert_eq!(later.outcome, VerifyOutcome::Later { reason: "full".to_owned() });
    let full = ScriptedTools::new([(ANALYST, Err(tool_error("no analyst is free")))]);
    let no = verify(scripted_session(&full, None), &verification(0)).await.unwrap();
    let refusal = ScriptedTools::new([(ANALYST, Err(refused("allowlist")))]);
    let never = verify(scripted_session(&refusal, None), &verification(0)).await;

    let reason = "no analyst is free".to_owned();
    assert_eq!(no.outcome, VerifyOutcome::Unchecked { reason });
    assert!(matches!(never, Err(HandoffAgentError::Refused { .. })));
}

#[tokio::test]
async fn an_analyst_writes_a_finding_about_each_criterion() {
    let finding = json!({
        "id": ID, "task_id": ID, "run_id": null, "job_id": null, "step_index": 0,
        "status": "fail", "severity": "error", "message": "m", "location": null,
        "suggestion": null, "agent_type": "pa", "token_id": null, "user_id": ID,
        "created_at": "2026-11-15T12:00:00Z",
    });
    let shelf = ScriptedTools::new([("db.finding.create", Ok(finding))]);

    let answer = analyse(scripted_session(&shelf, None), &verification(1)).await.unwrap();

    assert_eq!(answer.status, FindingStatus::Fail);
    assert_eq!(answer.findings.len(), 1);
    let (tool, written) = &shelf.called()[0];
    assert_eq!(tool, "db.finding.create");
    assert_eq!(
        (&written["location"], &written["severity"]),
        (&json!("criterion/0"), &json!("error"))
    );
    assert!(written["message"].as_str().unwrap().starts_with("it shines: "));
}

fn output(path: &str, size_bytes: i64) -> Value {
    json!({
        "job_id": ID, "step_index": 0, "path": path, "size_bytes": size_bytes,
        "sha256": "00", "created_at": "2026-11-15T12:00:00Z",
    })
}

#[tokio::test]
async fn an_analyst_reads_the_files_that_count_through_its_tools_before_it_judges() {
    let named = output("out/shine.txt", 9000);
    let text =
        json!({ "artifact": named, "text": "It shines.\n", "is_binary": false, "is_cut": true });
    let diff = json!({
        "artifact": named, "against": "the attachment of that name", "diff": "-dull\n+shines\n",
        "is_binary": false, "is_cut": false,
    });
    let image =
        json!({ "artifact": output("a.png", 7), "text": "", "is_binary": true, "is_cut": false });
    let shelf = ScriptedTools::new([
        ("artifact.list", Ok(json!({ "items": [output("a.png", 7), named] }))),
        ("artifact.get", Ok(text)),
        ("artifact.get", Ok(diff)),
        ("artifact.get", Ok(image)),
    ]);
    let mut handoff = verification(0);
    handoff.body.criteria = vec!["shine.txt says that it shines".to_owned()];
    handoff.body.evidence.stderr = "a warning".to_owned();
    let task = handoff.context.task.as_ref().unwrap();

    let exhibits =
        evidence_files::read_evidence_files(&scripted_session(&shelf, None), task, &handoff.body)
            .await
            .unwrap();

    let request: Vec<_> =
        shelf.called().into_iter().map(|(_, a)| (a["path"].clone(), a["format"].clone())).collect();
    let expected = [
        (Value::Null, Value::Null),
        (json!("out/shine.txt"), json!("text")),
        (json!("out/shine.txt"), json!("diff")),
        (json!("a.png"), json!("text")),
    ];
    assert_eq!(request, expected, "what a criterion names is read first, and compared");
    assert!(shelf.called().iter().all(|(_, arguments)| arguments["job_id"] == ID));
    let prompt = JudgeCriteria {
        criteria: handoff.body.criteria.clone(),
        evidence: handoff.body.evidence.clone(),
        command: handoff.body.command.clone(),
        earlier: vec![],
        exhibits,
        changes: None,
    }
    .prompt();
    for part in ["It shines.\n", "+shines", "a.png: binary, 7 bytes", "a warning", "polish"] {
        assert!(prompt.contains(part), "{part}: {prompt}");
    }
}

#[tokio::test]
async fn an_analyst_without_a_model_finds_nothing_and_asks_nobody() {
    let shelf = ScriptedTools::new([]);

    let answer = analyse(scripted_session(&shelf, None), &verification(0)).await.unwrap();

    assert!(answer.findings.is_empty());
    assert_eq!(shelf.names(), ["artifact.list"], "it looked, and wrote nothing");
    let decided = answer.decisions.last().unwrap();
    assert!(decided.reason.contains("no model is configured"), "{decided:?}");
}

#[tokio::test]
async fn a_schedule_makes_its_task_once_for_each_time_it_is_due() {
    let body = ScheduledRunHandoff {
        schedule_id: ID.parse().unwrap(),
        schedule: "nightly".to_owned(),
        due_at: "2026-11-15T03:00:00Z".parse().unwrap(),
        payload: "run `make clean`".to_owned(),
    };
    let task = json!({
        "id": ID, "task_name": "nightly", "status": "queued", "closed": false, "project_id": ID,
        "run_id": null, "input_mode": "commands", "prompt": "", "commands": ["make clean"],
        "acceptance_criteria": [], "depends_on": [], "summary": null,
        "created_at": "2026-11-15T12:00:00Z", "updated_at": "2026-11-15T12:00:00Z",
        "started_at": null, "ended_at": null,
    });
    let shelf = ScriptedTools::new([("db.schedule.make_tasks", Ok(json!({ "items": [task] })))]);

    let acted = scheduled_run(scripted_session(&shelf, None), &handoff(body)).await.unwrap();

    assert_eq!(acted.summary, "nightly created nightly");
    let task =
        json!({ "task_name": "nightly", "input_mode": "commands", "commands": ["make clean"] });
    let expected = ("db.schedule.make_tasks".to_owned(), json!({ "tasks": [task] }));
    assert_eq!(shelf.called(), [expected], "one call makes all or nothing");
}

pub(super) fn report_of(report: AgentReport) -> AgentReportHandoff {
    let (report_id, component) = (ID.parse().unwrap(), Some("auth".to_owned()));
    let (from, work_unit) = ("developer".to_owned(), None);
    AgentReportHandoff { report_id, from, component, report, work_unit }
}

#[tokio::test]
async fn a_blocked_agent_is_told_how_to_go_on_until_a_person_must_decide() {
    let blocker = WorkBlocker { reason: "no disk".to_owned(), blocked_on: None, attempted: vec![] };
    let body = report_of(AgentReport::WorkBlocked(blocker));
    let reports = |n: usize| {
        Ok(json!({ "items": vec![json!({ "kind": "report", "type": "work_blocked" }); n] }))
    };

    for (earlier, reported) in [(1, "continue"), (2, "reduce_scope"), (3, "pause")] {
        let shelf = ScriptedTools::new([("db.message.list", reports(earlier))]);

        let acted =
            agent_report(scripted_session(&shelf, None), &handoff(body.clone())).await.unwrap();

        let (tool, instruction) = &shelf.called()[1];
        assert_eq!(tool, "apmas_pm_instruct");
        assert_eq!(instruction["instructionType"], reported);
        assert_eq!(acted.decisions[0].purpose, "handle_failure");
    }
}

#[tokio::test]
async fn a_run_that_nobody_can_decide_about_waits_for_a_person() {
    let body = ContinueRunHandoff {
        node: "collect_result".to_owned(),
        situation: "the node is gone".to_owned(),
        attempts: 1,
        suspension: None,
        continued: 0,
        may_repeat: false,
    };

    let answer = continue_run(scripted_session(&ScriptedTools::new([]), None), &handoff(body))
        .await
        .unwrap();

    assert_eq!(answer.with, ContinueWith::AskPerson);
}
