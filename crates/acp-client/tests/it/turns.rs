//! What a turn of an agent becomes: result and transcript.

use cynode_domain::trace::{TraceEvent, TraceField, TraceValue};
use cynode_wire::agent_jobs::{AgentJobResult, AgentJobStatus, StopCondition};
use serde_json::{Value, json};

use crate::harness::{AgentScript, TestProgram, error, response};

fn permission(kind: &str, options: &[&str]) -> Value {
    let option =
        |kind: &&str| json!({ "optionId": format!("the {kind}"), "name": "N", "kind": kind });
    let options: Vec<Value> = options.iter().map(option).collect();
    json!({ "sessionId": "s", "toolCall": { "toolCallId": "t", "kind": kind, "title": "T" },
        "options": options })
}

/// The events of a result, a line each: actor, kind, step, tool, outcome, reason to stop.
fn traced(result: &AgentJobResult) -> Vec<String> {
    let line = |event: &TraceEvent| {
        let entry = &event.entry;
        let word = |field| match entry.fields.get(field) {
            Some(TraceValue::Word(word)) => Some(word.clone()),
            Some(_) | None => None,
        };
        let words = [
            Some(event.actor.to_string()),
            Some(entry.kind.to_string()),
            entry.step_index.map(|index| index.to_string()),
            word(TraceField::Tool),
            word(TraceField::Outcome),
            entry.stop.map(|stop| stop.to_string()),
        ];
        words.into_iter().flatten().collect::<Vec<_>>().join(" ")
    };
    result.trace.events().iter().map(line).collect()
}

#[tokio::test]
async fn a_turn_becomes_a_result_and_a_transcript() {
    let text =
        |text: &str| json!([{ "type": "content", "content": { "type": "text", "text": text } }]);
    let thought = json!({ "type": "text", "text": "Hm." });
    let script = AgentScript::with_session()
        .update(&json!({ "sessionUpdate": "agent_thought_chunk", "content": thought }))
        .update(&json!({ "sessionUpdate": "plan", "entries": [
            { "content": "Look", "priority": "high", "status": "completed" },
            { "content": "Repair", "priority": "high", "status": "pending" }] }))
        .say("I look ")
        .say("first.")
        .update(&json!({ "sessionUpdate": "tool_call", "toolCallId": "1", "title": "make check",
            "kind": "execute", "status": "in_progress" }))
        .run("echo changed > a.txt; echo new > b.txt")
        .update(
            &json!({ "sessionUpdate": "tool_call_update", "toolCallId": "1", "status": "failed",
            "content": text("exit code 2\nmore") }),
        )
        .update(&json!({ "sessionUpdate": "tool_call", "toolCallId": "2", "title": "Edit a.txt",
            "kind": "edit", "status": "completed", "content": [
                { "type": "diff", "path": "a.txt", "oldText": "a\n", "newText": "b\n" }] }))
        .update(&json!({ "sessionUpdate": "tool_call", "toolCallId": "3", "title": "Wait" }))
        .update(&json!({ "sessionUpdate": "usage_update", "used": 1, "size": 2 }))
        .update(&json!({ "sessionUpdate": "of_the_future", "content": 7 }))
        .say("Repaired.\nIt was a typo.")
        .end_turn();
    let job = TestProgram::with_agent(&script, &json!({}));
    job.write("a.txt", "original");

    let result = job.run().await;

    assert_eq!((result.status, result.stop), (AgentJobStatus::Success, StopCondition::GoalMet));
    assert_eq!(result.summary, "Repaired.\nIt was a typo.");
    assert_eq!(result.changed_files, ["a.txt", "b.txt", "received"]);
    let steps: Vec<(&str, &str, bool)> = result
        .steps
        .iter()
        .map(|step| (step.action.as_str(), step.subject.as_str(), step.is_success))
        .collect();
    let expected =
        [("execute", "make check", false), ("edit", "Edit a.txt", true), ("other", "Wait", false)];
    assert_eq!(steps, expected);
    assert_eq!(
        traced(&result),
        [
            "agent_program execution_started",
            "agent_program step_finished 0 execute error",
            "agent_program step_finished 1 edit ok",
            "agent_program step_finished 2 other error",
            "agent_program execution_stopped goal_met",
        ]
    );
    let lines = job.transcript();
    let kinds: Vec<&str> = lines.iter().map(|line| line.kind.as_str()).collect();
    assert_eq!(
        kinds,
        ["thought", "plan", "message", "execute", "edit", "message", "other", "stop"]
    );
    assert_eq!(lines[1].text, "1 of 2 done");
    assert_eq!(lines[1].detail.as_deref(), Some("[x] Look\n[ ] Repair"));
    assert_eq!(lines[2].text, "I look first.");
    assert_eq!(lines[3].text, "exit code 2");
    assert!(lines[4].detail.as_ref().unwrap().contains("-a\n+b\n"), "{:?}", lines[4]);
    assert_eq!(lines[5].detail.as_deref(), Some("Repaired.\nIt was a typo."));
}

