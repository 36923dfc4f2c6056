//! Start triggers of a workflow, the start gate, and the context of a new run.

use cynode_domain::ids::TaskId;
use cynode_domain::policy::AgentType;
use cynode_wire::events::EventQuery;
use cynode_wire::workflow::{LoadTask, Outcome};
use serde_json::{Value, json};

use crate::harness::{OrchestratorHarness, refused, task_request};
use crate::mcp::Mcp;

/// The first event of a task.
pub(crate) async fn created(harness: &OrchestratorHarness, task: TaskId) -> Value {
    let query = EventQuery { task: Some(task.to_string()), after: Some("0".to_owned()) };
    let mut events = harness.admin().events(&query, None).await.unwrap();
    let first = events.next().await.unwrap().unwrap();
    assert_eq!(first.kind, "task.created");
    serde_json::to_value(&first).unwrap()["data"].clone()
}

pub(crate) async fn a_task_by_api_starts_without_another_step(harness: OrchestratorHarness) {
    let task = harness.task().await;

    let grant = harness.runner().claim(0).await.unwrap();

    assert_eq!((grant.lease.task_id, Some(grant.run_id)), (task.id, task.run_id));
    assert_eq!(created(&harness, task.id).await["trigger"], "api");
}

pub(crate) async fn a_task_of_an_agent_starts_like_any_other(harness: OrchestratorHarness) {
    let pm = Mcp::agent(&harness, AgentType::Pm).await;
    let runner = harness.runner();
    let body = json!({ "input_mode": "commands", "commands": ["true"], "idempotency_key": "k" });

    let (grant, made) = tokio::join!(runner.claim(30_000), pm.call("db.task.create", body.clone()));
    let again = pm.call("db.task.create", body).await;

    let task: TaskId = serde_json::from_value(made["id"].clone()).unwrap();
    assert_eq!(grant.unwrap().lease.task_id, task);
    assert_eq!(created(&harness, task).await["trigger"], "chat");
    // A second start joins the existing run.
    assert_eq!((&again["id"], &again["run_id"]), (&made["id"], &made["run_id"]));
    assert_eq!(runner.claim(0).await, None);
}

pub(crate) async fn independent_tasks_run_at_once_and_a_joint_one_waits_for_both(
    harness: OrchestratorHarness,
) {
    let (admin, runners) =
        (harness.admin(), [harness.runner(), harness.runner(), harness.runner()]);
    let after = async |on: &[TaskId]| {
        admin.task_create(&task_request(json!({ "depends_on": on }))).await.unwrap().id
    };
    let dig = after(&[]).await;
    let (walls, roof) = (after(&[dig]).await, after(&[dig]).await);
    let paint = after(&[walls, roof]).await;

    let first = runners[0].claim(0).await.unwrap().lease;
    assert_eq!((first.task_id, runners[1].claim(0).await), (dig, None));
    refused(runners[1].start(walls).await, 409);
    runners[0].finish(first, 1, Outcome::Completed).await.unwrap();

    let (one, other) = tokio::join!(runners[0].claim(0), runners[1].claim(0));
    let (one, other) = (one.unwrap().lease, other.unwrap().lease);
    let mut both = [one.task_id, other.task_id];
    both.sort_unstable();
    assert_eq!(both, [walls, roof]);
    runners[0].finish(one, 1, Outcome::Completed).await.unwrap();
    assert_eq!(runners[2].claim(0).await, None);
    runners[1].finish(other, 1, Outcome::Completed).await.unwrap();
    assert_eq!(runners[2].claim(0).await.unwrap().lease.task_id, paint);
}

pub(crate) async fn a_run_is_told_how_hard_to_try(harness: OrchestratorHarness) {
    let pm = Mcp::agent(&harness, AgentType::Pm).await;
    let (task, runner) = (harness.task().await, harness.runner());
    let own =
        harness.admin().task_create(&task_request(json!({ "max_attempts": 2 }))).await.unwrap();
    let prefer = async |scope: Value, key: &str, value: Value| {
        let value_type = if value.is_string() { "string" } else { "number" };
        let mut body = json!({ "key": key, "value": value, "value_type": value_type });
        body.as_object_mut().unwrap().extend(scope.as_object().unwrap().clone());
        assert_eq!(pm.call("db.preference.create", body).await["version"], 1);
    };
    let (user, project) = (
        json!({ "scope_type": "user" }),
        json!({ "scope_type": "project", "scope_id": task.project_id }),
    );
    prefer(user.clone(), "workflow.max_step_retries", json!(7)).await;
    prefer(project.clone(), "workflow.max_step_retries", json!(4)).await;
    prefer(user.clone(), "workflow.node_timeouts.collect_result", json!(900)).await;
    prefer(project, "output.summary_style", json!("concise")).await;

    let reported = runner.client.workflow_call(&LoadTask { task_id: task.id }).await.unwrap();
    let of_own = runner.client.workflow_call(&LoadTask { task_id: own.id }).await.unwrap();

    // A project preference overrides the user's, and the task's own value overrides both.
    assert_eq!((reported.max_attempts, reported.policy.step_attempts), (4, 4));
    assert_eq!((of_own.max_attempts, of_own.policy.step_attempts), (2, 2));
    assert_eq!(reported.policy.timeout_of("collect_result"), Some(900));
    assert_eq!(reported.policy.attempts_at("dispatch_step"), 3);
    assert_eq!(reported.policy.notes, [""; 0]);
    assert_eq!(reported.preferences["output.summary_style"], "concise");
}
