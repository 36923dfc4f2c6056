//! Server features beside tools: decided, recorded and counted like tool calls.

use cynode_domain::policy::{Effect, ErrorKind};
use cynode_gateway::GatewayOptions;
use serde_json::{Value, json};

use crate::backend::{Entry, rule};
use crate::harness::Harness;

async fn prompt(harness: &Harness, name: &str) -> Value {
    let params = json!({ "name": name });
    let request = harness.modern("/mcp/files", "pm", "prompts/get", params);
    request.send().await.unwrap().json().await.unwrap()
}

/// The value of a counter, by all of its labels.
fn counted(labels: &str) -> u64 {
    let shown = cynode_runtime::metrics::install().unwrap().render();
    let start = format!("cynode_mcp_calls_total{{{labels}}} ");
    shown.lines().find_map(|line| line.strip_prefix(&start)?.parse().ok()).unwrap_or(0)
}

#[tokio::test]
async fn prompts_that_are_handed_on_or_refused_are_in_the_figures() {
    let (allowed, failed, refused) = (
        r#"decision="allow",status="success""#,
        r#"decision="allow",status="error""#,
        r#"decision="deny",stage="rules""#,
    );
    let before = [allowed, failed, refused].map(counted);
    let harness = Harness::new().await;

    prompt(&harness, "echo").await;
    prompt(&harness, "die").await;
    harness.change(|world| world.rules.push(rule(Effect::Deny, "files.prompts/get"))).await;
    let answer = prompt(&harness, "echo").await;

    assert_eq!(answer["error"]["data"]["error"]["type"], "policy_violation");
    let after = [allowed, failed, refused].map(counted);
    assert!(after.iter().zip(before).all(|(after, before)| *after > before), "{after:?}");
}

#[tokio::test]
async fn failures_of_what_is_handed_on_are_told_and_recorded_by_the_kinds_of_tool_calls() {
    let options =
        GatewayOptions { max_response_bytes: 2000, call_timeout_ms: 200, ..Default::default() };
    let harness = Harness::with_options(options).await;
    for (name, kind) in [
        ("die", ErrorKind::ServiceUnavailable),
        ("big", ErrorKind::ResponseTooLarge),
        ("panic", ErrorKind::InternalError),
        ("hang", ErrorKind::Timeout),
    ] {
        let answer = prompt(&harness, name).await;

        let reported = &answer["error"]["data"]["error"];
        assert_eq!(
            (&reported["type"], &reported["stage"]),
            (&json!(kind), &json!("invoke")),
            "{answer}"
        );
        let Some(Entry::Finished(outcome)) = harness.entries().pop() else { panic!("{name}") };
        assert_eq!(outcome.error_type, Some(kind));
    }
}
