//! The project manager's agent against a real orchestrator: tools through the gateway, models through
//! egress, each with the token of its handoff.

mod with_model;

use std::time::Duration;

use cynode_agent::brain::BrainOptions;
use cynode_agent::context::Instructions;
use cynode_agent::{HandoffAgent, HandoffAgentOptions};
use cynode_client::McpClientError;
use cynode_domain::policy::{AgentType, Stage};
use cynode_domain::question::{Question, QuestionKind, Reply, ReplyForm};
use cynode_domain::run::RunState;
use cynode_testkit::provider::ScriptedProvider;
use cynode_wire::agents::BindingView;
use cynode_wire::handoff::{
    AgentRole, ChatEvent, ChatHandoff, Handoff, HandoffContext, Turn, TurnRole,
};
use cynode_wire::inbox::{AnswerMessage, InboxQuery};
use cynode_wire::requests::{AnswerRequest, RequestQuery};
use cynode_wire::run_suspension::SuspendForQuestion;
use futures_util::StreamExt as _;
use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{HarnessResponse, OrchestratorHarness, refused};
use crate::mcp::{Mcp, issue};
use crate::request_tools::set_question;
pub(crate) use with_model::{
    a_decision_is_thought_through_egress_and_falls_back_with_its_reason,
    a_model_that_ignores_forced_functions_decides_and_calls_tools_in_words,
    big_work_is_classified_before_it_is_planned_and_leaves_no_units_that_nothing_executes,
    with_a_model_the_manager_acts_through_the_gateway_and_shows_it,
    work_is_answered_by_rule_while_somebody_waits_where_the_model_is_too_slow,
};

/// Deadline of an answer.
pub(crate) const WITHIN: Duration = Duration::from_mins(10);

/// The project manager, as its process would make it.
pub(crate) fn agent(harness: &OrchestratorHarness) -> HandoffAgent {
    let instructions = Instructions {
        baseline: "You are the project manager.".to_owned(),
        role: String::new(),
        tools: "Call tools.".to_owned(),
    };
    let (role, orchestrator) = (AgentRole::ProjectManager, harness.anonymous());
    let brain = BrainOptions::default();
    HandoffAgent::new(HandoffAgentOptions { role, instructions, orchestrator, brain })
}

/// The common part of every handoff.
async fn context(harness: &OrchestratorHarness) -> HandoffContext {
    let token = issue(harness, AgentType::Pm, BindingView::default()).await;
    serde_json::from_value(json!({
        "user": { "id": token.token.user_id, "handle": "admin" },
        "trace_id": "trace",
        "agent_token": token.secret,
        "preferences": { "effective": {}, "skipped": [] },
        "skill": "Look before you answer.",
    }))
    .unwrap()
}

/// Sends a chat message to the project manager; returns the text and the final event.
async fn say(harness: &OrchestratorHarness, words: &str) -> (String, ChatEvent) {
    let turn = Turn { role: TurnRole::User, content: words.to_owned() };
    let handoff =
        Handoff { context: context(harness).await, body: ChatHandoff { messages: vec![turn] } };
    let mut events: Vec<ChatEvent> = agent(harness).chat(handoff, WITHIN).collect().await;
    let end = events.pop().unwrap();
    let text = events.iter().filter_map(|event| match event {
        ChatEvent::Delta { text } => Some(text.as_str()),
        ChatEvent::Tool { .. } | ChatEvent::Done { .. } | ChatEvent::Failed { .. } => None,
    });
    (text.collect(), end)
}

async fn send_chat(harness: &OrchestratorHarness, words: &str) -> String {
    let (text, end) = say(harness, words).await;
    assert!(matches!(end, ChatEvent::Done { .. }), "{words}: {end:?}");
    text
}

/// A provider that every user may use.
pub(crate) async fn provide(harness: &OrchestratorHarness, provider: &ScriptedProvider) {
    let body = json!({
        "kind": "openai", "base_url": provider.openai_url(), "allow": "everyone",
        "models": ["scripted-model"],
    });
    let put = harness.as_admin(Method::PUT, "/v1/model-providers/scripted").json(&body);
    assert!(HarnessResponse::send(put).await.status.is_success());
}

