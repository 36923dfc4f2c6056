//! Reports of agents to a real project manager: each of the eight types, end to end.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use cynode_client::Client;
use cynode_domain::ids::TaskId;
use cynode_domain::policy::AgentType;
use cynode_testkit::provider::{Answer, ScriptedProvider};
use cynode_wire::agents::BindingView;
use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::processes::send_signal;
use crate::project_manager::{agent, issue_bound_agent_client, system};
use crate::system::{PATIENCE, System};
use crate::work::{commands, create_task_once};

/// Tasks whose commands do not end, with agents that work on them.
struct AgentTeam {
    system: System,
    manager: Client,
}

/// An agent on a task.
struct AgentOnTask {
    client: Client,
    task: TaskId,
    role: &'static str,
    /// Instructions that replies carried besides their result.
    heard: Mutex<VecDeque<Value>>,
}

impl AgentOnTask {
    async fn call(&self, tool: &str, more: Value) -> Value {
        let mut arguments = json!({ "task_id": self.task, "agentRole": self.role });
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let answer = self.client.mcp_call(tool, &arguments).await;
        let answer = answer.unwrap_or_else(|fault| panic!("{tool}: {fault}"));
        self.heard.lock().unwrap().extend(answer.instructions.iter().map(|heard| json!(heard)));
        answer.structured.unwrap()
    }

    async fn report(&self, kind: &str, component: &str, payload: Value) {
        let report = json!({ "messageType": kind, "component": component, "payload": payload });
        self.call("apmas_report_to_pm", report).await;
    }

    async fn submit(&self, unit: &str) {
        let work = json!({ "workUnitId": unit, "artifactPath": "a.md", "summary": "as it says" });
        self.call("apmas_submit_work", work).await;
    }

    /// The first instruction that the project manager has for the agent.
    async fn instruction(&self) -> (String, String) {
        let reported = eventually("an instruction", async || {
            let beat = self.call("apmas_heartbeat", json!({ "status": "working" })).await;
            let listed = beat["instructions"].as_array().unwrap().first().cloned();
            let carried = self.heard.lock().unwrap().pop_front();
            let reported = listed.or(carried);
            reported.ok_or_else(|| format!("{} of {} hears nothing", self.role, self.task))
        });
        let reported = reported.await;
        let text = |name: &str| reported[name].as_str().unwrap().to_owned();
        (text("instruction_type"), text("instructions"))
    }
}

impl AgentTeam {
    /// A task with a plan of one component with these units, and the agent of its job in this role.
    async fn task(&self, component: &str, units: &[&str], role: &'static str) -> AgentOnTask {
        let task = create_task_once(&self.system.client, commands(&["tail -f /dev/null"])).await;
        if !units.is_empty() {
            let component = json!({ "name": component, "description": "a part", "units": units });
            let plan = json!({ "task_id": task, "components": [component] });
            self.manager.mcp_call("apmas_create_plan", &plan).await.unwrap();
        }
        let job_id = eventually("a job", async || {
            let result = self.system.client.task_result(&task.to_string()).await.unwrap();
            result.jobs.first().map(|job| job.id).ok_or_else(|| format!("{result:?}"))
        });
        let job_id = Some(job_id.await);
        let binding = BindingView { task_id: Some(task), job_id, ..BindingView::default() };
        let client = issue_bound_agent_client(&self.system, AgentType::Sandbox, binding).await;
        AgentOnTask { client, task, role, heard: Mutex::default() }
    }

    /// Another agent on the task of an agent, without its own job.
    async fn beside(&self, other: &AgentOnTask, role: &'static str) -> AgentOnTask {
        let client = agent(&self.system, AgentType::Pa, Some(other.task)).await;
        AgentOnTask { client, task: other.task, role, heard: Mutex::default() }
    }

    async fn unit(&self, task: TaskId, unit: &str) -> Value {
        let arguments = json!({ "task_id": task, "work_unit_id": unit });
        let found = self.manager.mcp_call("db.work_unit.get", &arguments).await.unwrap();
        found.structured.unwrap()
    }

    async fn until_unit_is(&self, task: TaskId, unit: &str, status: &str) -> Value {
        eventually(unit, async || {
            let found = self.unit(task, unit).await;
            if found["status"] == status { Ok(found) } else { Err(found.to_string()) }
        })
        .await
    }

    /// The messages about a task that wait for a person.
    fn inbox(&self, task: TaskId) -> Vec<Value> {
        let task = task.to_string();
        let listed =
            self.system.cynork(&["inbox", "list", "--task", &task, "-o", "json"]).expect_success();
        listed.json()["messages"].as_array().unwrap().clone()
    }
}

/// The report of a reviewer that requests changes; `round` makes each one different.
fn wanted_changes(round: u32) -> Value {
    let issue = json!({ "description": "too long", "fileLocation": "a.md:1", "howToFix": "cut" });
    let summary = format!("not yet, in round {round}");
    json!({ "verdict": "changes_requested", "summary": summary, "majorIssues": [issue] })
}

