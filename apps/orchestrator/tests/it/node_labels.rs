//! Tasks choose worker nodes by labels and memory.

use serde_json::json;

use crate::actors::{HarnessNode, registration};
use crate::harness::{OrchestratorHarness, create_commands_task, task_request};

/// A node with labels.
async fn labelled_node(
    harness: &OrchestratorHarness,
    slug: &str,
    labels: &[(&str, &str)],
) -> HarnessNode {
    let mut request = registration(slug, true);
    let labels = labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    request.capabilities.labels = labels.collect();
    let node = HarnessNode::join(harness, &request).await.unwrap();
    node.poll(&[]).await;
    node
}

pub(crate) async fn a_task_runs_on_a_node_with_the_labels_that_it_demands(
    harness: OrchestratorHarness,
) {
    let (admin, runner) = (harness.admin(), harness.runner());
    let american = labelled_node(&harness, "american", &[("zone", "us")]).await;
    let body = json!({ "task_name": "near", "node_labels": { "zone": "eu", "arch": "x86_64" } });
    admin.task_create(&task_request(body)).await.unwrap();
    let large = json!({ "task_name": "large", "limits": { "memory_mib": 8192 } });
    admin.task_create(&task_request(large)).await.unwrap();
    for _ in 0..2 {
        let lease = runner.claim(0).await.unwrap().lease;
        runner.dispatch(lease, 0).await.unwrap();
    }
    let blocked =
        async |task: &str| admin.task_get(task).await.unwrap().blocked_reason.unwrap_or_default();

    assert_eq!(american.poll(&[]).await.assignments, []);
    let reason = blocked("near").await;
    let labels = "with the label arch=x86_64 and the label zone=eu: there is none";
    assert!(reason.contains(labels), "{reason}");
    let reason = blocked("large").await;
    assert!(reason.contains("with 8192 MiB of memory: there is none"), "{reason}");

    let european = labelled_node(&harness, "european", &[("zone", "eu"), ("disk", "fast")]).await;

    assert_eq!(american.poll(&[]).await.assignments, []);
    let job = european.take().await;
    assert_eq!(blocked("near").await, "");
    european.end(job, 0).await.unwrap();
    let shown = admin.node_get("european").await.unwrap();
    assert_eq!(shown.capabilities.labels.get("disk").map(String::as_str), Some("fast"));
}

pub(crate) async fn labels_that_are_invalid_or_those_of_a_machine_are_rejected(
    harness: OrchestratorHarness,
) {
    let admin = harness.admin();
    for (fields, expected) in [
        (json!({ "node_labels": { "zone": "e u" } }), "zone=e u"),
        (json!({ "node_labels": { "zone": "eu" }, "node": "any" }), "exclude each other"),
    ] {
        let error = admin.task_create(&task_request(fields)).await.unwrap_err();
        assert_eq!(error.status(), Some(400), "{error:?}");
        assert!(error.to_string().contains(expected), "{error}");
    }
    let mut request = registration("liar", true);
    request.capabilities.labels = [("arch".to_owned(), "riscv64".to_owned())].into();

    let Err(error) = HarnessNode::join(&harness, &request).await else {
        panic!("a node was given a label of its machine");
    };

    assert_eq!(error.status(), Some(400), "{error:?}");
    admin.task_create(&create_commands_task(&["true"])).await.unwrap();
}