pub(crate) async fn without_a_model_work_is_submitted_and_its_questions_are_answered(
    harness: OrchestratorHarness,
) {
    let words = "Please submit to https://git.example.com/shop.git: Fix the typo in README.md";
    let made = send_chat(&harness, words).await;
    let again = send_chat(&harness, words).await;
    let nowhere = send_chat(&harness, "submit to nowhere: Fix the typo in README.md").await;
    let request =
        harness.admin().request_list(&RequestQuery::default()).await.unwrap().items.remove(0);
    let (id, name) = (request.id.to_string(), &request.name);
    set_question(&harness, &id, "approval", "Go on?").await;
    let waiting = send_chat(&harness, "what is waiting for me?").await;
    let approved = send_chat(&harness, &format!("answer {name} with go ahead")).await;
    let refused = send_chat(&harness, &format!("approve {name}")).await;
    harness
        .admin()
        .request_answer(&id, &AnswerRequest { reply: Reply::Yes {}, comment: None })
        .await
        .unwrap();
    set_question(&harness, &id, "clarification", "Which typo?").await;
    let asked = send_chat(&harness, "inbox").await;
    let answered = send_chat(&harness, &format!("answer {name} with the first one")).await;

    assert!(made.contains(&format!("I submitted `{name}`")), "{made}");
    assert!(again.contains("I submitted nothing") && again.contains("is open"), "{again}");
    assert!(nowhere.contains("not the address of a repository"), "{nowhere}");
    assert!(waiting.contains(&format!("`{name}` needs your decision: Go on?")), "{waiting}");
    assert!(approved.contains("Only you can decide this"), "{approved}");
    assert!(refused.contains("cynork pm answer"), "{refused}");
    assert!(asked.contains(&format!("`{name}` asks: Which typo?")), "{asked}");
    assert_eq!(answered, format!("I answered the question of `{name}`.\n"));
    let found = harness.admin().request_get(&id).await.unwrap();
    assert_eq!(
        found.answers[1].answer.reply,
        Some(Reply::Text { text: "the first one".to_owned() })
    );
}

pub(crate) async fn without_a_model_the_manager_creates_shows_and_cancels_tasks(
    harness: OrchestratorHarness,
) {
    let made = send_chat(&harness, "Please create a task to wash the car").await;
    let ran = send_chat(&harness, "run `true`").await;
    let listed = send_chat(&harness, "tasks").await;
    let shown = send_chat(&harness, "How is wash-the-car going?").await;
    let overview = send_chat(&harness, "status").await;
    let projects = send_chat(&harness, "list projects").await;
    let canceled = send_chat(&harness, "cancel wash-the-car").await;
    let again = send_chat(&harness, "cancel wash-the-car").await;
    let nobody = send_chat(&harness, "status of nothing-at-all").await;

    assert!(made.contains("I created the task `wash-the-car`"), "{made}");
    assert!(ran.contains("I created the task"), "{ran}");
    assert!(listed.contains("- `wash-the-car` – queued"), "{listed}");
    assert!(
        shown.contains("`wash-the-car` is queued") && shown.contains("wash the car"),
        "{shown}"
    );
    assert!(overview.contains("2 queued") && overview.contains("Nothing is waiting"), "{overview}");
    assert!(projects.contains("the default one"), "{projects}");
    assert_eq!(canceled, "I canceled `wash-the-car`.\n");
    assert!(again.contains("I did nothing: `wash-the-car` is canceled already"), "{again}");
    assert!(nobody.contains("There is no task `nothing-at-all`"), "{nobody}");
    assert_eq!(harness.admin().task_get("wash-the-car").await.unwrap().status.as_str(), "canceled");
}

/// A task whose run has an open question.
async fn asking(
    harness: &OrchestratorHarness,
    kind: QuestionKind,
    accepts: &[ReplyForm],
) -> String {
    let (task, runner) = (harness.task().await, harness.runner());
    let lease = runner.start(task.id).await.unwrap().lease;
    let (text, about) = ("Which water?".to_owned(), vec![]);
    let question = Question { kind, text, about, accepts: accepts.to_vec() };
    let (key, node) = ("1/plan_steps/ask/clarify".to_owned(), "plan_steps".to_owned());
    runner.client.workflow_call(&SuspendForQuestion { lease, key, node, question }).await.unwrap();
    task.task_name
}

pub(crate) async fn without_a_model_questions_are_shown_and_answered_but_nothing_is_approved(
    harness: OrchestratorHarness,
) {
    let clarify = [ReplyForm::Commands, ReplyForm::No];
    let unclear = asking(&harness, QuestionKind::Clarification, &clarify).await;
    let approve = [ReplyForm::Yes, ReplyForm::No];
    let to_approve = asking(&harness, QuestionKind::Approval, &approve).await;

    let waiting = send_chat(&harness, "What is waiting for me?").await;
    let answered = send_chat(&harness, &format!("answer {unclear} with `make`")).await;
    let approved = send_chat(&harness, &format!("approve {to_approve}")).await;
    let forced = send_chat(&harness, &format!("answer {to_approve} with `true`")).await;

    assert_eq!(waiting.matches("asks: Which water?").count(), 2, "{waiting}");
    assert_eq!(answered, format!("I answered `{unclear}` with `make`.\n"));
    assert!(approved.contains("Only you can approve"), "{approved}");
    assert!(forced.contains("I did nothing: `db.run.answer` failed"), "{forced}");
    let run = harness.admin().run_get(&to_approve).await.unwrap();
    assert_eq!(run.run.state, RunState::NeedsAnswer);
    assert_eq!(harness.admin().run_get(&unclear).await.unwrap().run.state, RunState::Queued);
}

