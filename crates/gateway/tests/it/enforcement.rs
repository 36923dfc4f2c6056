//! Decisions about calls, and their audit records.

use std::sync::atomic::Ordering;

use cynode_domain::ids::{ProjectId, TaskId};
use cynode_domain::policy::allowlist::SETTING_GATES;
use cynode_domain::policy::{Effect, ErrorKind, Stage};
use cynode_gateway::GatewayOptions;
use cynode_gateway::tools::ToolSideEffect;
use cynode_ops::{access::Audience, access::ToolAccessExplainer as _};
use serde_json::{Value, json};

use crate::backend::{Entry, rule};
use crate::harness::Harness;

pub(crate) fn pair(stage: &str, kind: &str) -> (String, String) {
    (stage.to_owned(), kind.to_owned())
}

pub(crate) async fn names(harness: &Harness, token: &str) -> Vec<String> {
    let response = harness.modern("/mcp", token, "tools/list", json!({})).send().await.unwrap();
    let list: Value = response.json().await.unwrap();
    let name = |tool: &Value| tool["name"].as_str().unwrap().to_owned();
    list["result"]["tools"].as_array().unwrap().iter().map(name).collect()
}

#[tokio::test]
async fn every_stage_refuses_under_its_own_name_and_leaves_one_record() {
    let harness = Harness::new().await;
    harness
        .change(|world| {
            let mut by_name =
                |name: &str, change: &dyn Fn(&mut cynode_gateway::snapshot::ToolRow)| {
                    change(world.tools.iter_mut().find(|tool| tool.name == name).unwrap());
                };
            by_name("db.project.list", &|tool| tool.is_enabled = false);
            by_name("files.fail", &|tool| tool.needs_review = true);
            world.rules.push(rule(Effect::Deny, "node.list"));
        })
        .await;
    let task = TaskId::generate();
    harness.bind("sandbox", |identity| identity.task = Some(task));
    let other = json!({ "task_id": TaskId::generate() });

    for (token, tool, arguments, expected) in [
        ("pm", "db.nothing", json!({}), pair("known", "not_found")),
        ("pm", "db.project.list", json!({}), pair("enabled", "tool_disabled")),
        ("pm", "files.fail", json!({}), pair("review", "review_required")),
        ("sandbox", "db.task.list", json!({}), pair("allowlist", "agent_allowlist_denied")),
        ("user", "apmas_complete", json!({}), pair("scope", "scope_denied")),
        ("pm", "db.task.get", json!({}), pair("arguments", "invalid_arguments")),
        ("pm", "db.task.get", other.clone(), pair("context", "context_mismatch")),
        ("sandbox", "artifact.list", other, pair("context", "context_mismatch")),
        ("pm", "node.list", json!({}), pair("rules", "policy_violation")),
    ] {
        let before = harness.entries().len();
        assert_eq!(harness.refusal(token, tool, arguments).await, expected, "{token} {tool}");
        let entries = harness.entries();
        assert_eq!(entries.len(), before + 1, "{tool}");
        let Some(Entry::Denied(record)) = entries.last() else { panic!("{tool} was let through") };
        assert_eq!((record.stage.as_str(), record.tool.as_str()), (expected.0.as_str(), tool));
        assert_eq!(record.error_type.map(ErrorKind::as_str), Some(expected.1.as_str()));
    }
    assert!(harness.script.seen.lock().unwrap().is_empty(), "no refused call reached the server");
}

