//! What agents of sandboxes recorded: read with the rows of its request, and trusted in nothing.

use chrono::{DateTime, Utc};
use cynode_client::Client;
use cynode_domain::ids::{JobId, ProfileId, TraceId};
use cynode_domain::policy::AgentType;
use cynode_domain::trace::{MAX_TRACE_EVENTS, TraceEvents};
use cynode_runtime::clock::{Clock as _, SystemClock};
use cynode_wire::agents::BindingView;
use cynode_wire::nodes::INCARNATION_HEADER;
use cynode_wire::profiles::{CreateProfile, ProfileView};
use cynode_wire::tasks::TaskView;
use cynode_wire::traces::{TraceQuery, TraceSpan, TraceSpanKind, TraceSpanStatus, TraceView};
use http::Method;
use serde_json::{Value, json};

use crate::actors::{HarnessNode, registration};
use crate::agent_connections::{agent_job_of, agent_node};
use crate::harness::{OrchestratorHarness, refused, task_request};
use crate::mcp::{Mcp, issue};

/// The events of an agent that reads a file and finishes.
fn work(trace: TraceId, profile: Option<ProfileId>, actor: &str, at: DateTime<Utc>) -> Value {
    let event = |kind: &str, more: Value| {
        let mut event = json!({
            "trace_id": trace, "profile_id": profile, "actor": actor, "at": at, "kind": kind,
        });
        event.as_object_mut().unwrap().append(&mut more.as_object().unwrap().clone());
        event
    };
    json!({ "events": [
        event("execution_started", json!({})),
        event("step_started", json!({ "step_index": 0 })),
        event("step_finished", json!({ "step_index": 0, "fields": { "tool": "read_file" } })),
        event("execution_stopped", json!({ "stop": "goal_met", "fields": { "steps": 1 } })),
    ]})
}

fn read(events: Value) -> TraceEvents {
    serde_json::from_value(events).unwrap()
}

async fn careful_profile(harness: &OrchestratorHarness) -> ProfileView {
    let body: CreateProfile = serde_json::from_value(json!({ "name": "careful" })).unwrap();
    let project = harness.task().await.project_id.to_string();
    harness.admin().profile_create(&project, &body).await.unwrap()
}

async fn task_in(harness: &OrchestratorHarness, profile: Option<ProfileId>) -> TaskView {
    let body = task_request(json!({ "profile": profile }));
    harness.admin().task_create(&body).await.unwrap()
}

async fn trace_of(client: &Client, task: &TaskView) -> TraceView {
    let trace = client.run_get(&task.task_name).await.unwrap().run.trace_id;
    client.trace_get(trace, &TraceQuery::default()).await.unwrap()
}

fn events(view: &TraceView) -> Vec<&TraceSpan> {
    view.spans.iter().filter(|span| span.kind == TraceSpanKind::Event).collect()
}

/// A node with a job of an agent, in a profile.
async fn agent_at_work(harness: &OrchestratorHarness) -> (HarnessNode, TaskView, JobId, ProfileId) {
    let profile = careful_profile(harness).await.id;
    let node = agent_node(harness, "anvil").await;
    let task = task_in(harness, Some(profile)).await;
    let job = agent_job_of(harness, &node, task.id).await;
    (node, task, job, profile)
}

pub(crate) async fn what_an_agent_recorded_is_in_the_trace_of_its_request_with_its_profile(
    harness: OrchestratorHarness,
) {
    let profile = careful_profile(&harness).await.id;
    let node = agent_node(&harness, "anvil").await;
    let task = task_in(&harness, Some(profile)).await;
    let plain = task_in(&harness, None).await;
    let admin = harness.admin();
    for (task, name) in [(&task, "careful"), (&plain, "default")] {
        let job = agent_job_of(&harness, &node, task.id).await;
        let trace = trace_of(&admin, task).await.trace_id;
        let own = task.profile_id.unwrap_or_else(|| ProfileId::default_of(task.project_id));
        let recorded = read(work(trace, Some(own), "sandbox_agent", SystemClock.now()));
        node.client.node_record_trace(job, &recorded).await.unwrap();
        node.end(job, 0).await.unwrap();

        let view = trace_of(&admin, task).await;

        let shown = events(&view);
        let names: Vec<_> = shown.iter().map(|span| span.name.as_str()).collect();
        assert_eq!(
            names,
            ["execution_started", "step_started", "step_finished", "execution_stopped"]
        );
        let place = Some(format!("job:{job}"));
        assert!(shown.iter().all(|span| span.parent_id == place), "{shown:?}");
        assert!(shown.iter().all(|span| span.profile_id == Some(own)), "{shown:?}");
        assert_eq!(shown[2].detail, format!("sandbox_agent profile={name} step=0 tool=read_file"));
        assert_eq!(shown[3].detail, format!("sandbox_agent profile={name} stop=goal_met steps=1"));
        assert_eq!(shown[3].status, TraceSpanStatus::Ok);
        let is_silent = view.unknown.iter().any(|text| text.contains("recorded no steps"));
        assert!(!is_silent, "{view:?}");
    }
}

