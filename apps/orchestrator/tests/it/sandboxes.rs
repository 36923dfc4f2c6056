//! Reaching into workspaces through tools, with nodes that a test plays.

use cynode_domain::policy::AgentType;
use cynode_wire::agents::BindingView;
use serde_json::{Value, json};

use crate::actors::HarnessNode;
use crate::harness::{OrchestratorHarness, create_commands_task};
use crate::mcp::{Mcp, issue};

/// Ends the next job that this node is given.
pub(crate) async fn work(node: &HarnessNode) -> cynode_wire::nodes::Assignment {
    let mut news = node.poll_for(&[], 30_000).await;
    let given = news.assignments.remove(0);
    node.poll(&[given.job_id]).await;
    node.end(given.job_id, 0).await.unwrap();
    given
}

pub(crate) async fn a_command_in_a_sandbox_is_a_job_that_is_none_of_the_steps(
    harness: OrchestratorHarness,
) {
    let (node, task) = (harness.node("anvil").await, harness.task().await.id);
    let manager = Mcp::agent(&harness, AgentType::Pm).await;

    let open = manager.call("sandbox.create", json!({ "task_id": task }));
    let (opened, _) = tokio::join!(open, work(&node));
    assert_eq!((&opened["status"], &opened["node_slug"]), (&json!("ready"), &json!("anvil")));
    let at = |more: Value| {
        let mut arguments = json!({ "task_id": task, "job_id": opened["job_id"] });
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        arguments
    };
    let exec = manager.call("sandbox.exec", at(json!({ "command": "ls", "timeout_s": 5 })));
    let (ran, given) = tokio::join!(exec, work(&node));
    let put = at(json!({ "path": "a b", "content_bytes_base64": "eA==" }));
    let (put, written) = tokio::join!(manager.call("sandbox.put_file", put), work(&node));
    let logs = manager.call("sandbox.stream_logs", at(json!({}))).await;
    let images = manager.call("sandbox.allowed_images.list", json!({})).await;
    let destroyed = manager.call("sandbox.destroy", at(json!({}))).await;

    assert_eq!((&ran["exit_code"], &ran["stdout"]), (&json!(0), &json!("out\n")), "{ran:#}");
    assert_eq!((given.task_id, given.limits.timeout_s), (task, 5));
    assert_eq!(put["size_bytes"], 1);
    assert!(json!(written.action).to_string().contains("'./a b'"), "{written:?}");
    assert_eq!((&logs["exec_id"], &logs["ended"]), (&put["exec_id"], &json!(true)), "{logs:#}");
    assert_eq!(images["items"][0]["image_ref"], "host");
    assert_eq!(destroyed["destroyed"], true);
    let jobs = harness.admin().task_result(&task.to_string()).await.unwrap().jobs;
    let execs: Vec<_> = jobs.iter().map(|job| (job.exec, job.attempt)).collect();
    assert_eq!(execs, [(Some(1), 0), (Some(2), 0), (Some(3), 0)]);
    // The run begins with its own first step, on the same node.
    let runner = harness.runner();
    let lease = runner.claim(0).await.unwrap().lease;
    let step = runner.dispatch(lease, 0).await.unwrap();
    assert_eq!(node.take().await, step);
}

pub(crate) async fn a_task_that_names_its_node_waits_for_it(harness: OrchestratorHarness) {
    let (admin, here) = (harness.admin(), harness.node("here").await);
    let there = HarnessNode::register(&harness, "there", true).await;
    let mut body = create_commands_task(&["true"]);
    body.node = Some("there".to_owned());
    let task = admin.task_create(&body).await.unwrap();
    let runner = harness.runner();
    let lease = runner.claim(0).await.unwrap().lease;

    let job = runner.dispatch(lease, 0).await.unwrap();

    assert!(here.poll(&[]).await.assignments.is_empty());
    let view = admin.task_get(&task.id.to_string()).await.unwrap();
    let reason = view.blocked_reason.unwrap_or_default();
    assert_eq!(reason, "waiting for node \"there\", which is offline");
    assert_eq!(there.take().await, job);
    body.node = Some("moon".to_owned());
    let refused = admin.task_create(&body).await.unwrap_err().to_string();
    assert!(refused.contains("there are: here, there"), "{refused}");
}

pub(crate) async fn sandboxes_are_for_the_project_manager_and_open_tasks(
    harness: OrchestratorHarness,
) {
    let task = harness.task().await.id;
    let job_id = {
        let runner = harness.runner();
        let lease = runner.claim(0).await.unwrap().lease;
        Some(runner.dispatch(lease, 0).await.unwrap())
    };
    let binding = BindingView { task_id: Some(task), job_id, ..BindingView::default() };
    let of_task = BindingView { job_id: None, ..binding };
    for (agent, binding) in [(AgentType::Pa, of_task), (AgentType::Sandbox, binding)] {
        let token = issue(&harness, agent, binding).await;
        let refused = Mcp::at(&harness.url(), &token.secret)
            .answer("sandbox.create", json!({ "task_id": task }))
            .await;
        assert!(refused.to_string().contains("allowlist"), "{refused:#}");
    }

    harness.admin().task_cancel(&task.to_string()).await.unwrap();
    let manager = Mcp::agent(&harness, AgentType::Pm).await;
    let closed = manager.answer("sandbox.create", json!({ "task_id": task })).await;

    assert!(closed.to_string().contains("the task is canceled; retry its run"), "{closed:#}");
}
