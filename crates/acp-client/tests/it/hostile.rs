//! Agents that fail, lie or flood.

use cynode_wire::agent_jobs::{AgentJobResult, AgentJobStatus, StopCondition};
use serde_json::json;

use crate::harness::{AgentScript, TestProgram, response};

async fn run(script: &str) -> AgentJobResult {
    TestProgram::with_agent(script, &json!({})).run().await
}

fn message(result: &AgentJobResult) -> &str {
    assert_eq!(result.status, AgentJobStatus::Failure, "{result:?}");
    result.failure_message.as_deref().unwrap()
}

#[tokio::test]
async fn a_program_that_does_not_exist_is_named() {
    let job = TestProgram::new(&json!({ "kind": "acp", "command": ["/no/such/agent", "acp"] }));

    let result = job.run().await;

    assert_eq!(result.stop, StopCondition::ToolFailure);
    assert!(message(&result).starts_with("the agent /no/such/agent cannot be started"));
}

#[tokio::test]
async fn an_agent_that_exits_early_is_reported_with_its_last_words() {
    let exits = [
        ("echo 'no licence' >&2; exit 3", "during initialize: exit code 3; it wrote: no licence"),
        ("exec >&-; sleep 1000", "during initialize: it closed its output"),
        ("kill -9 $$", "during initialize: killed by signal 9"),
    ];
    for (script, expected) in exits {
        let result = run(script).await;
        assert!(message(&result).contains(expected), "{expected} in {result:?}");
    }
    let script = AgentScript::with_session().say("Half").run("exit 0").build();
    let result = run(&script).await;
    assert_eq!(message(&result), "the agent ended during session/prompt: exit code 0");
}

#[tokio::test]
async fn a_child_that_keeps_the_output_open_does_not_hide_the_end_of_the_agent() {
    let result = run("sleep 1000 & exit 4").await;
    assert!(message(&result).contains("exit code 4"), "{result:?}");
}

#[tokio::test]
async fn an_agent_that_never_answers_is_given_up() {
    let silent = TestProgram::with_impatience("echo 'waiting for a browser' >&2; sleep 1000");

    let result = silent.run().await;

    assert_eq!(result.stop, StopCondition::ToolFailure);
    assert!(message(&result).contains("did not answer initialize"), "{result:?}");
    assert!(message(&result).contains("waiting for a browser"), "{result:?}");
}

#[tokio::test]
async fn a_program_that_speaks_something_else_is_given_up_and_a_few_words_are_not() {
    let result = run("yes 'welcome to the agent'").await;
    assert_eq!(result.stop, StopCondition::MalformedActions);
    assert!(message(&result).contains("welcome to the agent"), "{result:?}");

    let binary = run("head -c 3000000 /dev/urandom; sleep 1000").await;
    assert_eq!(binary.stop, StopCondition::MalformedActions, "{binary:?}");

    let polite = AgentScript::with_session().end_turn();
    let job = TestProgram::with_agent(&format!("echo Welcome; echo '[]'\n{polite}"), &json!({}));
    assert_eq!(job.run().await.stop, StopCondition::GoalMet);
    let notes: Vec<String> = job.lines_of("agent").into_iter().map(|line| line.text).collect();
    assert_eq!(notes, ["Welcome", "[]"]);
}

#[tokio::test]
async fn a_line_of_100_mb_ends_the_session() {
    let result = run("head -c 100000000 /dev/zero | tr '\\0' x; sleep 1000").await;

    assert_eq!(result.stop, StopCondition::MalformedActions);
    assert_eq!(message(&result), "the agent sent a line of more than 8388608 bytes");
}