pub(crate) async fn what_an_agent_asks_a_person_waits_in_the_api_and_in_chat_until_it_is_answered(
    harness: OrchestratorHarness,
) {
    let (admin, bob) = (harness.admin(), harness.user("bob").await);
    let (task, runner) = (harness.task().await, harness.runner());
    let lease = runner.start(task.id).await.unwrap().lease;
    let job_id = Some(runner.dispatch(lease, 0).await.unwrap());
    let binding = BindingView { task_id: Some(task.id), job_id, ..BindingView::default() };
    let token = issue(&harness, AgentType::Sandbox, binding).await.secret;
    let developer = Mcp::at(&harness.url(), &token);
    let about = |more: Value| {
        let mut all = json!({ "task_id": task.id, "agentRole": "developer" });
        all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        all
    };
    let help = about(json!({ "helpType": "human", "issue": "May I spend money?" }));
    developer.call("apmas_request_help", help).await;

    let listed = admin.inbox_list(&InboxQuery::default()).await.unwrap().items;
    let unseen = bob.inbox_list(&InboxQuery::default()).await.unwrap().items;
    let waiting = send_chat(&harness, "What is waiting for me?").await;
    let id = listed[0].message.id;
    let text = |text: &str| AnswerMessage { text: text.to_owned(), instruction: None };
    let stranger = bob.inbox_answer(id, &text("No.")).await;
    let empty = admin.inbox_answer(id, &text(" ")).await;
    let answered = admin.inbox_answer(id, &text("Up to ten euros.")).await.unwrap();
    let other = admin.inbox_answer(id, &text("Up to twenty.")).await;
    let beat = about(json!({ "status": "working" }));
    let reported = developer.call("apmas_heartbeat", beat).await;
    let later = send_chat(&harness, "What is waiting for me?").await;

    assert_eq!((listed.len(), unseen.len()), (1, 0));
    assert_eq!(listed[0].task_name, task.task_name);
    assert_eq!(listed[0].message.content, "May I spend money?");
    assert!(waiting.contains("message from developer: May I spend money?"), "{waiting}");
    assert!(waiting.contains(&format!("cynork inbox answer {id}")), "{waiting}");
    refused(stranger, 404);
    refused(empty, 400);
    refused(other, 409);
    assert_eq!(answered.message.answered_by.as_deref(), Some("admin"));
    assert_eq!(reported["agent_status"], "running", "{reported}");
    assert_eq!(reported["instructions"][0]["instructions"], "Up to ten euros.", "{reported}");
    assert!(later.contains("Nothing is waiting for you"), "{later}");
}

pub(crate) async fn the_manager_sees_its_tools_and_is_refused_those_of_sandboxes(
    harness: OrchestratorHarness,
) {
    let token = issue(&harness, AgentType::Pm, BindingView::default()).await;
    let client = harness.client(token.secret);

    let tools = client.mcp_tools().await.unwrap();
    let of_sandbox = client.mcp_call("memory.list", &json!({})).await.unwrap_err();
    let unknown = client.mcp_call("sandbox.allowed_images.remove", &json!({})).await.unwrap_err();
    let wrong = client.mcp_call("db.task.get", &json!({ "task_id": 3 })).await.unwrap_err();
    let stranger = harness.client("cyn_pm_nobody".to_owned()).mcp_tools().await.unwrap_err();

    let names: Vec<_> = tools.iter().map(|tool| tool.name.as_str()).collect();
    assert!(names.contains(&"db.task.create") && !names.contains(&"memory.list"), "{names:?}");
    assert!(matches!(&of_sandbox, McpClientError::Refused { stage: Stage::Allowlist, .. }));
    assert!(matches!(&unknown, McpClientError::Refused { stage: Stage::Known, .. }));
    assert!(wrong.is_about_arguments(), "{wrong:?}");
    assert!(matches!(&stranger, McpClientError::Refused { stage: Stage::Authenticate, .. }));
}
