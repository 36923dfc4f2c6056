//! Secrets in texts of people and agents: none is stored or sent to a model.

use cynode_domain::ids::{JobId, TaskId};
use cynode_domain::policy::AgentType;
use cynode_testkit::planted_secrets;
use cynode_testkit::provider::ScriptedProvider;
use cynode_wire::agents::BindingView;
use cynode_wire::run_suspension::SuspendForQuestion;
use cynode_wire::workflow::{Finish, Outcome, SaveCheckpoint};
use reqwest::Method;
use serde_json::{Value, json};

use crate::actors::checkpoint;
use crate::harness::{HarnessResponse, OrchestratorHarness, create_commands_task};
use crate::mcp::{Mcp, issue};
use crate::state_tools::queued;

async fn register_provider(harness: &OrchestratorHarness, provider: &ScriptedProvider) {
    let body = json!({ "kind": "openai", "base_url": provider.openai_url(), "is_local": true,
        "allow": "everyone", "models": ["m"] });
    let body = serde_json::from_value(body).unwrap();
    harness.admin().provider_put("near", &body).await.unwrap();
}

/// Agents that are busy with a task.
struct BusyAgents {
    task: TaskId,
    pm: Mcp,
    worker: Mcp,
}

impl BusyAgents {
    async fn bound_to(harness: &OrchestratorHarness, task: TaskId, job: JobId) -> Self {
        let bound = BindingView { task_id: Some(task), ..BindingView::default() };
        let in_job = BindingView { job_id: Some(job), ..bound };
        let of = async |agent, bound| {
            Mcp::at(&harness.url(), &issue(harness, agent, bound).await.secret)
        };
        Self {
            task,
            pm: of(AgentType::Pm, BindingView::default()).await,
            worker: of(AgentType::Sandbox, in_job).await,
        }
    }
}

/// Every tool that stores an agent's text, with a text in each text argument.
async fn write_down(BusyAgents { task: id, pm, worker }: &BusyAgents, text: &str, number: usize) {
    let role = "developer";
    let calls = [
        (
            pm,
            "db.task.create",
            json!({ "prompt": text, "task_name": format!("n {text}"),
            "acceptance_criteria": [{ "kind": "text", "description": text }] }),
        ),
        (pm, "db.project.create", json!({ "display_name": "Moon", "description": text })),
        (
            pm,
            "db.preference.create",
            json!({ "scope_type": "user", "key": format!("notes.n{number}"),
            "value": text, "value_type": "string", "reason": text }),
        ),
        (
            pm,
            "db.schedule.create",
            json!({ "name": format!("s{number}"), "every_s": 86400,
            "prompt": text }),
        ),
        (
            pm,
            "db.finding.create",
            json!({ "task_id": id, "status": "fail",
            "severity": "error", "message": text, "suggestion": text }),
        ),
        (
            worker,
            "apmas_report_to_pm",
            json!({ "task_id": id, "agentRole": role,
            "messageType": "work_blocked", "component": "engine",
            "payload": { "reason": text, "attempted": [text] } }),
        ),
        (
            worker,
            "apmas_request_help",
            json!({ "task_id": id, "agentRole": role,
            "helpType": "clarification", "issue": text, "context": text }),
        ),
        (
            pm,
            "apmas_pm_instruct",
            json!({ "task_id": id, "toAgent": role,
            "instructionType": "revise", "instructions": text, "context": { "why": text } }),
        ),
        (
            worker,
            "apmas_checkpoint",
            json!({ "task_id": id, "agentRole": role, "summary": text,
            "completedItems": [text], "pendingItems": [text], "notes": text }),
        ),
    ];
    for (agent, tool, arguments) in calls {
        let answer = agent.answer(tool, arguments).await;
        let result = &answer["result"];
        let is_fine = result["structuredContent"].is_object() && result["isError"] != json!(true);
        assert!(is_fine, "{tool}: {answer}");
    }
    // Rejections quote the invalid input and are recorded.
    pm.answer("db.task.create", json!({ "prompt": 7, "odd": text })).await;
    pm.answer(&format!("db.{number}.none"), json!({ "text": text })).await;
}

