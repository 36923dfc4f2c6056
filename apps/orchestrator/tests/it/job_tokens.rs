//! Tokens of a job's agents end with the job, however it ends.

use std::time::Duration;

use cynode_domain::ids::{JobId, TaskId};
use cynode_domain::policy::AgentType;
use cynode_wire::agents::{BindingView, IssueAgentToken};
use cynode_wire::page::PageQuery;
use serde_json::json;

use crate::harness::{OrchestratorHarness, eventually, refused};
use crate::mcp::{Mcp, issue};

/// A job that waits for a node.
async fn queued(harness: &OrchestratorHarness) -> (TaskId, JobId) {
    let (task, runner) = (harness.task().await.id, harness.runner());
    let lease = runner.start(task).await.unwrap().lease;
    (task, runner.dispatch(lease, 0).await.unwrap())
}

fn bound(task: TaskId, job: JobId) -> BindingView {
    BindingView { task_id: Some(task), job_id: Some(job), ..BindingView::default() }
}

/// An agent of a job, whose token the gateway has seen and remembers.
async fn agent_of(harness: &OrchestratorHarness, task: TaskId, job: JobId) -> Mcp {
    let issued = issue(harness, AgentType::Sandbox, bound(task, job)).await;
    let agent = Mcp::at(&harness.url(), &issued.secret);
    assert_eq!(agent.call("help.get", json!({})).await["topic"], "overview");
    agent
}

async fn assert_ends(harness: &OrchestratorHarness, agent: &Mcp) {
    eventually("the token is refused", async || (!agent.is_token_accepted().await).then_some(()))
        .await;
    let listed = harness.admin().agent_token_list(&PageQuery::default()).await.unwrap().items;
    assert!(listed.iter().all(|token| token.revoked_at.is_some()), "{listed:?}");
}

pub(crate) async fn an_agents_token_ends_when_its_job_is_reported(harness: OrchestratorHarness) {
    let node = harness.node("anvil").await;
    let (task, job) = queued(&harness).await;
    let (taken, agent) = (node.take().await, agent_of(&harness, task, job).await);
    let other = Mcp::agent(&harness, AgentType::Pm).await;

    node.end(taken, 0).await.unwrap();

    eventually("the token is refused", async || (!agent.is_token_accepted().await).then_some(()))
        .await;
    assert!(other.is_token_accepted().await);
    let late = IssueAgentToken {
        agent_type: AgentType::Sandbox,
        name: "late".to_owned(),
        user_id: None,
        expires_in_seconds: None,
        binding: bound(task, job),
    };
    let problem = refused(harness.admin().agent_token_issue(&late).await, 400);
    assert!(problem.detail.contains("a job that has ended"), "{problem:?}");
}

pub(crate) async fn an_agents_token_ends_when_its_waiting_job_is_canceled(
    harness: OrchestratorHarness,
) {
    let (task, job) = queued(&harness).await;
    let agent = agent_of(&harness, task, job).await;

    harness.admin().task_cancel(&task.to_string()).await.unwrap();

    assert_ends(&harness, &agent).await;
}

pub(crate) async fn an_agents_token_ends_when_its_canceled_job_never_arrived(
    harness: OrchestratorHarness,
) {
    let node = harness.node("anvil").await;
    let (task, job) = queued(&harness).await;
    let agent = agent_of(&harness, task, job).await;
    assert_eq!(node.poll(&[]).await.assignments.len(), 1);
    harness.admin().task_cancel(&task.to_string()).await.unwrap();

    node.poll(&[]).await;

    assert_ends(&harness, &agent).await;
}

pub(crate) async fn an_agents_token_ends_when_the_node_of_its_job_falls_silent(
    harness: OrchestratorHarness,
) {
    let harness = harness.restart_with(|options| options.job_lease_ms = 1_000).await;
    let node = harness.node("anvil").await;
    let (task, job) = queued(&harness).await;
    let agent = agent_of(&harness, task, job).await;

    node.take().await;

    assert_ends(&harness, &agent).await;
}

pub(crate) async fn agent_tokens_are_forgotten_a_month_after_their_end(
    harness: OrchestratorHarness,
) {
    issue(&harness, AgentType::Pm, BindingView::default()).await;

    harness.clock.advance(Duration::from_hours(31 * 24));

    let page = PageQuery::default();
    let admin = harness.admin();
    let none = async || {
        let listed = admin.agent_token_list(&page).await.unwrap().items;
        listed.is_empty().then_some(())
    };
    eventually("the token is forgotten", none).await;
}
