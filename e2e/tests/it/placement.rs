//! Placement of jobs, and access to workspaces: real nodes and a real project manager.

use std::process::Child;
use std::time::{Duration, Instant};

use cynode_client::{Client, McpClientError};
use cynode_domain::ids::TaskId;
use cynode_domain::policy::AgentType;
use cynode_wire::agents::{BindingView, IssueAgentToken};
use cynode_wire::auth::CreateUser;
use cynode_wire::tasks::LogQuery;
use nix::sys::signal::Signal;
use secrecy::SecretString;
use serde_json::{Value, json};

use crate::processes::{eventually, is_alive, send_signal};
use crate::programs::call;
use crate::system::{PATIENCE, System};
use crate::work::{commands, create_task_once, retry_while_unavailable, wait_until_closed};

/// Sorts after any other name, so no rule would choose it first.
const SECOND: &str = "zz-second";

/// A second worker node of a system, killed on drop.
struct SecondWorkerNode(Child);

impl SecondWorkerNode {
    async fn join(system: &System) -> Self {
        let data = system.data_dir().display().to_string();
        let token = system.data_dir().join("node-join.token").display().to_string();
        let state = system.home().join("second").display().to_string();
        let mut command = call("cynode", system.home());
        command.args(["role", "node", "--data-dir", &data, "--slug", SECOND]);
        command.args(["--orchestrator-url", &system.announced.url]);
        command.args(["--join-token-file", &token, "--state-dir", &state]);
        let log = std::fs::File::create(system.home().join("second.log")).unwrap();
        let child = command.stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap();
        let node = Self(child);
        let is_there = async || {
            let nodes = retry_while_unavailable(async || system.client.node_list().await).await;
            nodes.iter().any(|node| node.node_slug == SECOND && node.last_seen_at.is_some())
        };
        while !is_there().await {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        node
    }
}

impl Drop for SecondWorkerNode {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

async fn agent_client(system: &System, agent_type: AgentType, task_id: Option<TaskId>) -> Client {
    agent_client_for(system, agent_type, BindingView { task_id, ..BindingView::default() }, None)
        .await
}

async fn agent_client_for(
    system: &System,
    agent_type: AgentType,
    binding: BindingView,
    user_id: Option<cynode_domain::ids::UserId>,
) -> Client {
    let name = "test".to_owned();
    let body = IssueAgentToken { agent_type, name, user_id, expires_in_seconds: None, binding };
    let secret = system.client.agent_token_issue(&body).await.unwrap().secret;
    Client::new(&system.announced.url, SecretString::from(secret)).unwrap()
}

/// The name of the node that the first step of a task ran on.
async fn first_step_node(system: &System, task: TaskId) -> String {
    let result = system.client.task_result(&task.to_string()).await.unwrap();
    let node = result.jobs[0].node_id.unwrap().to_string();
    system.client.node_get(&node).await.unwrap().node_slug
}

#[tokio::test]
async fn work_runs_on_the_node_that_the_project_manager_chooses_and_without_it_by_rule() {
    let system = System::new().await;
    system.wait_until_ready().await;
    let _second = SecondWorkerNode::join(&system).await;
    let key = "agents.project_manager.placement.node";
    let said = system.cynork(&["prefs", "set", key, &format!("\"{SECOND}\"")]);
    assert_eq!(said.code, 0, "{}", said.stderr);

    let begun = Instant::now();
    let chosen = loop {
        let task = create_task_once(&system.client, commands(&["echo here"])).await;
        let view = wait_until_closed(&system.client, task, PATIENCE).await;
        assert_eq!(view.status.as_str(), "completed", "{view:#?}");
        let why = system.cynork(&["run", "explain", &view.run_id.unwrap().to_string()]).stdout;
        if why.contains("a preference names it") {
            break task;
        }
        // On a busy machine its answer may be late, and the fallback rule decides.
        assert!(why.contains("fallback rule"), "{why}");
        assert!(begun.elapsed() < PATIENCE, "{why}");
    };
    assert_eq!(first_step_node(&system, chosen).await, SECOND);

    // A project manager that does not answer causes a short delay only.
    let manager = system.wait_for_role("pma").await;
    send_signal(manager, Signal::SIGSTOP);
    let ruled = create_task_once(&system.client, commands(&["echo there"])).await;
    let view = wait_until_closed(&system.client, ruled, PATIENCE).await;
    send_signal(manager, Signal::SIGCONT);
    assert_eq!(view.status.as_str(), "completed", "{view:#?}");
    let why = system.cynork(&["run", "explain", &view.run_id.unwrap().to_string()]).stdout;
    assert!(why.contains("fallback rule"), "{why}");

    send_signal(system.wait_for_role("pma").await, Signal::SIGKILL);
    let killed = create_task_once(&system.client, commands(&["echo everywhere"])).await;
    let view = wait_until_closed(&system.client, killed, PATIENCE).await;
    assert_eq!(view.status.as_str(), "completed", "{view:#?}");
}

struct TaskSandbox<'a> {
    manager: &'a Client,
    task: TaskId,
    id: Value,
}

impl TaskSandbox<'_> {
    async fn call(&self, tool: &str, more: Value) -> Value {
        let mut arguments = json!({ "task_id": self.task, "job_id": self.id });
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        match self.manager.mcp_call(tool, &arguments).await {
            Ok(answer) => answer.structured.unwrap(),
            Err(McpClientError::ToolFailed { message, .. }) => json!({ "fault": message }),
            Err(error) => panic!("{tool}: {error}"),
        }
    }
}

