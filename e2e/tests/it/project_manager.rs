//! The project manager and its analysts as real processes, with a scripted model.

use cynode_client::Client;
use cynode_domain::criteria::Criterion;
use cynode_domain::ids::TaskId;
use cynode_domain::plan::StepCriterion;
use cynode_domain::policy::{AgentType, Effect};
use cynode_domain::verification::VerificationStatus;
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
/// Prompt for another command.
const REPLANNING: &str = "A step of a plan was not accepted";
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
async fn what_an_analyst_fails_is_not_accepted() {
    let provider = ScriptedProvider::start();
    provider.when(JUDGING, judgement_answer("fail"));
    let system = system(&provider).await;

    // The words of the complaint are in no command.
    let line = "echo hello; printf 'out of %s' tune >&2";
    let view = done(&system, with_prose_criterion(commands(&[line]), "it sings")).await;

    assert_eq!(view.status.as_str(), "failed", "{view:#?}");
    let requests = provider.requests();
    let request = requests.iter().find(|request| request.text.contains(JUDGING)).unwrap();
    assert!(request.text.contains("out of tune"), "{}", request.text);
    let found = list_findings(&system, view.id).await;
    assert!(found.iter().any(|one| one["status"] == "fail" && one["agent_type"] == "pa"));
    let why = system.cynork(&["run", "explain", &view.task_name]).expect_success().stdout;
    assert!(why.contains("its command was kept: its command was given by a person"), "{why}");
}

#[tokio::test]
async fn a_step_whose_prose_an_analyst_fails_keeps_the_next_one_from_starting() {
    let provider = ScriptedProvider::start();
    provider.when("it greets", judgement_answer("pass"));
    provider.when(JUDGING, judgement_answer("fail"));
    let system = system(&provider).await;
    let with_prose_for_first = |criterion: &str| {
        let mut body = commands(&["echo hello", "echo bye"]);
        let criterion = Criterion::Text { description: criterion.to_owned() };
        body.step_criteria = vec![StepCriterion { step_index: 0, criterion }];
        body
    };

    let met = done(&system, with_prose_for_first("it greets")).await;
    let unmet = done(&system, with_prose_for_first("it sings")).await;

    assert_eq!(met.verification, Some(VerificationStatus::Verified), "{met:#?}");
    for (view, status, jobs) in [(met, "completed", 2), (unmet, "failed", 1)] {
        assert_eq!(view.status.as_str(), status, "{view:#?}");
        let result = system.client.task_result(&view.id.to_string()).await.unwrap();
        assert_eq!(result.jobs.len(), jobs, "{result:#?}");
    }
}

#[tokio::test]
async fn what_an_analyst_rejects_is_planned_anew_with_its_findings() {
    let provider = ScriptedProvider::start();
    // Only a reader of the file sees these words: no command contains them.
    provider.when("well met, everybody", judgement_answer("pass"));
    provider.when(PLANNING, plan_answer(&["echo hm > $CYNODE_ARTIFACTS_DIR/greeting.txt"]));
    let better = "printf 'well %s, everybody' met > $CYNODE_ARTIFACTS_DIR/greeting.txt";
    let replanned = json!({ "command": better, "reason": "it greets everybody" });
    provider.when(REPLANNING, Answer::tool_call("respond", replanned));
    let finding = json!({
        "criterion": 0, "status": "fail", "reason": "greeting.txt:1 greets nobody",
        "suggestion": "address everybody",
    });
    provider.when(JUDGING, Answer::tool_call("respond", json!({ "judgements": [finding] })));
    let system = system(&provider).await;

    let view =
        done(&system, with_prose_criterion(prompt_task("Greet"), "greeting.txt greets everybody"))
            .await;

    assert_eq!(view.status.as_str(), "completed", "{view:#?}");
    let requests = provider.requests();
    let request = requests.iter().find(|request| request.text.contains(REPLANNING)).unwrap();
    for part in ["greeting.txt:1 greets nobody", "address everybody", "criterion/0"] {
        assert!(request.text.contains(part), "{part}: {}", request.text);
    }
    let explained = system.cynork(&["run", "explain", &view.id.to_string()]).stdout;
    assert!(explained.contains("replanned by the project manager"), "{explained}");
    let jobs = system.client.task_result(&view.id.to_string()).await.unwrap().jobs;
    let attempts: Vec<_> = jobs.iter().map(|job| (job.step_index, job.attempt)).collect();
    assert_eq!(attempts, [(0, 1), (0, 2)]);
}

