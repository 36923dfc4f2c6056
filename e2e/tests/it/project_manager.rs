//! The project manager and its analysts as real processes, with a scripted model.

mod judging;

use cynode_client::Client;
use cynode_domain::ids::TaskId;
use cynode_domain::policy::{AgentType, Effect};
use cynode_testkit::provider::{Answer, ScriptedProvider, ScriptedProviderRequest};
use cynode_wire::agents::{BindingView, IssueAgentToken};
use cynode_wire::audit::AuditQuery;
use cynode_wire::tasks::{CreateTask, TaskView};
use nix::sys::signal::Signal;
use secrecy::SecretString;
use serde_json::{Value, json};

use crate::processes::{eventually, send_signal};
use crate::system::{PATIENCE, System};
use crate::work::{commands, create_task_once, wait_until_closed};

/// Prompts for a plan, and for a judgement.
pub(crate) const PLANNING: &str = "Plan the commands that fulfil";
pub(crate) const JUDGING: &str = "Judge each criterion by the evidence";
/// A person's additional context for the project manager.
const WISH: &str = "Prefer short commands to long ones.";

/// A system whose only provider is `provider`. Rules decide everything that the script does not
/// mention.
pub(crate) async fn system(provider: &ScriptedProvider) -> System {
    provider.otherwise(Answer::status(400, "not today"));
    let system = System::new().await;
    let body = json!({
        "kind": "openai", "base_url": provider.openai_url(), "allow": "everyone",
        "models": ["scripted-model", "strong-model"],
    });
    let body = serde_json::from_value(body).unwrap();
    system.client.provider_put("scripted", &body).await.unwrap();
    system
}

pub(crate) fn plan_answer(lines: &[&str]) -> Answer {
    let commands = lines.iter().map(|line| json!({ "aim": "do it", "command": line }));
    let commands: Vec<Value> = commands.collect();
    let plan = json!({ "commands": commands, "assumptions": ["a shell is there"], "question": "" });
    Answer::tool_call("respond", plan)
}

pub(crate) fn judgement_answer(status: &str) -> Answer {
    let judgement =
        json!({ "criterion": 0, "status": status, "reason": "as seen", "suggestion": "" });
    Answer::tool_call("respond", json!({ "judgements": [judgement] }))
}

pub(crate) fn prompt_task(text: &str) -> CreateTask {
    serde_json::from_value(json!({ "input_mode": "prompt", "prompt": text })).unwrap()
}

pub(crate) fn with_prose_criterion(mut body: CreateTask, criterion: &str) -> CreateTask {
    let criteria = json!([{ "kind": "text", "description": criterion }]);
    body.acceptance_criteria = serde_json::from_value(criteria).unwrap();
    body
}

/// An agent that is bound to a task, or to none.
pub(crate) async fn agent(
    system: &System,
    agent_type: AgentType,
    task_id: Option<TaskId>,
) -> Client {
    let binding = BindingView { task_id, ..BindingView::default() };
    issue_bound_agent_client(system, agent_type, binding).await
}

/// An agent with this binding.
pub(crate) async fn issue_bound_agent_client(
    system: &System,
    agent_type: AgentType,
    binding: BindingView,
) -> Client {
    let body = IssueAgentToken {
        agent_type,
        name: "test".to_owned(),
        user_id: None,
        expires_in_seconds: None,
        binding,
    };
    let secret = system.client.agent_token_issue(&body).await.unwrap().secret;
    Client::new(&system.announced.url, SecretString::from(secret)).unwrap()
}

async fn list_findings(system: &System, task: TaskId) -> Vec<Value> {
    let admin = agent(system, AgentType::Pm, None).await;
    let listed = admin.mcp_call("db.finding.list", &json!({ "task_id": task })).await.unwrap();
    listed.structured.unwrap()["items"].as_array().unwrap().clone()
}

/// The task once it is closed.
pub(crate) async fn done(system: &System, body: CreateTask) -> TaskView {
    let task = create_task_once(&system.client, body).await;
    wait_until_closed(&system.client, task, PATIENCE).await
}

/// Panics unless one call of the project manager, and no other, requests an analyst for the task.
async fn assert_manager_requested_one_analyst(system: &System, task: TaskId) {
    let tool = Some("pm.analyst.request".to_owned());
    let query = AuditQuery { tool, ..AuditQuery::default() };
    let calls = system.client.call_list(&query).await.unwrap().items;
    assert_eq!(calls.len(), 1, "{calls:#?}");
    let call = &calls[0];
    assert_eq!((call.agent_type.as_str(), call.decision), ("pm", Effect::Allow), "{call:#?}");
    assert_eq!(call.task_id, Some(task), "{call:#?}");
}

/// Panics unless the system message of a request contains the texts in this order.
fn assert_composed_in_order(request: &ScriptedProviderRequest, texts: &[&str]) {
    let composed = request.body["messages"][0]["content"].as_str().unwrap();
    let position = |text: &&str| {
        composed.find(*text).unwrap_or_else(|| panic!("{text} is missing: {composed}"))
    };
    let places: Vec<usize> = texts.iter().map(position).collect();
    assert!(places.is_sorted(), "{places:?}: {composed}");
}