#[tokio::test]
async fn the_project_manager_reaches_into_the_workspace_of_a_task_while_its_step_runs() {
    let system = System::new().await;
    system.wait_until_ready().await;
    let line = "while [ ! -e sub/go ]; do sleep 0.05; done; cat sub/go";
    let task = create_task_once(&system.client, commands(&[line])).await;
    let manager = agent_client(&system, AgentType::Pm, None).await;
    let made = manager.mcp_call("sandbox.create", &json!({ "task_id": task })).await.unwrap();
    let made = made.structured.unwrap();
    assert_eq!((&made["status"], &made["image_ref"]), (&json!("ready"), &json!("host")));
    let sandbox = TaskSandbox { manager: &manager, task, id: made["job_id"].clone() };

    let ran = sandbox
        .call("sandbox.exec", json!({ "command": "echo out; echo err >&2; echo kept > f; exit 3" }))
        .await;
    assert_eq!((&ran["exit_code"], &ran["stdout"]), (&json!(3), &json!("out\n")), "{ran:#}");
    let words = json!({ "command": "printf", "argv": ["%s", "$HOME"] });
    assert_eq!(sandbox.call("sandbox.exec", words).await["stdout"], "$HOME");
    let err = json!({ "exec_id": ran["exec_id"], "stream": "stderr" });
    let logs = sandbox.call("sandbox.stream_logs", err).await;
    assert_eq!((&logs["text"], &logs["ended"]), (&json!("err\n"), &json!(true)), "{logs:#}");
    let file = sandbox.call("sandbox.get_file", json!({ "path": "f" })).await;
    assert_eq!(file["content_bytes_base64"], "a2VwdAo=", "{file:#}");
    let missing = sandbox.call("sandbox.get_file", json!({ "path": "none" })).await;
    assert_eq!(missing["fault"], "there is no such file");
    let outside = sandbox.call("sandbox.get_file", json!({ "path": "../../etc/passwd" })).await;
    assert!(outside["fault"].as_str().unwrap().contains("not a relative file path"), "{outside:#}");

    // An orchestrator killed while a command runs finds its result afterwards.
    let line = "while [ ! -e late ]; do sleep 0.05; done; echo survived";
    let long = json!({ "command": line, "wait_ms": 0, "idempotency_key": "k" });
    let begun = sandbox.call("sandbox.exec", long).await;
    assert_eq!(begun["status"], "running");
    let killed = system.wait_for_role("orchestrator").await;
    send_signal(killed, Signal::SIGKILL);
    eventually("its end", PATIENCE, || (!is_alive(killed)).then_some(())).await;
    system.wait_until_ready().await;
    let workspace = system.data_dir().join(format!("node/workspaces/{task}"));
    std::fs::write(workspace.join("late"), "").unwrap();
    let again = json!({ "command": line, "idempotency_key": "k" });
    let ended = sandbox.call("sandbox.exec", again).await;
    assert_eq!((&ended["stdout"], &ended["exec_id"]), (&json!("survived\n"), &begun["exec_id"]));

    let go = json!({ "path": "sub/go", "content_bytes_base64": "d2VudAo=" });
    let put = sandbox.call("sandbox.put_file", go).await;
    assert_eq!(put["size_bytes"], 5, "{put:#}");
    let view = wait_until_closed(&system.client, task, PATIENCE).await;
    assert_eq!(view.status.as_str(), "completed", "{view:#?}");
    let logs = system.client.task_logs(&task.to_string(), &LogQuery::default()).await.unwrap();
    assert_eq!(logs.stdout, "went\n", "what the manager looked at is no output of the task");
    let late = sandbox.call("sandbox.exec", json!({ "command": "true" })).await;
    assert!(late["fault"].as_str().unwrap().starts_with("the task is completed"), "{late:#}");
    assert_eq!(sandbox.call("sandbox.destroy", json!({})).await["destroyed"], true);
}

