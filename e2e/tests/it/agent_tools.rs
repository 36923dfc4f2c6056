//! Tools that the gateway denies to agents, and access to the listener of the project manager.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;

use cynode_client::{Client, McpClientError};
use cynode_domain::ids::{JobId, TaskId};
use cynode_domain::policy::{AgentType, Stage};
use serde_json::{Value, json};

use crate::project_manager::{agent, done};
use crate::system::System;
use crate::work::commands;

/// Panics unless the gateway denies the call at this stage.
async fn assert_refused(agent: &Client, tool: &str, arguments: &Value, expected: Stage) {
    match agent.mcp_call(tool, arguments).await {
        Err(McpClientError::Refused { stage, .. }) => assert_eq!(stage, expected, "{tool}"),
        other => panic!("{tool}: {other:?}"),
    }
}

/// The first job of a task.
async fn first_job(system: &System, task: TaskId) -> JobId {
    system.client.task_result(&task.to_string()).await.unwrap().jobs[0].id
}

#[tokio::test]
async fn an_analyst_sees_its_own_task_and_no_other() {
    let system = System::new().await;
    let own = done(&system, commands(&["echo own"])).await.id;
    let other = done(&system, commands(&["echo other"])).await.id;
    let job = first_job(&system, own).await;
    let analyst = agent(&system, AgentType::Pa, Some(own)).await;

    let call = async |tool: &str, arguments: Value| analyst.mcp_call(tool, &arguments).await;
    let seen = call("db.task.get", json!({ "task_id": own })).await.unwrap();
    let listed = call("db.task.list", json!({})).await.unwrap().structured.unwrap();

    assert!(seen.structured.unwrap()["id"] == json!(own));
    assert_eq!(listed["items"].as_array().unwrap().len(), 1, "{listed:#}");
    for tool in ["db.task.get", "db.task.logs", "db.task.result", "db.job.list", "artifact.list"] {
        assert_refused(&analyst, tool, &json!({ "task_id": other }), Stage::Context).await;
    }
    let finding =
        json!({ "task_id": other, "status": "fail", "severity": "error", "message": "x" });
    assert_refused(&analyst, "db.finding.create", &finding, Stage::Context).await;
    // It starts no work, and requests no other analyst, even with arguments that the tools accept.
    let new_task = json!({ "input_mode": "commands", "commands": ["echo more"] });
    let beyond_its_role = [
        ("db.task.create", new_task),
        ("db.task.cancel", json!({ "task_id": own })),
        ("pm.analyst.request", json!({ "task_id": own, "job_id": job })),
    ];
    for (tool, arguments) in beyond_its_role {
        assert_refused(&analyst, tool, &arguments, Stage::Allowlist).await;
    }
}

#[tokio::test]
async fn a_project_manager_is_refused_tools_that_are_for_sandboxes_only() {
    let system = System::new().await;
    let task = done(&system, commands(&["echo hello"])).await.id;
    let job = first_job(&system, task).await;
    let manager = agent(&system, AgentType::Pm, None).await;

    let note = json!({ "task_id": task, "job_id": job, "key": "k", "content": "c" });
    let work = json!({
        "task_id": task, "agentRole": "developer", "workUnitId": "impl:auth",
        "artifactPath": "a.md", "summary": "s",
    });
    let status = json!({
        "task_id": task, "agentRole": "developer", "status": "working", "message": "m",
    });
    let of_sandboxes =
        [("memory.add", note), ("apmas_submit_work", work), ("apmas_report_status", status)];
    let listed = manager.mcp_tools().await.unwrap();
    for (tool, arguments) in of_sandboxes {
        assert_refused(&manager, tool, &arguments, Stage::Allowlist).await;
        assert!(listed.iter().all(|offered| offered.name != tool), "{tool} is listed");
    }
}

#[tokio::test]
async fn a_users_token_opens_no_door_of_the_project_manager() {
    let system = System::new().await;
    let socket = system.data_dir().join("run/pma/project_manager.sock");
    let token = std::fs::read_to_string(&system.announced.admin_token_file).unwrap();

    let mut stream = UnixStream::connect(socket).unwrap();
    let request = format!(
        "POST /v1/handoff/chat HTTP/1.1\r\nhost: pma\r\nauthorization: Bearer {}\r\n\
         content-length: 2\r\nconnection: close\r\n\r\n{{}}",
        token.trim()
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();

    assert!(answer.starts_with("HTTP/1.1 401"), "{answer}");
}