#[tokio::test]
async fn the_agent_gets_the_workspace_the_prompt_and_the_tools_of_the_job() {
    let script = AgentScript::with_session().end_turn();
    let mut job = TestProgram::with_agent(&script, &json!({ "env": { "GREETING": "hello" } }));
    job.spec["persona"] = json!({ "title": "a tester", "description": "" });
    let script = format!("echo \"$GREETING $CARGO_MANIFEST_DIR $PWD\" > environment\n{script}");
    std::fs::write(job.folder.path().join("agent.sh"), script).unwrap();

    let result = job.run().await;

    assert_eq!(result.summary, "The agent ended without a message.");
    let workspace = job.workspace().canonicalize().unwrap();
    let environment = format!("hello  {}\n", workspace.display());
    assert_eq!(job.read("environment"), environment);
    let received = job.received();
    let opened = &received[1]["params"];
    assert_eq!(opened["cwd"], json!(workspace));
    let server = json!({
        "name": "cynode", "command": "/job/agent", "args": ["mcp-bridge"],
        "env": [{ "name": "CYNODE_MCP_URL", "value": "http://127.0.0.1:1/mcp" }],
    });
    assert_eq!(opened["mcpServers"], json!([server]));
    let prompt = received[2]["params"]["prompt"][0]["text"].as_str().unwrap();
    for part in ["You are a tester", "# Task\nRepair the file.", "`make check` exits with 0"] {
        assert!(prompt.contains(part), "{part} in {prompt}");
    }
}

#[tokio::test]
async fn permissions_are_answered_by_rule_and_recorded() {
    let all = ["allow_always", "reject_always", "allow_once", "reject_once"];
    let ask = "session/request_permission";
    let script = AgentScript::with_session()
        .ask("1", ask, &permission("execute", &all))
        .ask("2", ask, &permission("fetch", &all))
        .ask("3", ask, &permission("edit", &["reject_once"]))
        .ask("4", ask, &json!({ "nothing": true }))
        .end_turn();
    let job = TestProgram::with_agent(&script, &json!({}));

    let result = job.run().await;

    assert_eq!(result.stop, StopCondition::GoalMet, "{result:?}");
    let answers = &job.received()[3..];
    let outcome = |index: usize| answers[index]["result"]["outcome"].clone();
    assert_eq!(outcome(0), json!({ "outcome": "selected", "optionId": "the allow_once" }));
    assert_eq!(outcome(1), json!({ "outcome": "selected", "optionId": "the reject_once" }));
    assert_eq!(outcome(2), json!({ "outcome": "cancelled" }));
    assert_eq!(answers[3]["error"]["code"], -32602);
    let recorded = job.lines_of("permission");
    let recorded: Vec<(&str, bool)> =
        recorded.iter().map(|line| (line.subject.as_str(), line.is_success)).collect();
    assert_eq!(recorded, [("T", true), ("T", false), ("T", false)]);
}