pub(crate) async fn a_sandbox_writes_events_of_no_other_trace_user_profile_or_agent(
    harness: OrchestratorHarness,
) {
    let (admin, bob) = (harness.admin(), harness.user("bob").await);
    let of_bob = bob.task_create(&task_request(json!({}))).await.unwrap();
    let trace_of_bob = trace_of(&bob, &of_bob).await;
    let profile_of_bob = ProfileId::default_of(of_bob.project_id);
    let (node, task, job, profile) = agent_at_work(&harness).await;
    let before = trace_of(&admin, &task).await;
    let hostile =
        [("0001-01-01T00:00:00Z", "project_manager"), ("9999-12-31T23:59:59Z", "orchestrator")];
    let mut forged = json!([]);
    for (at, actor) in hostile {
        let at: DateTime<Utc> = at.parse().unwrap();
        let mut some = work(trace_of_bob.trace_id, Some(profile_of_bob), actor, at);
        some["events"][2]["fields"]["duration_ms"] = json!(i64::MAX);
        some["events"][2]["fields"]["model"] = json!("\u{1b}[2Jshown");
        some["events"][2]["fields"]["outcome"] =
            json!("cyn_pm_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG");
        some["events"][2]["step_index"] = json!(u32::MAX);
        forged.as_array_mut().unwrap().append(some["events"].as_array_mut().unwrap());
    }

    let forged = read(json!({ "events": forged }));
    node.client.node_record_trace(job, &forged).await.unwrap();

    assert_eq!(trace_of(&bob, &of_bob).await.spans, trace_of_bob.spans);
    refused(bob.trace_get(before.trace_id, &TraceQuery::default()).await, 404);
    let view = trace_of(&admin, &task).await;
    assert_eq!(view.started_at, before.started_at, "no event is before its job");
    assert!(view.duration_ms < 600_000, "no event is after it was stored: {view:?}");
    let job_start =
        view.spans.iter().find(|span| span.id == format!("job:{job}")).unwrap().start_ms;
    let shown = events(&view);
    assert_eq!(shown.len(), 8);
    for span in shown {
        assert_eq!(span.profile_id, Some(profile));
        assert!(span.detail.starts_with("sandbox_agent profile=careful"), "{span:?}");
        assert!(span.start_ms >= job_start, "{span:?}");
        assert!(!span.detail.contains('\u{1b}') && !span.detail.contains("0123456789"), "{span:?}");
    }
    node.end(job, 0).await.unwrap();
}

pub(crate) async fn events_of_a_job_are_stored_once_and_bounded(harness: OrchestratorHarness) {
    let admin = harness.admin();
    let body = with_agents("anvil");
    let joining = harness.client(harness.secret("node-join.token"));
    let joined = joining.node_register(&body).await.unwrap();
    let process = body.incarnation.id;
    let client = harness.client(joined.node_token.clone()).with_incarnation(process);
    let node = HarnessNode { client, id: joined.node_id, process };
    let task = task_in(&harness, None).await;
    let job = agent_job_of(&harness, &node, task.id).await;
    let trace = trace_of(&admin, &task).await.trace_id;
    let one = work(trace, None, "sandbox_agent", SystemClock.now())["events"][1].clone();
    let mut many = vec![one; MAX_TRACE_EVENTS + 100];
    let words = vec!["x".repeat(100); 100];
    many[0]["fields"] = json!({ "tools": words, "tool": words, "model": words, "prompt": "text" });
    // As no client of ours would send it.
    let put = async |body: &Value| {
        let request = harness.request(Method::PUT, &format!("/v1/node/jobs/{job}/trace"));
        let request = request.bearer_auth(&joined.node_token);
        let request = request.header(INCARNATION_HEADER, process.to_string()).json(body);
        // A body that is rejected while it is sent may end the connection.
        request.send().await.ok().map(|response| response.status().as_u16())
    };

    assert_eq!(put(&json!({ "events": many })).await, Some(204));
    assert_eq!(put(&work(trace, None, "sandbox_agent", SystemClock.now())).await, Some(204));
    let huge = json!({ "events": vec![json!({ "kind": "x".repeat(1000) }); 20_000] });
    assert!(matches!(put(&huge).await, Some(413) | None), "the size of the body is not limited");

    let view = trace_of(&admin, &task).await;
    let shown = events(&view);
    assert_eq!(shown.len(), MAX_TRACE_EVENTS);
    assert!(shown.iter().all(|span| span.name == "step_started"), "the second list was stored");
    assert!(shown.iter().all(|span| span.detail.len() < 5_000), "{shown:?}");
    node.end(job, 0).await.unwrap();
}