#[tokio::test]
async fn a_prompt_is_planned_by_the_model_and_its_prose_is_judged_by_an_analyst() {
    let provider = ScriptedProvider::start();
    provider.when(PLANNING, plan_answer(&["echo hello > greeting", "cat greeting"]));
    provider.when(JUDGING, judgement_answer("pass"));
    let system = system(&provider).await;
    let key = "agents.project_manager.additional_context";
    system.cynork(&["prefs", "set", key, &format!("\"{WISH}\"")]).expect_success();

    let view =
        done(&system, with_prose_criterion(prompt_task("Greet the world"), "it greets")).await;

    assert_eq!(view.status.as_str(), "completed", "{view:#?}");
    let why = system.cynork(&["run", "explain", &view.task_name]).expect_success().stdout;
    assert!(why.contains("project manager, model"), "{why}");
    assert!(!why.contains("a person answered"), "{why}");
    let result = system.client.task_result(&view.id.to_string()).await.unwrap();
    assert_eq!(result.jobs.len(), 2, "{result:#?}");
    let found = list_findings(&system, view.id).await;
    let by_analyst: Vec<_> = found.iter().filter(|one| !one["token_id"].is_null()).collect();
    assert_eq!(by_analyst.len(), 1, "{found:#?}");
    assert_eq!(by_analyst[0]["agent_type"], "pa");
    assert_eq!(by_analyst[0]["status"], "pass");
    assert_eq!(by_analyst[0]["location"], "criterion/0");
    assert_manager_requested_one_analyst(&system, view.id).await;
    // Every request to a model carries the baseline of its role and the default skill.
    let requests = provider.requests();
    let reported =
        |words: &str| requests.iter().find(|request| request.text.contains(words)).unwrap();
    let baseline = "You are the project manager of CyNode";
    let (project, task) = ("## Project context", "## Task context");
    let order = [baseline, project, task, "## User additional context", WISH];
    assert_composed_in_order(reported(PLANNING), &order);
    assert_composed_in_order(reported(JUDGING), &["You are an analyst of CyNode", project, task]);
    assert!(!reported(JUDGING).text.contains(WISH), "the wish is for the project manager alone");
    let request = requests.iter().filter(|request| request.path.ends_with("/chat/completions"));
    for request in request {
        assert!(request.text.contains("Working with CyNode"), "{}", request.text);
    }
    assert!(!provider.has_received("cyn_pm_") && !provider.has_received("cyn_pa_"));
}

#[tokio::test]
async fn a_planner_is_told_acceptance_criteria_of_every_kind() {
    let provider = ScriptedProvider::start();
    let command = "echo fine | tee $CYNODE_ARTIFACTS_DIR/report.txt";
    provider.when(PLANNING, plan_answer(&[command]));
    provider.when(JUDGING, judgement_answer("pass"));
    let system = system(&provider).await;

    let made = ["task", "create", "--name", "report", "--prompt", "Write a report", "--wait"];
    let accepted = ["file:report.txt", "output:/^fine$/", "check:true", "exit:0", "it is polite"];
    let accepted = accepted.iter().flat_map(|criterion| ["--accept", *criterion]);
    let arguments: Vec<&str> = made.into_iter().chain(accepted).collect();
    system.cynork(&arguments).expect_success();

    let requests = provider.requests();
    let request = requests.iter().find(|request| request.text.contains(PLANNING)).unwrap();
    let order = [
        "## Task context",
        "the file report.txt is left in $CYNODE_ARTIFACTS_DIR",
        "the output matches ^fine$",
        "the command true succeeds",
        "the last command exits with 0",
        "it is polite",
    ];
    assert_composed_in_order(request, &order);
}

#[tokio::test]
async fn a_project_manager_killed_while_it_plans_is_asked_again() {
    let provider = ScriptedProvider::start();
    // The first request is never answered.
    provider.script([Answer::no_response()]);
    let system = system(&provider).await;
    let task = create_task_once(&system.client, prompt_task("Greet the world")).await;
    let first = system.wait_for_role("pma").await;
    provider.wait_for_requests(1).await;
    provider.when(PLANNING, plan_answer(&["echo planned"]));

    send_signal(first, Signal::SIGKILL);
    let view = wait_until_closed(&system.client, task, 2 * PATIENCE).await;

    assert_ne!(system.wait_for_role("pma").await, first);
    assert_eq!(view.status.as_str(), "completed", "{view:#?}");
}

/// Waits until the run of a task asks about unjudged criteria; returns the question.
async fn wait_for_criteria_question(system: &System, task: TaskId) -> String {
    let name = task.to_string();
    eventually("a question about criteria", PATIENCE, || {
        let shown = system.cynork(&["run", "show", &name]).stdout;
        shown.contains("could not be judged").then_some(shown)
    })
    .await
}

#[tokio::test]
async fn without_a_model_a_prompt_and_a_criterion_in_prose_wait_for_a_person() {
    let system = System::new().await;

    let waiting =
        create_task_once(&system.client, prompt_task("Make the world a better place")).await;
    let unjudged = create_task_once(
        &system.client,
        with_prose_criterion(commands(&["echo hello"]), "it greets"),
    )
    .await;

    let request = wait_for_criteria_question(&system, unjudged).await;
    assert!(request.contains("not judged: it greets ("), "{request}");
    system.cynork(&["run", "answer", &unjudged.to_string(), "--yes"]).expect_success();
    let view = wait_until_closed(&system.client, unjudged, PATIENCE).await;
    assert_eq!(view.status.as_str(), "completed", "{view:#?}");
    assert!(view.summary.unwrap().contains("1 acceptance criterion is met: 1 by a person"));
    let id = waiting.to_string();
    eventually("a question", PATIENCE, || {
        let said = system.cynork(&["task", "get", &id, "-o", "json"]);
        said.stdout.contains("waiting for your answer").then_some(())
    })
    .await;
    // The project manager and the runner are separate processes.
    assert_ne!(system.wait_for_role("pma").await, system.wait_for_role("runner").await);
}
