//! What callers learn of tools that are not theirs, and the records of requests that never become
//! calls.

use std::sync::atomic::Ordering;

use cynode_domain::ids::{ProjectId, TaskId};
use cynode_domain::policy::{Effect, Stage, ToolScope};
use cynode_gateway::GatewayOptions;
use cynode_ops::{access::Audience, access::ToolAccessExplainer as _};
use serde_json::{Value, json};

use crate::backend::{Entry, rule};
use crate::enforcement::{names, pair};
use crate::harness::Harness;

/// The error for a tool, without the name that the caller has sent.
async fn denial_text(
    harness: &Harness,
    path: &str,
    token: &str,
    (tool, arguments): (&str, &str),
) -> String {
    let arguments: Value = serde_json::from_str(arguments).unwrap();
    let params = json!({ "name": tool, "arguments": arguments });
    let response = harness.modern(path, token, "tools/call", params).send().await.unwrap();
    let status = response.status();
    let answer = response.text().await.unwrap().replace(tool, "<name>");
    format!("{status} {answer}")
}

#[tokio::test]
async fn a_private_tool_is_answered_as_an_unknown_one_to_callers_without_permission() {
    let harness = Harness::new().await;
    harness
        .change(|world| {
            let mut by_name =
                |name: &str, change: &dyn Fn(&mut cynode_gateway::snapshot::ToolRow)| {
                    change(world.tools.iter_mut().find(|tool| tool.name == name).unwrap());
                };
            by_name("files.ask", &|tool| tool.scope = ToolScope::Pm);
            by_name("files.big", &|tool| tool.is_enabled = false);
            by_name("files.die", &|tool| tool.needs_review = true);
            let denied = ["files.echo", "files.big", "files.die"];
            world.rules.extend(denied.map(|name| rule(Effect::Deny, name)));
        })
        .await;
    // Valid arguments, arguments that violate the schema, and unreadable ones.
    for arguments in ["{}", r#"{"text":7}"#, "[]"] {
        for (token, name, stage) in [
            ("sandbox", "ask", "scope"),
            ("pm", "echo", "rules"),
            ("pm", "big", "enabled"),
            ("pm", "die", "review"),
        ] {
            let (private, unknown) = (format!("files.{name}"), "files.none");
            let of_private = denial_text(&harness, "/mcp", token, (&private, arguments)).await;
            let Some(Entry::Denied(record)) = harness.entries().pop() else { panic!("{name}") };
            assert_eq!(record.stage.as_str(), stage, "the record has the stage that refused");
            assert_eq!((record.tool.as_str(), record.server.as_str()), (&*private, "files"));
            let of_unknown = denial_text(&harness, "/mcp", token, (unknown, arguments)).await;
            assert_eq!(of_private, of_unknown, "{private} {arguments}");
            let bare = denial_text(&harness, "/mcp/files", token, (name, arguments)).await;
            let bare_unknown =
                denial_text(&harness, "/mcp/files", token, ("none", arguments)).await;
            assert_eq!(bare, bare_unknown, "{private} {arguments}");
        }
    }
    let identity = harness.backend.tokens.lock().unwrap()["pm"].clone();
    let explained = async |tool: &str| {
        let view = harness.gateway.explain(&identity, tool, None, Audience::Caller).await;
        format!("{view:?}").replace(tool, "<name>")
    };
    assert_eq!(explained("files.echo").await, explained("files.none").await);
}

#[tokio::test]
async fn a_server_that_a_caller_may_not_use_is_answered_as_one_that_does_not_exist() {
    let harness = Harness::new().await;
    harness.change(|world| world.rules.push(rule(Effect::Deny, "files.*"))).await;

    for method in ["server/discover", "resources/read", "prompts/get", "prompts/list"] {
        let params = json!({ "uri": "file:///a", "name": "a" });
        let answered = async |path: &str| {
            let mut request = harness.modern(path, "pm", method, json!({}));
            if method.ends_with("read") || method.ends_with("get") {
                let member = if method == "resources/read" { "uri" } else { "name" };
                request = harness.modern(path, "pm", method, json!({ member: params[member] }));
            }
            let response = request.send().await.unwrap();
            (response.status(), response.text().await.unwrap())
        };
        assert_eq!(answered("/mcp/files").await, answered("/mcp/none").await, "{method}");
    }
    let opened = async |path: &str| {
        let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {} });
        let body = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
        let response = harness.post(path, "pm").json(&body).send().await.unwrap();
        response.text().await.unwrap()
    };
    assert_eq!(opened("/mcp/files").await, opened("/mcp/none").await);
}

