//! Messages in both directions obey the published schema of the protocol.

use std::fs;

use cynode_schema::{CompiledSchema, ValueQuoting};
use serde_json::{Value, json};

use crate::harness::{AgentScript, TestProgram, error, response};

const SCHEMA: &str = include_str!("schema/acp_v1.json");

/// The schema of one definition.
fn definition_schema(name: &str) -> CompiledSchema {
    let mut schema: Value = serde_json::from_str(SCHEMA).unwrap();
    assert!(schema["$defs"].get(name).is_some(), "{name} is not in the schema");
    schema["$ref"] = json!(format!("#/$defs/{name}"));
    CompiledSchema::compile(&schema).unwrap()
}

/// The definition of a part of a message, by the method and the end of its name.
fn definition(method: &str, end: &str) -> String {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    let found = schema["$defs"]
        .as_object()
        .unwrap()
        .iter()
        .find(|(name, definition)| definition["x-method"] == method && name.ends_with(end));
    found.unwrap_or_else(|| panic!("no {end} of {method}")).0.clone()
}

fn assert_valid(name: &str, value: &Value) {
    let errors = definition_schema(name).violations(value, ValueQuoting::Quoted, usize::MAX);
    assert!(errors.is_empty(), "{name}: {errors:?} in {value}");
}

/// Validates the messages of one side; `requests` are the methods that the other side asked for, by their ids.
fn assert_messages(messages: &[Value], requests: &[(Value, String)]) {
    for message in messages {
        assert_eq!(message["jsonrpc"], "2.0", "{message}");
        match message["method"].as_str() {
            Some(method) if message.get("id").is_some() => {
                assert_valid("RequestId", &message["id"]);
                assert_valid(&definition(method, "Request"), &message["params"]);
            }
            Some(method) => assert_valid(&definition(method, "Notification"), &message["params"]),
            None => {
                let (_, method) = requests.iter().find(|(id, _)| *id == message["id"]).unwrap();
                match message.get("error") {
                    Some(error) => assert_valid("Error", error),
                    None => assert_valid(&definition(method, "Response"), &message["result"]),
                }
            }
        }
    }
}

fn list_requests(messages: &[Value]) -> Vec<(Value, String)> {
    let requests = messages.iter().filter(|message| message.get("id").is_some());
    let method = |message: &Value| message["method"].as_str().map(str::to_owned);
    requests.filter_map(|message| Some((message["id"].clone(), method(message)?))).collect()
}

/// The messages that a script sends.
fn sent_by(script: &str) -> Vec<Value> {
    script.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

#[tokio::test]
async fn every_message_of_a_session_obeys_the_schema() {
    let option = |id: &str, kind: &str| json!({ "optionId": id, "name": id, "kind": kind });
    let permission = json!({
        "sessionId": "s",
        "toolCall": { "toolCallId": "c", "kind": "edit", "title": "Edit a.txt" },
        "options": [option("yes", "allow_once"), option("no", "reject_once")],
    });
    let denied = json!({
        "sessionId": "s", "toolCall": { "toolCallId": "d", "kind": "fetch" }, "options": [],
    });
    let folder_path = "PATH_OF_WORKSPACE/a.txt";
    let read = json!({ "sessionId": "s", "path": folder_path, "line": 1, "limit": 5 });
    let missing = json!({ "sessionId": "s", "path": "/etc/passwd" });
    let write = json!({ "sessionId": "s", "path": folder_path, "content": "new\n" });
    let diff =
        json!({ "type": "diff", "path": "/w/a.txt", "oldText": "old\n", "newText": "new\n" });
    let select = json!({ "id": "m", "name": "Model", "category": "model", "type": "select",
        "currentValue": "a", "options": [{ "value": "big", "name": "Big" }] });
    let modes =
        json!({ "currentModeId": "ask", "availableModes": [{ "id": "code", "name": "C" }] });
    let script = AgentScript::default()
        .receive()
        .send(&response(1, &json!({
            "protocolVersion": 1, "agentCapabilities": {}, "agentInfo": { "name": "a", "version": "1" },
            "authMethods": [{ "id": "local", "name": "Local" }],
        })))
        .receive()
        .send(&error(2, -32000, "authentication required"))
        .receive()
        .send(&response(3, &json!({})))
        .receive()
        .send(&response(4, &json!({ "sessionId": "s", "modes": modes, "configOptions": [select] })))
        .receive()
        .send(&response(5, &json!({})))
        .receive()
        .send(&response(6, &json!({ "configOptions": [] })))
        .receive()
        .update(&json!({ "sessionUpdate": "plan", "entries": [
            { "content": "Repair", "priority": "high", "status": "in_progress" }] }))
        .update(&json!({ "sessionUpdate": "tool_call", "toolCallId": "c", "title": "Edit a.txt",
            "kind": "edit", "status": "pending", "rawInput": { "x": [1] } }))
        .ask("p", "session/request_permission", &permission)
        .ask("q", "session/request_permission", &denied)
        .ask("r", "fs/read_text_file", &read)
        .ask("e", "fs/read_text_file", &missing)
        .ask("w", "fs/write_text_file", &write)
        .update(&json!({ "sessionUpdate": "tool_call_update", "toolCallId": "c",
            "status": "completed", "content": [diff] }))
        .say("Done.")
        .send(&response(7, &json!({ "stopReason": "end_turn" })))
        .build();
    let job = TestProgram::with_agent(&script, &json!({ "mode": "code", "model": "big" }));
    let script = script.replace("PATH_OF_WORKSPACE", job.workspace().to_str().unwrap());
    fs::write(job.folder.path().join("agent.sh"), &script).unwrap();
    job.write("a.txt", "old\n");

    let result = job.run().await;

    assert_eq!(result.failure_message, None, "{result:?}");
    assert_eq!(job.read("a.txt"), "new\n");
    let (ours, theirs) = (job.received(), sent_by(&script));
    assert_eq!(ours.len(), 12, "{ours:?}");
    assert_messages(&ours, &list_requests(&theirs));
    assert_messages(&theirs, &list_requests(&ours));
    let methods: Vec<String> = list_requests(&ours).into_iter().map(|(_, method)| method).collect();
    let expected = [
        "initialize",
        "session/new",
        "authenticate",
        "session/new",
        "session/set_mode",
        "session/set_config_option",
        "session/prompt",
    ];
    assert_eq!(methods, expected);
}

#[test]
fn the_schema_rejects_what_it_should() {
    let invalid = json!({ "sessionId": "s", "prompt": [{ "type": "text" }] });
    assert!(!definition_schema("PromptRequest").is_valid(&invalid));
    assert!(!definition_schema("InitializeRequest").is_valid(&json!({})));
}