fn with_agents(slug: &str) -> cynode_wire::nodes::RegisterNode {
    let mut body = registration(slug, true);
    let features = &mut body.capabilities.sandbox.features;
    features.push(cynode_wire::nodes::AGENTS_FEATURE.to_owned());
    body
}

pub(crate) async fn only_the_holder_of_an_open_job_of_an_agent_records_its_trace(
    harness: OrchestratorHarness,
) {
    let (node, task, job, profile) = agent_at_work(&harness).await;
    let other = agent_node(&harness, "other").await;
    let recorded =
        read(work(TraceId::generate(), Some(profile), "sandbox_agent", SystemClock.now()));
    let admin = harness.admin().with_incarnation(node.process);
    for stranger in [&other.client, &node.other_process().client, &admin] {
        assert!(stranger.node_record_trace(job, &recorded).await.is_err());
    }
    refused(node.client.node_record_trace(JobId::generate(), &recorded).await, 409);
    let runner = harness.runner();
    let lease = runner.start(harness.task().await.id).await.unwrap().lease;
    let command = runner.dispatch(lease, 0).await.unwrap();
    let taken = node.poll(&[job]).await.assignments;
    assert_eq!(taken.iter().map(|it| it.job_id).collect::<Vec<_>>(), [command]);
    refused(node.client.node_record_trace(command, &recorded).await, 400);
    node.end(job, 0).await.unwrap();
    refused(node.client.node_record_trace(job, &recorded).await, 409);

    assert_eq!(events(&trace_of(&harness.admin(), &task).await), Vec::<&TraceSpan>::new());
    node.end(command, 0).await.unwrap();
}

pub(crate) async fn a_project_manager_reads_a_trace_and_an_agent_of_a_task_no_other_one(
    harness: OrchestratorHarness,
) {
    let admin = harness.admin();
    let (task, other) = (task_in(&harness, None).await, task_in(&harness, None).await);
    let (own, foreign) = (trace_of(&admin, &task).await, trace_of(&admin, &other).await);
    let bob = harness.user("bob").await;
    let of_bob = bob.task_create(&task_request(json!({}))).await.unwrap();
    let of_bob = trace_of(&bob, &of_bob).await.trace_id;
    let manager = Mcp::agent(&harness, AgentType::Pm).await;
    let bound = BindingView { task_id: Some(task.id), ..BindingView::default() };
    let issued = issue(&harness, AgentType::Pm, bound).await;
    let of_task = Mcp::at(&harness.url(), &issued.secret);
    let get = async |agent: &Mcp, trace: TraceId| {
        agent.answer("db.trace.get", json!({ "trace_id": trace })).await["result"].clone()
    };

    for (agent, trace) in [(&manager, &own), (&manager, &foreign), (&of_task, &own)] {
        let read = get(agent, trace.trace_id).await;
        let spans = read["structuredContent"]["spans"].as_array().unwrap();
        // The call itself is a span too, if its token is bound to the task.
        let rows: Vec<_> = spans.iter().filter(|span| span["kind"] != "tool_call").collect();
        assert_eq!(json!(rows), json!(trace.spans), "{read}");
    }
    let missing = get(&of_task, TraceId::generate()).await;
    assert_eq!(missing["isError"], true, "{missing}");
    let words = |answer: &Value, trace: TraceId| answer.to_string().replace(&trace.to_string(), "");
    for (agent, trace) in [(&of_task, foreign.trace_id), (&of_task, of_bob), (&manager, of_bob)] {
        let refusal = get(agent, trace).await;
        assert_eq!(refusal["isError"], true, "{refusal}");
        assert!(words(&refusal, trace).contains("there is no trace"), "{refusal}");
        assert!(refusal.get("structuredContent").is_none_or(|it| it.get("spans").is_none()));
    }
    let limited = json!({ "trace_id": own.trace_id, "limit": 0 });
    assert_eq!(manager.answer("db.trace.get", limited).await["result"]["isError"], true);
    assert!(manager.tools().await.contains(&"db.trace.get".to_owned()));
}