#[tokio::test]
async fn the_rules_of_the_specification_replace_the_default_ones() {
    let all = ["allow_once", "reject_once"];
    let ask = "session/request_permission";
    let script = AgentScript::with_session()
        .ask("1", ask, &permission("execute", &all))
        .ask("2", ask, &permission("fetch", &all))
        .end_turn();
    let rules = json!({ "default": "allow", "kinds": { "execute": "reject" } });
    let job = TestProgram::with_agent(&script, &json!({ "permissions": rules }));

    job.run().await;

    let received = job.received();
    let chosen = |index: usize| received[index]["result"]["outcome"]["optionId"].clone();
    assert_eq!((chosen(3), chosen(4)), (json!("the reject_once"), json!("the allow_once")));
}

#[tokio::test]
async fn a_stop_reason_becomes_a_stop_condition() {
    let cases = [
        ("max_tokens", StopCondition::Budget),
        ("max_turn_requests", StopCondition::Steps),
        ("refusal", StopCondition::GaveUp),
        ("cancelled", StopCondition::GaveUp),
        ("of_the_future", StopCondition::GaveUp),
    ];
    for (reason, stop) in cases {
        let script = AgentScript::with_session().say("I stop here.").stop(reason);
        let result = TestProgram::with_agent(&script, &json!({})).run().await;
        assert_eq!((result.status, result.stop), (AgentJobStatus::Failure, stop), "{reason}");
        assert!(result.summary.contains("I stop here."), "{result:?}");
    }
}

#[tokio::test]
async fn an_agent_that_demands_a_secret_fails_with_the_methods_it_offers() {
    let methods = json!([{ "id": "key", "name": "API key", "type": "env_var" },
        { "id": "login", "name": "Log in", "type": "terminal" }]);
    let script = AgentScript::default()
        .receive()
        .send(&response(1, &json!({ "protocolVersion": 1, "authMethods": methods })))
        .receive()
        .send(&error(2, -32000, "Authentication required"))
        .receive()
        .build();

    let result = TestProgram::with_agent(&script, &json!({})).run().await;

    assert_eq!(result.stop, StopCondition::ToolFailure);
    let message = result.failure_message.unwrap();
    for part in ["demands authentication", "API key, Log in", "environment"] {
        assert!(message.contains(part), "{part} in {message}");
    }
}

#[tokio::test]
async fn a_mode_or_model_that_is_not_offered_or_rejected_is_a_failure() {
    for (field, message) in [("mode", "offers no mode"), ("model", "offers no model")] {
        let script = AgentScript::with_session().end_turn();
        let result = TestProgram::with_agent(&script, &json!({ field: "x" })).run().await;
        assert!(result.failure_message.unwrap().contains(message));
    }
    let script = AgentScript::default()
        .receive()
        .send(&response(1, &json!({ "protocolVersion": 1 })))
        .receive()
        .send(&response(2, &json!({ "sessionId": "s", "models": {} })))
        .receive()
        .send(&error(3, -32602, "no such model"))
        .receive()
        .build();
    let job = TestProgram::with_agent(&script, &json!({ "model": "x" }));

    let message = job.run().await.failure_message.unwrap();

    assert_eq!(message, "the agent rejected session/set_model: no such model (code -32602)");
    assert_eq!(job.received()[2]["params"], json!({ "sessionId": "s", "modelId": "x" }));
}

#[tokio::test]
async fn tool_calls_are_the_steps_of_the_job() {
    let script = (0..5)
        .fold(AgentScript::with_session(), |script, number| {
            script.update(&json!({ "sessionUpdate": "tool_call", "toolCallId": number.to_string(),
                "title": "Look", "kind": "read", "status": "completed" }))
        })
        .receive()
        .stop("cancelled");
    let mut job = TestProgram::with_agent(&script, &json!({}));
    job.spec["constraints"]["max_steps"] = json!(4);

    let result = job.run().await;

    assert_eq!(result.stop, StopCondition::Steps, "{result:?}");
    assert_eq!(result.failure_message.as_deref(), Some("all 4 steps are used"));
    assert_eq!(result.steps.len(), 4);
    assert_eq!(job.received()[3]["method"], "session/cancel");
}