#[tokio::test]
async fn a_token_of_one_task_lists_and_reaches_no_tool_that_changes_skills() {
    let harness = Harness::new().await;
    let task = TaskId::generate();
    harness.bind("pm", |identity| {
        (identity.task, identity.project) = (Some(task), Some(ProjectId::generate()));
    });

    let listed = names(&harness, "pm").await;

    for tool in ["skills.create", "skills.update", "skills.delete"] {
        let refused = harness.refusal("pm", tool, json!({})).await;
        assert_eq!(refused, pair("allowlist", "agent_allowlist_denied"), "{tool}");
        assert!(!listed.contains(&tool.to_owned()));
    }
    assert!(
        listed.contains(&"skills.get".to_owned()) && listed.contains(&"skills.list".to_owned())
    );
}

#[tokio::test]
async fn a_scope_id_that_is_not_the_callers_is_recorded_as_a_denial() {
    let harness = Harness::new().await;
    let (task, project) = (TaskId::generate(), ProjectId::generate());
    harness.backend.tasks.lock().unwrap().insert(task, project);
    harness.bind("pm", |identity| {
        (identity.task, identity.project) = (Some(task), Some(project));
    });
    for (kind, id) in [
        ("task", TaskId::generate().to_string()),
        ("project", ProjectId::generate().to_string()),
        ("user", TaskId::generate().to_string()),
        ("group", TaskId::generate().to_string()),
    ] {
        let arguments = json!({ "scope_type": kind, "scope_id": id });

        let refused = harness.refusal("pm", "db.preference.list", arguments).await;

        assert_eq!(refused, pair("context", "context_mismatch"), "{kind}");
        let Some(Entry::Denied(record)) = harness.entries().pop() else { panic!("{kind}") };
        assert_eq!(record.stage, Stage::Context, "{kind}");
    }
}

#[tokio::test]
async fn requests_that_are_rejected_without_a_call_are_on_record_in_sum() {
    let options = GatewayOptions {
        max_request_bytes: 1024,
        requests_per_second: 1,
        request_burst: 12,
        ..GatewayOptions::default()
    };
    let harness = Harness::with_options(options).await;
    let ask = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {} });
    for _ in 0..3 {
        harness.post("/mcp", "pm").body("x".repeat(100_000)).send().await.unwrap();
        let wrong = harness.post("/mcp", "pm").header("mcp-session-id", "of-somebody-else");
        wrong.json(&ask).send().await.unwrap();
        let mismatch = harness.modern("/mcp", "pm", "tools/list", json!({}));
        mismatch.header("mcp-method", "ping").send().await.unwrap();
        harness.post("/mcp", "nobody").json(&ask).send().await.unwrap();
        harness.post("/mcp", "pm").body("{").send().await.unwrap();
    }
    while harness.post("/mcp", "user").body("{").send().await.unwrap().status() != 429 {}
    let evil = harness.post("/mcp", "pm").header("host", "evil.example").json(&ask);
    evil.send().await.unwrap();
    assert!(harness.entries().is_empty(), "nothing is written for each of them");

    // A failed write is retried later.
    harness.backend.is_full.store(true, Ordering::SeqCst);
    harness.gateway.flush_rejections().await;
    harness.backend.is_full.store(false, Ordering::SeqCst);
    harness.gateway.flush_rejections().await;
    harness.gateway.flush_rejections().await;

    let summary = |entry: Entry| match entry {
        Entry::Rejected(summary) => (summary.reason, summary.peers),
        Entry::Denied(_) | Entry::Begun(_) | Entry::Finished(_) => panic!("{entry:?}"),
    };
    let entries = harness.entries();
    let recorded: std::collections::BTreeMap<_, _> = entries.iter().cloned().map(summary).collect();
    assert_eq!(recorded.len(), entries.len(), "one for each reason: {entries:?}");
    for (reason, peer, count) in [
        ("payload_too_large", "unknown", 3),
        ("wrong_session", "agent", 3),
        ("header_mismatch", "agent", 3),
        ("unauthenticated", "unknown", 3),
        ("malformed_message", "agent", 3),
        ("too_many_requests", "user", 1),
        ("foreign_host", "unknown", 1),
    ] {
        assert_eq!(recorded[reason][peer], count, "{reason}: {recorded:?}");
    }
}
