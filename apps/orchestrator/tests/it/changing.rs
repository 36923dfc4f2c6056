//! Changing tasks that are under way: by people, by agents, and too late.

use cynode_domain::criteria::Criterion;
use cynode_domain::policy::AgentType;
use cynode_domain::verdict::VerdictStatus;
use cynode_wire::tasks::{TaskView, UpdateTask};
use cynode_wire::workflow::SaveCheckpoint;
use serde_json::{Value, json};

use crate::actors::checkpoint;
use crate::harness::{OrchestratorHarness, refused, task_request};
use crate::mcp::Mcp;

fn criteria(value: Value) -> UpdateTask {
    let acceptance_criteria = Some(serde_json::from_value(value).unwrap());
    UpdateTask { acceptance_criteria, ..UpdateTask::default() }
}

/// A task with two criteria, one of them in prose.
async fn task(harness: &OrchestratorHarness) -> TaskView {
    let body = task_request(json!({ "acceptance_criteria": [
        { "kind": "text", "description": "the file report.txt exists" },
        { "kind": "output_matches", "pattern": "ok" },
    ]}));
    harness.admin().task_create(&body).await.unwrap()
}

pub(crate) async fn a_person_changes_an_open_task_unless_somebody_else_just_did(
    harness: OrchestratorHarness,
) {
    let (admin, task) = (harness.admin(), task(&harness).await);
    let name = task.task_name.as_str();
    let other = harness.task().await.task_name;

    let less = UpdateTask {
        task_name: Some("Build it".to_owned()),
        expected_updated_at: Some(task.updated_at),
        ..criteria(json!([]))
    };
    let changed = admin.task_update(name, &less).await.unwrap();
    let same = UpdateTask { expected_updated_at: None, ..less.clone() };
    let again = admin.task_update("build-it", &same).await.unwrap();

    assert_eq!((changed.task_name.as_str(), changed.acceptance_criteria.len()), ("build-it", 0));
    assert!(changed.updated_at > task.updated_at);
    assert_eq!(again, changed, "what is asked for already changes nothing");
    let problem = refused(admin.task_update("build-it", &less).await, 409);
    assert!(problem.detail.starts_with("the task has changed since"), "{}", problem.detail);
    let taken = UpdateTask { task_name: Some(other), ..UpdateTask::default() };
    refused(admin.task_update("build-it", &taken).await, 409);
    refused(admin.task_update("build-it", &UpdateTask::default()).await, 400);
    let stranger = harness.user("bob").await;
    refused(stranger.task_update(&task.id.to_string(), &criteria(json!([]))).await, 404);
    admin.task_cancel("build-it").await.unwrap();
    refused(admin.task_update("build-it", &criteria(json!([]))).await, 409);
}

pub(crate) async fn an_agent_sharpens_and_adds_criteria_and_takes_none_away(
    harness: OrchestratorHarness,
) {
    let task = task(&harness).await;
    let pm = Mcp::agent(&harness, AgentType::Pm).await;
    let update = async |criteria: Value| {
        let arguments = json!({ "task_id": task.id, "acceptance_criteria": criteria });
        pm.answer("db.task.update", arguments).await["result"].clone()
    };
    let file = json!({ "kind": "file_exists", "path": "report.txt" });
    let output = json!({ "kind": "output_matches", "pattern": "ok" });
    let added = json!({ "kind": "command_succeeds", "command": "test -s report.txt" });

    for weaker in [
        json!([]),
        json!([file]),
        json!([file, { "kind": "output_matches", "pattern": "." }]),
        json!([{ "kind": "text", "description": "it is nice" }, output]),
        json!([file, output, { "kind": "exit_code", "equals": 1 }]),
    ] {
        let refused = update(weaker.clone()).await;
        assert_eq!(refused["isError"], true, "{weaker}: {refused}");
        assert_eq!(refused["structuredContent"]["error"]["type"], "forbidden", "{refused}");
    }
    let seen = harness.admin().task_get(&task.task_name).await.unwrap();
    assert_eq!(seen.acceptance_criteria, task.acceptance_criteria);
    let sharper = update(json!([file, output, added])).await["structuredContent"].clone();

    assert_eq!(sharper["acceptance_criteria"], json!([file, output, added]), "{sharper}");
    let past = harness.admin().task_get(&task.task_name).await.unwrap();
    assert_eq!(past.acceptance_criteria.len(), 3);
}

pub(crate) async fn criteria_stand_while_the_last_result_is_judged(harness: OrchestratorHarness) {
    let (admin, runner) = (harness.admin(), harness.runner());
    let task = task(&harness).await;
    let name = task.task_name.as_str();
    let lease = runner.claim(0).await.unwrap().lease;
    let step = json!({ "action": { "kind": "command", "line": "make" }, "expected_outputs": [] });
    let at = |sequence, node: &str, edge: &str| SaveCheckpoint {
        last_node_id: node.to_owned(),
        edge: edge.to_owned(),
        state: Some(json!({
            "plan": { "steps": [step], "assumptions": [] }, "current_step_index": 0,
        })),
        ..checkpoint(lease, sequence)
    };
    let running = at(1, "dispatch_step", "dispatched");
    runner.client.workflow_call(&running).await.unwrap();
    admin.task_update(name, &criteria(json!([]))).await.unwrap();
    let collected = at(2, "collect_result", "collected");
    runner.client.workflow_call(&collected).await.unwrap();

    let late = criteria(json!([{ "kind": "exit_code", "equals": 1 }]));
    let problem = refused(admin.task_update(name, &late).await, 409);

    assert!(
        problem
            .detail
            .contains("is already being verified against the current criteria: fork the run")
    );
    let renamed = UpdateTask { task_name: Some("other".to_owned()), ..UpdateTask::default() };
    assert_eq!(admin.task_update(name, &renamed).await.unwrap().task_name, "other");
}

pub(crate) async fn prose_that_leaves_no_doubt_is_judged_by_rule(harness: OrchestratorHarness) {
    let (runner, node) = (harness.runner(), harness.node("anvil").await);
    let body = task_request(json!({ "acceptance_criteria": [
        { "kind": "text", "description": "the file report.txt exists" },
        { "kind": "text", "description": "it reads well" },
    ]}));
    let task = harness.admin().task_create(&body).await.unwrap();
    let lease = runner.claim(0).await.unwrap().lease;
    runner.dispatch(lease, 0).await.unwrap();
    let job = node.take().await;
    node.end(job, 0).await.unwrap();

    let verdict = runner.verify(lease, job).await.unwrap();

    let rules: Vec<_> = verdict.findings.iter().map(|finding| finding.rule.as_str()).collect();
    assert_eq!(rules, ["exit_code", "file_exists", "text"]);
    assert_eq!(verdict.status, VerdictStatus::Fail);
    let kept = harness.admin().task_get(&task.id.to_string()).await.unwrap().acceptance_criteria;
    assert!(matches!(kept[0], Criterion::Text { .. }), "what a person said stays as it was said");
}