#[tokio::test]
async fn a_flood_of_updates_is_bounded() {
    let chunk = json!({ "jsonrpc": "2.0", "method": "session/update", "params": {
        "sessionId": "s", "update": { "sessionUpdate": "agent_message_chunk",
            "content": { "type": "text", "text": "blah ".repeat(100) } } } });
    let plan = json!({ "jsonrpc": "2.0", "method": "session/update", "params": {
        "sessionId": "s", "update": { "sessionUpdate": "plan",
            "entries": [{ "content": "x".repeat(200), "priority": "low", "status": "pending" }] } } });
    let script = AgentScript::with_session()
        .run(&format!("yes '{chunk}' | head -n 20000"))
        .run(&format!("yes '{plan}' | head -n 40000"))
        .say("Enough.")
        .end_turn();
    let job = TestProgram::with_agent(&script, &json!({}));

    let result = job.run().await;

    assert_eq!((result.stop, result.summary.as_str()), (StopCondition::GoalMet, "Enough."));
    assert!(job.transcript_bytes() < (4 << 20) + 20_000, "{}", job.transcript_bytes());
    let lines = job.transcript();
    assert!(lines.iter().any(|line| line.text.contains("the rest is left out")));
    assert_eq!(lines.last().unwrap().kind, "stop");
}

#[tokio::test]
async fn endless_open_tool_calls_are_bounded() {
    let script = AgentScript::with_session()
        .run(
            "n=0; while :; do n=$((n+1)); printf '{\"method\":\"session/update\",\"params\":\
             {\"sessionId\":\"s\",\"update\":{\"sessionUpdate\":\"tool_call\",\"toolCallId\":\"%s\",\
             \"title\":\"t\"}}}\\n' $n; done",
        )
        .build();
    let mut job = TestProgram::with_impatience(&script);
    job.spec["constraints"]["max_steps"] = json!(u32::MAX);

    let result = job.run().await;

    assert!(message(&result).contains("more than 256 tool calls in progress"), "{result:?}");
    assert_eq!(result.steps.len(), 256);
}

#[tokio::test]
async fn requests_of_an_agent_that_does_not_read_the_answers_are_bounded() {
    let request = json!({ "jsonrpc": "2.0", "id": "x".repeat(5_000), "method": "terminal/create" });
    let script = AgentScript::with_session().run(&format!("yes '{request}'")).build();

    let result = TestProgram::with_impatience(&script).run().await;

    assert_eq!(message(&result), "the agent does not read its input");
}

#[tokio::test]
async fn answers_that_nothing_waits_for_are_ignored() {
    let script = AgentScript::default()
        .receive()
        .send(&response(7, &json!({})))
        .send(&response(1, &json!({ "protocolVersion": 1 })))
        .send(&response(1, &json!({ "protocolVersion": 1 })))
        .receive()
        .send(&response(2, &json!({ "sessionId": "s" })))
        .send(&response(2, &json!({ "sessionId": "another" })))
        .receive()
        .say("Once.")
        .send(&response(2, &json!({ "sessionId": "another" })))
        .end_turn();
    let job = TestProgram::with_agent(&script, &json!({}));

    let result = job.run().await;

    assert_eq!((result.stop, result.summary.as_str()), (StopCondition::GoalMet, "Once."));
    assert_eq!(job.received()[2]["params"]["sessionId"], "s");
}

#[tokio::test]
async fn updates_of_another_session_are_left_out() {
    let foreign = json!({ "sessionUpdate": "agent_message_chunk",
        "content": { "type": "text", "text": "Forged." } });
    let params = json!({ "sessionId": "other", "update": foreign });
    let script = AgentScript::with_session()
        .send(&json!({ "jsonrpc": "2.0", "method": "session/update", "params": params }))
        .send(&json!({ "jsonrpc": "2.0", "method": "session/update", "params": 7 }))
        .end_turn();

    assert_eq!(run(&script).await.summary, "The agent ended without a message.");
}

#[tokio::test]
async fn invalid_answers_and_other_versions_are_failures() {
    let cases = [
        (json!({ "protocolVersion": 2 }), "speaks version 2"),
        (json!({ "protocolVersion": "one" }), "answer to initialize is invalid"),
        (json!(null), "answer to initialize is invalid"),
    ];
    for (answer, expected) in cases {
        let script = AgentScript::default().receive().send(&response(1, &answer)).receive().build();
        let result = run(&script).await;
        assert!(message(&result).contains(expected), "{expected} in {result:?}");
    }
}