#[tokio::test]
async fn a_call_that_is_let_through_is_recorded_before_and_after() {
    let harness = Harness::new().await;

    let answer = harness.call("user", "files.echo", json!({ "text": "secret words" })).await;

    assert_eq!(answer["result"]["content"][0]["text"], r#"{"text":"secret words"}"#);
    assert_eq!(answer["result"]["resultType"], "complete");
    let entries = harness.entries();
    let [Entry::Begun(begun), Entry::Finished(finished)] = entries.as_slice() else {
        panic!("{entries:?}")
    };
    assert_eq!(
        (begun.tool.as_str(), begun.server.as_str(), begun.stage),
        ("files.echo", "files", Stage::Invoke)
    );
    assert_eq!(begun.agent.map(|agent| agent.to_string()).as_deref(), Some("user"));
    assert_eq!(finished.error_type, None);
    assert!(!format!("{entries:?}").contains("secret words"));
    assert_eq!(
        harness.script.seen.lock().unwrap()[0]["params"]["name"],
        "echo",
        "the server sees its own name"
    );
}

#[tokio::test]
async fn a_call_that_cannot_be_recorded_is_not_made() {
    let harness = Harness::new().await;
    harness.backend.is_full.store(true, Ordering::SeqCst);

    let allowed = harness.call("pm", "files.echo", json!({})).await;
    let denied = harness.call("sandbox", "db.task.list", json!({})).await;

    assert_eq!(
        (&allowed["error"]["code"], &denied["error"]["code"]),
        (&json!(-32603), &json!(-32603))
    );
    assert!(harness.script.seen.lock().unwrap().is_empty());
}

#[tokio::test]
async fn an_answer_whose_outcome_cannot_be_recorded_is_withheld() {
    let harness = Harness::new().await;
    harness.backend.forgets_outcomes.store(true, Ordering::SeqCst);

    let answer = harness.call("pm", "files.echo", json!({ "text": "x" })).await;

    assert_eq!(answer["error"]["code"], -32603);
    assert!(answer.get("result").is_none());
}

#[tokio::test]
async fn failures_of_servers_are_told_and_recorded_by_kind() {
    let options =
        GatewayOptions { max_response_bytes: 2000, call_timeout_ms: 200, ..Default::default() };
    let harness = Harness::with_options(options).await;
    for (tool, kind) in [
        ("files.die", "service_unavailable"),
        ("files.big", "response_too_large"),
        ("files.wrong", "bad_response"),
        ("files.hang", "timeout"),
    ] {
        assert_eq!(harness.refusal("pm", tool, json!({})).await, pair("invoke", kind));
        let Some(Entry::Finished(outcome)) = harness.entries().pop() else { panic!("{tool}") };
        assert_eq!(outcome.error_type.map(ErrorKind::as_str), Some(kind));
    }
    let failed = harness.call("pm", "files.fail", json!({})).await;
    assert_eq!(
        failed["error"],
        json!({ "code": -32050, "message": "no" }),
        "its own errors pass as they are"
    );
}

#[tokio::test]
async fn a_list_says_of_every_built_in_tool_whether_it_only_looks() {
    let harness = Harness::new().await;
    let mut declared = cynode_gateway::tools::all();
    for token in ["user", "pm", "pa", "sandbox"] {
        let response = harness.modern("/mcp", token, "tools/list", json!({})).send().await.unwrap();
        let page: Value = response.json().await.unwrap();
        for listed in page["result"]["tools"].as_array().unwrap() {
            let Some(at) = declared.iter().position(|tool| listed["name"] == tool.name) else {
                continue;
            };
            let tool = declared.swap_remove(at);
            let hint = &listed["annotations"]["readOnlyHint"];
            assert_eq!(hint, &json!(tool.side_effect == ToolSideEffect::ReadOnly), "{}", tool.name);
        }
    }
    // A tool that a setting guards is not listed while the setting is off.
    let is_guarded = |name: &str| SETTING_GATES.iter().any(|gate| gate.tool == name);
    let unseen: Vec<_> =
        declared.iter().map(|tool| tool.name).filter(|name| !is_guarded(name)).collect();
    assert!(unseen.is_empty(), "{unseen:?} are not listed for any caller");
}

#[tokio::test]
async fn a_list_shows_exactly_what_can_be_called() {
    let harness = Harness::new().await;
    harness.change(|world| world.rules.push(rule(Effect::Deny, "files.hang"))).await;

    let (pm, pa, sandbox) = (
        names(&harness, "pm").await,
        names(&harness, "pa").await,
        names(&harness, "sandbox").await,
    );

    assert!(
        pm.contains(&"db.task.create".to_owned()) && !pa.contains(&"db.task.create".to_owned())
    );
    assert!(pa.contains(&"db.task.get".to_owned()));
    assert!(
        sandbox.iter().all(|name| !name.starts_with("db.") && !name.starts_with("node.")),
        "{sandbox:?}"
    );
    for names in [&pm, &pa, &sandbox] {
        assert!(
            names.contains(&"files.echo".to_owned()) && !names.contains(&"files.hang".to_owned())
        );
        assert!(names.is_sorted());
    }
}

#[tokio::test]
async fn lists_come_in_pages_that_join_without_gap() {
    let harness =
        Harness::with_options(GatewayOptions { page_size: 3, ..Default::default() }).await;
    let (mut all, mut cursor) = (vec![], None);
    loop {
        let params = cursor.map_or_else(|| json!({}), |cursor: Value| json!({ "cursor": cursor }));
        let response = harness.modern("/mcp", "pm", "tools/list", params).send().await.unwrap();
        let page: Value = response.json().await.unwrap();
        all.extend(
            page["result"]["tools"].as_array().unwrap().iter().map(|tool| tool["name"].clone()),
        );
        match page["result"].get("nextCursor") {
            Some(next) => cursor = Some(next.clone()),
            None => break,
        }
    }
    let harness = Harness::new().await;
    assert_eq!(all, names(&harness, "pm").await);

    let bad =
        harness.modern("/mcp", "pm", "tools/list", json!({ "cursor": "%%" })).send().await.unwrap();
    assert_eq!(bad.json::<Value>().await.unwrap()["error"]["code"], -32602);
}

#[tokio::test]
async fn built_in_tools_work_on_what_the_user_sees() {
    let harness = Harness::new().await;

    let made = harness.call("user", "db.project.create", json!({ "display_name": "Moon" })).await;
    let slug = made["result"]["structuredContent"]["slug"].clone();
    let found = harness.call("user", "db.project.get", json!({ "slug": slug })).await;
    let hidden = harness.refusal("pm", "db.project.get", json!({ "slug": slug })).await;

    assert_eq!(found["result"]["structuredContent"]["display_name"], "Moon");
    assert_eq!(hidden, pair("invoke", "not_found"), "another user's project does not exist");
    let help = harness.call("sandbox", "help.get", json!({})).await;
    assert_eq!(help["result"]["structuredContent"]["topic"], "overview");
}

#[tokio::test]
async fn a_task_is_created_looked_at_and_given_files_by_tools() {
    let harness = Harness::new().await;
    let call = async |tool: &str, arguments: Value| {
        let answer = harness.call("user", tool, arguments).await;
        assert!(answer["result"]["isError"].is_null(), "{tool}: {answer}");
        answer["result"]["structuredContent"].clone()
    };
    let request =
        json!({ "input_mode": "commands", "commands": ["true"], "task_name": "Moon shot" });
    let made = call("db.task.create", request).await;
    let id = made["id"].clone();
    let id: TaskId = serde_json::from_value(id).unwrap();
    harness.backend.tasks.lock().unwrap().insert(id, ProjectId::generate());
    let of_task = json!({ "task_id": id });

    let file = json!({ "task_id": id, "path": "a/b.txt", "content_bytes_base64": "aGVsbG8=" });
    call("artifact.put", file).await;
    let got = call("artifact.get", json!({ "task_id": id, "path": "a/b.txt" })).await;
    let files = call("artifact.list", of_task.clone()).await;

    assert_eq!(made["task_name"], "moon-shot");
    assert_eq!(call("db.task.get", of_task.clone()).await["status"], "queued");
    assert_eq!(got["content_bytes_base64"], "aGVsbG8=");
    assert_eq!(files["items"].as_array().unwrap().len(), 1);
    for tool in ["db.task.result", "db.task.logs", "db.job.list", "db.task.cancel"] {
        call(tool, of_task.clone()).await;
    }
    assert_eq!(
        call("db.task.list", json!({ "status": "canceled" })).await["items"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    assert_eq!(call("node.list", json!({})).await["items"], json!([]));
}

#[tokio::test]
async fn settings_are_written_once_by_version_and_only_by_administrators() {
    let harness = Harness::new().await;
    let write = json!({ "key": "a.b", "value": true, "value_type": "boolean" });

    let made = harness.call("user", "db.system_setting.create", write.clone()).await;
    let again = harness.refusal("user", "db.system_setting.create", write.clone()).await;
    let by_agent = harness.refusal("pm", "db.system_setting.update", write.clone()).await;
    let read = harness.call("pm", "db.system_setting.get", json!({ "key": "a.b" })).await;
    let mistyped = json!({ "key": "a.b", "value": 1, "value_type": "boolean" });
    let typed = harness.refusal("user", "db.system_setting.update", mistyped).await;
    let stale = json!({ "key": "a.b", "expected_version": 9 });
    let stale = harness.refusal("user", "db.system_setting.delete", stale).await;

    assert_eq!(made["result"]["structuredContent"]["version"], 1);
    assert_eq!(again, pair("invoke", "conflict"));
    assert_eq!(by_agent, pair("invoke", "forbidden"));
    assert_eq!(read["result"]["structuredContent"]["value"], true);
    assert_eq!(typed, pair("invoke", "invalid_arguments"));
    assert_eq!(stale, pair("invoke", "conflict"));
}

#[tokio::test]
async fn a_bound_token_reaches_its_own_ids_only() {
    let harness = Harness::new().await;
    let (own, other, project) = (TaskId::generate(), TaskId::generate(), ProjectId::generate());
    harness.backend.tasks.lock().unwrap().extend([(own, project), (other, ProjectId::generate())]);
    harness.bind("pm", |identity| identity.project = Some(project));

    let of_project = harness.refusal("pm", "db.task.get", json!({ "task_id": own })).await;
    let of_other = harness.refusal("pm", "db.task.get", json!({ "task_id": other })).await;

    assert_eq!(of_project, pair("invoke", "not_found"), "let through; the database is empty");
    assert_eq!(of_other, pair("context", "context_mismatch"));
    let Entry::Begun(record) = &harness.entries()[0] else { panic!("not let through") };
    assert_eq!(
        (record.task, record.project),
        (Some(own), Some(project)),
        "the record names what was meant"
    );
}

#[tokio::test]
async fn an_explanation_names_the_stage_that_would_refuse_and_calls_nothing() {
    let harness = Harness::new().await;
    harness.change(|world| world.rules.push(rule(Effect::Deny, "files.*"))).await;
    let identity = harness.backend.tokens.lock().unwrap()["pm"].clone();

    let denied = harness.gateway.explain(&identity, "files.echo", None, Audience::Registry).await;
    let allowed =
        harness.gateway.explain(&identity, "help.get", Some(&json!({})), Audience::Registry).await;
    let unknown = harness.gateway.explain(&identity, "nothing", None, Audience::Registry).await;

    assert_eq!((denied.allowed, denied.refused_by), (false, Some(Stage::Rules)));
    assert_eq!((allowed.allowed, allowed.refused_by), (true, None));
    assert_eq!(unknown.refused_by, Some(Stage::Known));
    for view in [denied, allowed, unknown] {
        let stages: Vec<_> = view.stages.iter().map(|stage| stage.stage).collect();
        let all: Vec<_> =
            Stage::ALL.iter().copied().filter(|stage| *stage <= Stage::Limits).collect();
        assert_eq!(stages, all);
    }
    assert!(harness.entries().is_empty());
}

#[tokio::test]
async fn a_client_that_goes_away_withdraws_its_call_and_the_outcome_is_recorded() {
    let harness = Harness::new().await;
    let request = harness.modern("/mcp", "pm", "tools/call", json!({ "name": "files.hang" }));

    tokio::select! {
        answer = request.send() => panic!("it hangs: {answer:?}"),
        // The client disconnects once the call is recorded.
        () = async {
            while harness.entries().is_empty() {
                tokio::task::yield_now().await;
            }
        } => {}
    }

    while harness.entries().len() < 2 {
        tokio::task::yield_now().await;
    }
    let Some(Entry::Finished(outcome)) = harness.entries().pop() else { panic!("no outcome") };
    assert_eq!(outcome.error_type.map(ErrorKind::as_str), Some("canceled"));
}

#[tokio::test]
async fn what_was_registered_a_moment_ago_is_known_to_whoever_asks_for_it() {
    let harness = Harness::new().await;
    {
        // The gateway was not notified yet.
        let mut world = harness.backend.world.lock().unwrap();
        let mut server = world.servers[0].clone();
        server.slug = "fresh".to_owned();
        let mut tool = world.tools.iter().find(|tool| tool.name == "files.echo").unwrap().clone();
        tool.name = "fresh.echo".to_owned();
        world.servers.push(server);
        world.tools.push(tool);
        world.revision += 1;
    }

    let answer = harness.call("pm", "fresh.echo", json!({ "text": "x" })).await;

    assert!(answer["error"].is_null(), "{answer}");
    let (_, opened) = harness.open("/mcp/fresh", "pm", "2025-11-25").await;
    assert!(opened["error"].is_null(), "{opened}");
}