#[tokio::test]
async fn what_an_analyst_cannot_tell_waits_for_a_person_who_settles_it() {
    let provider = ScriptedProvider::start();
    provider.when(JUDGING, judgement_answer("needs_clarification"));
    let system = system(&provider).await;
    let said =
        |word: &str| with_prose_criterion(commands(&[&format!("echo {word}")]), "it sounds right");
    let (good, bad) = (
        create_task_once(&system.client, said("hello")).await,
        create_task_once(&system.client, said("hm")).await,
    );

    for task in [good, bad] {
        let name = task.to_string();
        let request = eventually("a question", PATIENCE, || {
            let shown = system.cynork(&["run", "show", &name]).stdout;
            shown.contains("could not be judged").then_some(shown)
        })
        .await;
        assert!(request.contains("it sounds right: as seen"), "{request}");
    }
    // No process has to wait for the answer: the runner that resumes the run later reads it.
    for role in ["runner", "pma"] {
        send_signal(system.wait_for_role(role).await, Signal::SIGKILL);
    }
    system.cynork(&["run", "answer", &good.to_string(), "--yes"]).expect_success();
    system.cynork(&["run", "answer", &bad.to_string(), "--no", "-m", "too short"]).expect_success();

    let accepted = wait_until_closed(&system.client, good, 2 * PATIENCE).await;
    let refused = wait_until_closed(&system.client, bad, 2 * PATIENCE).await;
    assert_eq!(accepted.status.as_str(), "completed", "{accepted:#?}");
    assert_eq!(refused.status.as_str(), "failed", "{refused:#?}");
    assert!(refused.summary.unwrap().contains("too short"));
    for (task, status) in [(good, "pass"), (bad, "fail")] {
        let found = list_findings(&system, task).await;
        let asks = |one: &&Value| one["status"] == "needs_clarification";
        assert_eq!(found.iter().filter(asks).count(), 1, "{found:#?}");
        let by_person = |one: &&Value| one["agent_type"] == "user" && one["status"] == status;
        assert_eq!(found.iter().filter(by_person).count(), 1, "{found:#?}");
    }
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

#[tokio::test]
async fn a_provider_that_fails_lets_no_criterion_pass_unless_a_preference_accepts_it_unverified() {
    let provider = ScriptedProvider::start();
    let system = system(&provider).await;
    provider.when("it sings", Answer::status(400, "the context is too long"));
    provider.when(JUDGING, Answer::status(500, "out of order"));

    let mut strict = vec![];
    for criterion in ["it greets", "it sings"] {
        let body = with_prose_criterion(commands(&["echo hello"]), criterion);
        strict.push((create_task_once(&system.client, body).await, criterion));
    }
    for (task, criterion) in &strict {
        let request = wait_for_criteria_question(&system, *task).await;
        assert!(request.contains(&format!("not judged: {criterion} (")), "{request}");
    }
    system.cynork(&["prefs", "set", "verification.accept_unverified", "true"]).expect_success();
    let made = ["task", "create", "--name", "lax", "--command", "echo hello"];
    let waited = system.cynork(&[&made[..], &["--accept", "it greets", "--wait"]].concat());

    assert_eq!(waited.code, 9, "{waited:?}");
    assert!(waited.stderr.contains("completed (unverified): Unverified: "), "{waited:?}");
    assert!(waited.stderr.contains("1. echo hello"), "{waited:?}");
    let view = system.client.task_get("lax").await.unwrap();
    assert_eq!(view.verification, Some(VerificationStatus::Unverified), "{view:#?}");
    // The answer of a person counts, even if the preference has changed since.
    for (task, _) in strict {
        system.cynork(&["run", "answer", &task.to_string(), "--no"]).expect_success();
        let rejected = wait_until_closed(&system.client, task, PATIENCE).await;
        assert_eq!(rejected.status.as_str(), "failed", "{rejected:#?}");
    }
}

#[tokio::test]
async fn an_analyst_that_is_killed_is_started_again_and_never_accepts_by_dying() {
    let provider = ScriptedProvider::start();
    // The first analyst is never answered.
    provider.script([Answer::no_response()]);
    let system = system(&provider).await;
    let task = create_task_once(
        &system.client,
        with_prose_criterion(commands(&["echo hello"]), "it greets"),
    )
    .await;
    provider.wait_for_requests(1).await;
    provider.when(JUDGING, judgement_answer("pass"));

    send_signal(system.analyst().await, Signal::SIGKILL);
    let view = wait_until_closed(&system.client, task, 2 * PATIENCE).await;

    assert_eq!(view.status.as_str(), "completed", "{view:#?}");
    assert_eq!(view.verification, Some(VerificationStatus::Verified), "{view:#?}");
    let watched = system.cynork(&["task", "watch", &task.to_string()]);
    assert!(watched.stderr.contains("analyst failed (attempt 1 of 3)"), "{watched:?}");
}