/// Polls for an effect of other processes.
async fn eventually<T>(what: &str, look: impl AsyncFn() -> Result<T, String>) -> T {
    let begun = Instant::now();
    loop {
        match look().await {
            Ok(found) => return found,
            Err(seen) => assert!(begun.elapsed() < PATIENCE, "{what} did not happen: {seen}"),
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Makes the model approve a unit.
fn script_approval(provider: &ScriptedProvider, unit: &str) {
    let approved = json!({ "verdict": "approve", "issues": [], "notes": "fine" });
    let question = format!("Review the work submitted for {unit}");
    provider.when(&question, Answer::tool_call("respond", approved));
}

async fn team(provider: &ScriptedProvider) -> AgentTeam {
    script_approval(provider, "impl:pay");
    let answer = json!({ "answer": "Use blue.", "reason": "the request says so" });
    provider
        .when("Answer the question of the agent developer", Answer::tool_call("respond", answer));
    let system = system(provider).await;
    let manager = agent(&system, AgentType::Pm, None).await;
    AgentTeam { system, manager }
}

#[tokio::test]
async fn every_type_of_report_takes_effect_with_a_real_project_manager() {
    let provider = ScriptedProvider::start();
    let team = team(&provider).await;

    completed_work_is_asked_for_reviewed_and_approved(&team).await;
    approvals_and_passed_tests_close_their_units(&team).await;
    wanted_changes_send_the_unit_back(&team).await;
    failures_and_blockers_are_answered(&team).await;
    questions_are_answered_by_the_model_or_by_a_person(&team).await;

    let listed = team.manager.mcp_call("db.message.list", &json!({ "limit": 200 })).await.unwrap();
    let listed = listed.structured.unwrap();
    let mut tasks = BTreeSet::new();
    for message in listed["items"].as_array().unwrap() {
        assert!(message["given_up"].is_null(), "{message:#}");
        tasks.insert(message["task_id"].as_str().unwrap());
    }
    for task in tasks {
        team.system.client.task_cancel(task).await.unwrap();
    }
}

/// `work_completed`
async fn completed_work_is_asked_for_reviewed_and_approved(team: &AgentTeam) {
    let developer = team.task("pay", &["implementation"], "developer").await;

    let done = json!({ "summary": "as it says", "workUnitId": "impl:pay" });
    developer.report("work_completed", "pay", done).await;
    let (kind, words) = developer.instruction().await;
    assert_eq!(kind, "continue");
    assert!(words.contains("apmas_submit_work"), "{words}");
    developer.submit("impl:pay").await;

    let unit = team.until_unit_is(developer.task, "impl:pay", "completed").await;
    assert!(unit["notes"].is_null(), "{unit:#}");
}

/// `review_approved`, `tests_passed`
async fn approvals_and_passed_tests_close_their_units(team: &AgentTeam) {
    let reviewer = team.task("auth", &["review"], "reviewer").await;
    let tester = team.task("auth", &["test"], "tester").await;
    reviewer.submit("review:auth").await;
    tester.submit("test:auth").await;

    let review = json!({ "verdict": "approved", "summary": "fine" });
    reviewer.report("review_approved", "auth", review).await;
    tester.report("tests_passed", "auth", json!({ "total": 2, "passed": 2, "failed": 0 })).await;

    team.until_unit_is(reviewer.task, "review:auth", "completed").await;
    team.until_unit_is(tester.task, "test:auth", "completed").await;
}

/// `review_changes_requested`
async fn wanted_changes_send_the_unit_back(team: &AgentTeam) {
    let developer = team.task("auth", &["implementation", "review"], "developer").await;
    let reviewer = team.beside(&developer, "reviewer").await;
    developer.submit("impl:auth").await;

    reviewer.report("review_changes_requested", "auth", wanted_changes(1)).await;

    let unit = team.until_unit_is(developer.task, "impl:auth", "revision_requested").await;
    assert_eq!(unit["revision_feedback"]["majorIssues"][0]["description"], "too long");
    assert_eq!(developer.instruction().await.0, "revise");
}

/// `tests_failed`, `work_blocked`, and a status that says the same about a unit
async fn failures_and_blockers_are_answered(team: &AgentTeam) {
    let developer = team.task("auth", &["implementation"], "developer").await;
    let tester = team.beside(&developer, "tester").await;
    let stuck = json!({
        "status": "blocked", "message": "stuck", "blockedReason": "no disk",
        "workUnitId": "impl:auth",
    });
    developer
        .call(
            "apmas_report_status",
            json!({
                "status": "working", "message": "on it", "workUnitId": "impl:auth",
            }),
        )
        .await;
    developer.call("apmas_report_status", stuck).await;
    assert_eq!(developer.instruction().await.0, "continue");
    team.until_unit_is(developer.task, "impl:auth", "assigned").await;

    let failed = json!({ "total": 2, "passed": 1, "failed": 1 });
    tester.report("tests_failed", "auth", failed).await;
    assert_eq!(developer.instruction().await.0, "reduce_scope", "it failed twice");

    let developer = team.task("auth", &[], "developer").await;
    developer.report("work_blocked", "auth", json!({ "reason": "no network" })).await;
    assert_eq!(developer.instruction().await.0, "continue");
}

/// `needs_clarification`, `request_human_input`
async fn questions_are_answered_by_the_model_or_by_a_person(team: &AgentTeam) {
    let developer = team.task("auth", &[], "developer").await;

    let request = json!({ "question": "Which colour?" });
    developer.report("needs_clarification", "auth", request).await;
    assert_eq!(developer.instruction().await, ("continue".to_owned(), "Use blue.".to_owned()));

    let request = json!({ "question": "May I spend money?" });
    developer.report("request_human_input", "auth", request).await;
    let task = developer.task.to_string();
    let listed =
        team.system.cynork(&["inbox", "list", "--task", &task, "-o", "json"]).expect_success();
    let listed: Value = serde_json::from_str(&listed.stdout).unwrap();
    let message = &listed["messages"][0];
    assert_eq!(message["content"], "May I spend money?", "{listed:#}");
    assert_eq!(message["needs_person"], "developer requests a person", "{listed:#}");
    let id = message["id"].as_str().unwrap();
    team.system.cynork(&["inbox", "answer", id, "Up to ten euros."]).expect_success();
    let reported = developer.instruction().await;
    assert_eq!(reported, ("continue".to_owned(), "Up to ten euros.".to_owned()));
    let left = team.system.cynork(&["inbox", "list", "--task", &task]).expect_success();
    assert!(left.stdout.contains("nothing is waiting for you"), "{left:?}");
}

#[tokio::test]
async fn after_two_rounds_a_unit_is_not_sent_back_and_a_person_is_needed() {
    let provider = ScriptedProvider::start();
    let team = team(&provider).await;
    let developer = team.task("auth", &["implementation", "review"], "developer").await;
    let reviewer = team.beside(&developer, "reviewer").await;
    let review = async |round: u32| {
        developer.submit("impl:auth").await;
        reviewer.report("review_changes_requested", "auth", wanted_changes(round)).await;
    };

    for round in 1..=2 {
        review(round).await;
        let unit = team.until_unit_is(developer.task, "impl:auth", "revision_requested").await;
        assert_eq!(unit["revision_count"], round, "{unit:#}");
        assert_eq!(developer.instruction().await.0, "revise");
    }
    review(3).await;

    let reason = eventually("a report that needs a person", async || {
        let waiting = team.inbox(developer.task);
        let is_review = |message: &&Value| message["type"] == "review_changes_requested";
        let found = waiting.iter().find(is_review);
        found.map(|found| found["needs_person"].to_string()).ok_or_else(|| format!("{waiting:?}"))
    });
    let reason = reason.await;
    assert!(reason.contains("impl:auth was sent back 2 times"), "{reason}");
    let unit = team.unit(developer.task, "impl:auth").await;
    let end = (&unit["status"], &unit["revision_count"]);
    assert_eq!(end, (&json!("submitted"), &json!(2)), "{unit:#}");
    assert_eq!(developer.instruction().await.0, "pause");
    team.system.client.task_cancel(&developer.task.to_string()).await.unwrap();
}

#[tokio::test]
async fn a_report_whose_project_manager_is_killed_while_it_decides_takes_effect_once() {
    let provider = ScriptedProvider::start();
    let team = team(&provider).await;
    let developer = team.task("till", &["implementation"], "developer").await;
    // The model does not answer the first request.
    provider.script([Answer::no_response()]);
    let manager = team.system.wait_for_role("pma").await;
    developer.submit("impl:till").await;
    provider.wait_for_requests(1).await;
    assert_eq!(team.unit(developer.task, "impl:till").await["status"], "submitted");
    script_approval(&provider, "impl:till");

    send_signal(manager, Signal::SIGKILL);
    team.until_unit_is(developer.task, "impl:till", "completed").await;

    assert_ne!(team.system.wait_for_role("pma").await, manager);
    assert!(developer.instruction().await.1.contains("Run the tests"));
    let messages = json!({ "task_id": developer.task });
    let messages = team.manager.mcp_call("db.message.list", &messages).await.unwrap();
    let messages = messages.structured.unwrap()["items"].as_array().unwrap().clone();
    let of = |kind: &str| messages.iter().filter(|it| it["kind"] == kind).collect::<Vec<_>>();
    assert_eq!((of("instruction").len(), of("submission").len()), (1, 1), "{messages:#?}");
    assert!(of("submission")[0]["given_up"].is_null(), "{messages:#?}");
    team.system.client.task_cancel(&developer.task.to_string()).await.unwrap();
}