#[tokio::test]
async fn nobody_but_the_project_manager_of_its_user_reaches_into_a_workspace() {
    let system = System::new().await;
    system.wait_until_ready().await;
    let task = create_task_once(&system.client, commands(&["sleep 60"])).await;
    let manager = agent_client(&system, AgentType::Pm, Some(task)).await;
    let made = manager.mcp_call("sandbox.create", &json!({ "task_id": task })).await.unwrap();
    let made = made.structured.unwrap();
    let (handle, password) = ("eve".to_owned(), "correct horse battery".to_owned());
    let eve = CreateUser { handle, password, is_admin: false };
    let eve = system.client.user_create(&eve).await.unwrap().id;

    let waiting = json!({
        "task_id": task, "job_id": made["job_id"], "command": "sleep 60", "wait_ms": 0,
    });
    let begun = manager.mcp_call("sandbox.exec", &waiting).await.unwrap().structured.unwrap();
    let job_id = serde_json::from_value(begun["exec_id"].clone()).unwrap();
    let in_a_job = BindingView { task_id: Some(task), job_id, ..BindingView::default() };
    let strangers = [
        agent_client(&system, AgentType::Pa, Some(task)).await,
        agent_client_for(&system, AgentType::Sandbox, in_a_job, None).await,
        agent_client_for(&system, AgentType::Pm, BindingView::default(), Some(eve)).await,
    ];
    for stranger in &strangers {
        let exec = json!({ "task_id": task, "job_id": made["job_id"], "command": "true" });
        for (tool, arguments) in
            [("sandbox.create", json!({ "task_id": task })), ("sandbox.exec", exec)]
        {
            let refused = stranger.mcp_call(tool, &arguments).await.unwrap_err();
            assert!(matches!(refused, McpClientError::Refused { .. }), "{tool}: {refused}");
        }
    }

    system.client.task_cancel(&task.to_string()).await.unwrap();
    let is_over = async || {
        let jobs = system.client.task_result(&task.to_string()).await.unwrap().jobs;
        assert!(jobs.iter().filter(|job| job.exec.is_some()).count() == 2, "{jobs:#?}");
        jobs.iter().all(|job| job.status.is_terminal())
    };
    while !is_over().await {
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn tasks_that_no_node_can_run_leave_their_runner_to_others() {
    let system = System::new().await;
    // More than the runner of an installation drives at once.
    for number in 0..20 {
        let name = format!("far-{number}");
        let label = ["--node-label", "zone=nowhere", "--command", "true"];
        let create = [&["task", "create", "--name", &name], &label[..]].concat();
        system.cynork(&create).expect_success();
    }

    let create = ["task", "create", "--name", "near", "--command", "echo here", "--wait"];
    let near = system.cynork(&create).expect_success();

    assert!(near.stdout.contains("here"), "{near:?}");
    let far = system.client.task_get("far-19").await.unwrap();
    let reason = far.blocked_reason.unwrap_or_default();
    assert!(reason.contains("with the label zone=nowhere: there is none"), "{reason}");
    let released = eventually("a run without a runner", PATIENCE, || {
        let shown = system.cynork(&["-o", "json", "run", "show", "far-0"]).stdout;
        shown.contains("\"a worker node\"").then_some(())
    });
    released.await;
    system.cynork(&["task", "cancel", "far-0"]).expect_success();
    let canceled = system.client.task_get("far-0").await.unwrap();
    assert!(canceled.closed, "{canceled:?}");
}
