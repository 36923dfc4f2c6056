//! Secrets in tasks and in the output of jobs, and attribution of calls, with real processes.

use std::fs;
use std::path::Path;

use cynode_domain::ids::TraceId;
use cynode_testkit::planted_secrets;
use cynode_testkit::provider::{Answer, ScriptedProvider};
use cynode_wire::audit::AuditQuery;
use cynode_wire::inferences::InferenceQuery;
use cynode_wire::tasks::CreateTask;
use serde_json::json;

use crate::system::{PATIENCE, System};
use crate::work::{create_task_once, wait_until_closed};

const JUDGING: &str = "Judge each criterion by the evidence";

#[expect(clippy::unwrap_used, reason = "a test that cannot prepare its world has failed")]
async fn start_system_with_provider(provider: &ScriptedProvider) -> System {
    let system = System::new().await;
    let body = json!({ "kind": "openai", "base_url": provider.openai_url(), "allow": "everyone",
        "models": ["scripted-model"] });
    let body = serde_json::from_value(body).unwrap();
    system.client.provider_put("scripted", &body).await.unwrap();
    system
}

/// The logs of all processes of a system.
pub(crate) fn read_logs_below(dir: &Path) -> String {
    let mut logs = String::new();
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            logs.push_str(&read_logs_below(&path));
        } else if path.extension().is_some_and(|end| end == "log") {
            logs.push_str(&String::from_utf8_lossy(&fs::read(&path).unwrap_or_default()));
        }
    }
    logs
}

#[tokio::test]
async fn no_secret_in_a_criterion_or_printed_by_a_job_is_told_to_a_model() {
    let provider = ScriptedProvider::start();
    provider.otherwise(Answer::status(400, "not today"));
    // Printed backwards and reversed again, so that the command itself contains none of them.
    let corpus: Vec<String> = planted_secrets().into_iter().map(|secret| secret.text).collect();
    let corpus = corpus.join("\n");
    let turned: String = corpus.replace('\n', "\u{1}").chars().rev().collect();
    let line = format!("printf '%s' '{}' | rev | tr '\\001' '\\n'", turned.replace('\'', ""));
    let judgement = json!({ "criterion": 0, "status": "pass", "reason": "ok", "suggestion": "" });
    provider.when(JUDGING, Answer::tool_call("respond", json!({ "judgements": [judgement] })));
    let system = start_system_with_provider(&provider).await;
    let criteria = json!([{ "kind": "text", "description": format!("it uses\n{corpus}") }]);
    let body = json!({ "input_mode": "commands", "commands": [line],
        "acceptance_criteria": criteria });
    let body: CreateTask = serde_json::from_value(body).unwrap();

    let task = create_task_once(&system.client, body).await;
    let view = wait_until_closed(&system.client, task, PATIENCE).await;

    assert_eq!(view.status.as_str(), "completed", "{view:#?}");
    let result = system.client.task_result(&task.to_string()).await.unwrap();
    let printed = &result.jobs[0].result.as_ref().unwrap().stdout;
    assert!(planted_secrets().iter().any(|secret| printed.contains(&secret.needle)), "{printed}");
    assert!(provider.has_received(JUDGING) && provider.has_received("SECRET_REDACTED"));
    let logs = read_logs_below(system.data_dir());
    for secret in planted_secrets() {
        assert!(!provider.has_received(&secret.needle), "a model was told the {}", secret.name);
        assert!(!logs.contains(&secret.needle), "the {} is in a log", secret.name);
        let reported = format!("{:?}", view.acceptance_criteria);
        assert!(!reported.contains(&secret.needle), "the {} is in the task", secret.name);
    }
}

#[tokio::test]
async fn what_the_manager_calls_in_a_turn_is_found_by_the_trace_of_the_request() {
    let provider = ScriptedProvider::start();
    provider.script([Answer::tool_call("db_task_list", json!({}))]);
    provider.otherwise(Answer::text("There is nothing to do."));
    let system = start_system_with_provider(&provider).await;
    let trace = TraceId::generate();
    let token = fs::read_to_string(&system.announced.admin_token_file).unwrap();
    let body = json!({ "model": "cynodeai.pm",
        "messages": [{ "role": "user", "content": "Is there something you would look into?" }] });

    let request = reqwest::Client::builder().no_proxy().build().unwrap();
    let request = request.post(format!("{}/v1/chat/completions", system.announced.url));
    let request = request.bearer_auth(token.trim()).header("x-trace-id", trace.to_string());
    let answer = request.json(&body).send().await.unwrap();
    assert!(answer.status().is_success(), "{}", answer.text().await.unwrap());
    answer.text().await.unwrap();

    let request =
        system.client.inference_list(&InferenceQuery::default()).await.unwrap().calls.items;
    assert!(!request.is_empty());
    for call in request {
        assert_eq!(call.trace_id, trace.to_string(), "{call:?}");
        assert!(call.thread.is_some(), "{call:?}");
    }
    let query = AuditQuery { tool: Some("db.task.list".to_owned()), ..AuditQuery::default() };
    let called = system.client.call_list(&query).await.unwrap().items;
    assert_eq!(called[0].request_id, trace.to_string(), "{called:?}");
}