pub(crate) async fn no_secret_that_agents_or_people_write_down_is_kept(
    harness: OrchestratorHarness,
) {
    let (task, job) = queued(&harness).await;
    let agents = BusyAgents::bound_to(&harness, task.id, job).await;
    for (number, secret) in planted_secrets().into_iter().enumerate() {
        write_down(&agents, &secret.text, number).await;
        let request = json!({ "prompt": secret.text });
        HarnessResponse::send(harness.as_admin(Method::POST, "/v1/tasks").json(&request)).await;
        let criteria = json!([{ "kind": "text", "description": secret.text }]);
        let path = format!("/v1/tasks/{}", task.id);
        let changed = harness.as_admin(Method::PATCH, &path);
        let changed =
            HarnessResponse::send(changed.json(&json!({ "acceptance_criteria": criteria }))).await;
        assert!(changed.body["id"].is_string(), "{}", changed.body);
    }

    let database = harness.database();
    for secret in planted_secrets() {
        let tables = database.tables_containing(&secret.needle).await;
        assert!(tables.is_empty(), "the {} is in {tables:?}", secret.name);
    }
    let marked = database.tables_containing("SECRET_REDACTED").await;
    for table in ["tasks", "schedules", "verification_findings", "agent_messages"] {
        assert!(marked.iter().any(|name| name == table), "{table} is not in {marked:?}");
    }
}

pub(crate) async fn what_an_agent_asks_a_model_holds_no_secret(harness: OrchestratorHarness) {
    let provider = ScriptedProvider::saying("Noted.");
    register_provider(&harness, &provider).await;
    let token = issue(&harness, AgentType::Pm, BindingView::default()).await.secret;
    for secret in planted_secrets() {
        let text = &secret.text;
        let arguments = json!({ "prompt": text }).to_string();
        let call = json!({ "id": "c", "type": "function",
            "function": { "name": "db_task_create", "arguments": arguments } });
        let mut body = json!({ "model": "near/m", "messages": [
            { "role": "system", "content": format!("The task says: {text}") },
            { "role": "user", "content": format!("standard output:\n{text}\n") },
            { "role": "assistant", "content": null, "tool_calls": [call] },
            { "role": "tool", "tool_call_id": "c", "content": json!({ "logs": text }).to_string() },
        ], "metadata": { "purpose": text, "prompt_hash": text } });
        for stream in [false, true] {
            body["stream"] = Value::Bool(stream);
            let request = harness.request(Method::POST, "/v1/egress/chat/completions");
            let answer = request.bearer_auth(&token).json(&body).send().await.unwrap();
            assert!(answer.status().is_success(), "{}", answer.text().await.unwrap());
            answer.text().await.unwrap();
        }
    }

    assert!(provider.has_received("The task says: ") && provider.has_received("SECRET_REDACTED"));
    for secret in planted_secrets() {
        assert!(!provider.has_received(&secret.needle), "the provider saw the {}", secret.name);
        let tables = harness.database().tables_containing(&secret.needle).await;
        assert!(tables.is_empty(), "the {} is in {tables:?}", secret.name);
    }
}

pub(crate) async fn no_secret_of_a_command_is_in_an_event(harness: OrchestratorHarness) {
    let runner = harness.runner();
    for secret in planted_secrets() {
        let line = format!("deploy '{}'", secret.text.replace('\'', "").replace('\n', " "));
        let task = harness.admin().task_create(&create_commands_task(&[&line])).await.unwrap().id;
        // The question about a plan names its commands, and a summary quotes those that failed.
        let first = runner.start(task).await.unwrap().lease;
        let question = json!({ "kind": "approval", "text": "Is this plan right?",
            "about": [line], "accepts": ["yes", "no"] });
        let question = serde_json::from_value(question).unwrap();
        let (key, node) = ("plan/1".to_owned(), "plan_steps".to_owned());
        let request = SuspendForQuestion { lease: first, key, node, question };
        runner.client.workflow_call(&request).await.unwrap();
        harness.admin().task_cancel(&task.to_string()).await.unwrap();
        let other = harness.admin().task_create(&create_commands_task(&[&line])).await.unwrap().id;
        let second = runner.start(other).await.unwrap().lease;
        let (outcome, summary) = (Outcome::Failed, format!("{line} failed"));
        let finish = Some(Finish { outcome, summary, verification: None });
        let end = SaveCheckpoint { finish, ..checkpoint(second, 1) };
        runner.client.workflow_call(&end).await.unwrap();
    }

    for secret in planted_secrets() {
        let tables = harness.database().tables_containing(&secret.needle).await;
        assert!(!tables.contains(&"events".to_owned()), "the {} is in {tables:?}", secret.name);
        // The name of a task is made from its command, in small letters.
        let named = harness.database().tables_containing(&secret.needle.to_lowercase()).await;
        assert!(!named.contains(&"events".to_owned()), "the {} is in {named:?}", secret.name);
        // The command itself must work, and is kept as it is.
        assert!(tables.contains(&"tasks".to_owned()), "the {} is in {tables:?}", secret.name);
    }
}
