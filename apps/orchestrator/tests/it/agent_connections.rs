//! Connections of agents to hosts: the node that holds the job records them, and nothing else does.

use cynode_client::Client;
use cynode_domain::ids::{JobId, TaskId};
use cynode_domain::job::Action;
use cynode_domain::plan::Step;
use cynode_wire::changes::{ChangeQuery, ChangeView};
use cynode_wire::nodes::{AGENTS_FEATURE, JobConnectionEvent, RecordConnection};
use cynode_wire::workflow::DispatchStep;

use crate::actors::{HarnessNode, registration};
use crate::harness::{OrchestratorHarness, refused};

pub(crate) async fn agent_node(harness: &OrchestratorHarness, slug: &str) -> HarnessNode {
    let mut body = registration(slug, true);
    body.capabilities.sandbox.features.push(AGENTS_FEATURE.to_owned());
    HarnessNode::join(harness, &body).await.unwrap()
}

/// A job of an agent that `node` holds.
async fn agent_job(harness: &OrchestratorHarness, node: &HarnessNode) -> JobId {
    let task = harness.task().await.id;
    agent_job_of(harness, node, task).await
}

/// A job of an agent of this task that `node` holds.
pub(crate) async fn agent_job_of(
    harness: &OrchestratorHarness,
    node: &HarnessNode,
    task: TaskId,
) -> JobId {
    let runner = harness.runner();
    let lease = runner.start(task).await.unwrap().lease;
    let step = Step::new(Action::Agent {
        prompt: "mend it".to_owned(),
        criteria: vec![],
        model_hint: None,
    });
    let body = DispatchStep { lease, step_index: 0, attempt: 1, step };
    let job = runner.client.workflow_call(&body).await.unwrap().job_id;
    assert_eq!(node.take().await, job);
    job
}

fn opened() -> RecordConnection {
    let event = JobConnectionEvent::Opened { address: "192.0.2.7:443".parse().unwrap() };
    RecordConnection { target: "api.example.com:443".to_owned(), event }
}

fn refusal(target: &str, reason: &str) -> RecordConnection {
    let event = JobConnectionEvent::Refused { reason: reason.to_owned() };
    RecordConnection { target: target.to_owned(), event }
}

fn closed() -> RecordConnection {
    let event =
        JobConnectionEvent::Closed { reason: None, sent: 5, received: 7, open_for_ms: 1_250 };
    RecordConnection { event, ..opened() }
}

async fn records(client: &Client) -> Vec<ChangeView> {
    let query = ChangeQuery {
        resource_type: Some("agent.connection".to_owned()),
        ..ChangeQuery::default()
    };
    client.access_changes(&query).await.unwrap().items
}

pub(crate) async fn connections_of_an_agent_are_in_the_access_log(harness: OrchestratorHarness) {
    let node = agent_node(&harness, "anvil").await;
    let job = agent_job(&harness, &node).await;
    let refused_one = refusal("other.example:80", "the host is not allowed");

    for record in [&opened(), &refused_one] {
        node.client.node_record_connection(job, record).await.unwrap();
    }
    node.end(job, 0).await.unwrap();
    // A connection may end after its job.
    node.client.node_record_connection(job, &closed()).await.unwrap();

    let found = records(&harness.admin()).await;
    let shown: Vec<_> =
        found.iter().map(|it| (it.action.as_str(), it.reason.as_deref().unwrap())).collect();
    assert_eq!(
        shown,
        [
            ("agent.disconnect", "api.example.com:443 after 1.2 s, 5 bytes sent, 7 received"),
            ("agent.refuse", "other.example:80 the host is not allowed"),
            ("agent.connect", "api.example.com:443 at 192.0.2.7:443"),
        ]
    );
    for record in &found {
        assert_eq!(record.resource, job.to_string());
        assert!(record.changed_by.is_some(), "{record:?}");
    }
}

pub(crate) async fn only_the_holder_of_an_open_job_of_an_agent_records_connections(
    harness: OrchestratorHarness,
) {
    let (node, other) = (agent_node(&harness, "anvil").await, agent_node(&harness, "other").await);
    let job = agent_job(&harness, &node).await;
    let record = async |client: &Client, job: JobId, record: &RecordConnection| {
        client.node_record_connection(job, record).await
    };

    let admin = harness.admin().with_incarnation(node.process);
    for stranger in [&other.client, &node.other_process().client, &admin] {
        for event in [opened(), closed()] {
            assert!(record(stranger, job, &event).await.is_err());
        }
    }
    refused(record(&node.client, JobId::generate(), &opened()).await, 409);
    let long = "x".repeat(301);
    for odd in
        [refusal(&long, ""), refusal("a", &long), refusal("a\nb", ""), refusal("a", "\u{1b}[1m")]
    {
        refused(record(&node.client, job, &odd).await, 400);
    }
    node.end(job, 0).await.unwrap();
    refused(record(&node.client, job, &opened()).await, 409);

    assert_eq!(records(&harness.admin()).await, []);
}
