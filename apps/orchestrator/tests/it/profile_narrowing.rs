//! What a profile does not allow, seen by the model calls and the jobs of its agents.

use cynode_client::Client;
use cynode_domain::ids::JobId;
use cynode_domain::policy::AgentType;
use cynode_testkit::provider::ScriptedProvider;
use cynode_wire::agents::BindingView;
use cynode_wire::credentials::{GivenSecret, SetCredential};
use cynode_wire::nodes::Assignment;
use cynode_wire::profiles::CreateProfile;
use cynode_wire::tasks::{CreateTask, TaskView};
use cynode_wire::traces::{TraceQuery, TraceSpan, TraceSpanKind, TraceView};
use reqwest::Method;
use serde_json::{Value, json};

use crate::agent_connections::{agent_job_of, agent_node};
use crate::agent_profiles::{agent_task, definition};
use crate::canaries::{Canaries, dispatch_agent};
use crate::harness::{HarnessResponse, OrchestratorHarness, task_request};
use crate::mcp::issue;

/// A provider `far` with the priced models `m` and `n`, which everyone may call.
async fn provide(harness: &OrchestratorHarness) -> ScriptedProvider {
    let provider = ScriptedProvider::saying("hi there");
    let price = json!({ "input": 1, "output": 2 });
    let row = json!({
        "kind": "openai", "base_url": provider.openai_url(), "is_local": false,
        "allow": "everyone", "models": ["m", "n"], "prices": { "m": price, "n": price },
    });
    let admin = harness.admin();
    admin.provider_put("far", &serde_json::from_value(row).unwrap()).await.unwrap();
    let credential = SetCredential {
        owner_type: None,
        owner_id: None,
        provider: "far".to_owned(),
        name: None,
        credential_type: None,
        secret: GivenSecret("open-sesame".to_owned()),
        expires_at: None,
    };
    admin.credential_set(&credential).await.unwrap();
    provider
}

/// A profile of the administrator's default project.
async fn add_profile(admin: &Client, name: &str, spec: Value) {
    let body = CreateProfile { name: name.to_owned(), spec: serde_json::from_value(spec).unwrap() };
    admin.profile_create("default", &body).await.unwrap();
}

async fn task_in(admin: &Client, profile: Option<&str>) -> TaskView {
    admin.task_create(&task_request(json!({ "profile": profile }))).await.unwrap()
}

/// The answer to an agent of a task, or of one of its jobs, that calls a model.
async fn ask(
    harness: &OrchestratorHarness,
    (agent, bound): (AgentType, BindingView),
    model: &str,
) -> HarnessResponse {
    let token = issue(harness, agent, bound).await;
    let messages = json!([{ "role": "user", "content": "hello" }]);
    let body = json!({ "model": model, "messages": messages, "max_tokens": 10 });
    let request = harness.request(Method::POST, "/v1/egress/chat/completions");
    HarnessResponse::send(request.bearer_auth(token.secret).json(&body)).await
}

fn manager_of(task: &TaskView) -> (AgentType, BindingView) {
    let task_id = Some(task.id);
    (AgentType::Pm, BindingView { task_id, ..BindingView::default() })
}

pub(crate) async fn a_model_that_the_profile_does_not_allow_is_refused_before_anything_is_sent(
    harness: OrchestratorHarness,
) {
    let (admin, provider) = (harness.admin(), provide(&harness).await);
    harness.task().await;
    add_profile(&admin, "careful", json!({ "models": ["far/m"] })).await;
    let careful = task_in(&admin, Some("careful")).await;
    let plain = task_in(&admin, None).await;

    let refused = ask(&harness, manager_of(&careful), "far/n").await;

    assert_eq!(refused.status.as_u16(), 403, "{}", refused.body);
    assert_eq!(provider.requests().len(), 0);
    for (task, model) in [(&careful, "far/m"), (&plain, "far/n")] {
        let allowed = ask(&harness, manager_of(task), model).await;
        assert_eq!(allowed.status.as_u16(), 200, "{}", allowed.body);
    }
    assert_eq!(provider.requests().len(), 2);
}

pub(crate) async fn the_budget_of_the_profile_blocks_the_calls_of_a_run(
    harness: OrchestratorHarness,
) {
    let (admin, provider) = (harness.admin(), provide(&harness).await);
    harness.task().await;
    add_profile(&admin, "poor", json!({ "limits": { "budget_micros": 0 } })).await;
    add_profile(&admin, "rich", json!({ "limits": { "budget_micros": 1_000_000 } })).await;
    let ask_in = async |profile: Option<&str>| {
        let task = task_in(&admin, profile).await;
        let run_id = Some(admin.run_get(&task.task_name).await.unwrap().run.id);
        let bound = BindingView { run_id, ..BindingView::default() };
        ask(&harness, (AgentType::Pm, bound), "far/m").await
    };

    let refused = ask_in(Some("poor")).await;

    assert_eq!(refused.body["error"]["code"], "insufficient_quota", "{}", refused.body);
    assert_eq!(provider.requests().len(), 0);
    for profile in [Some("rich"), None] {
        let allowed = ask_in(profile).await;
        assert_eq!(allowed.status.as_u16(), 200, "{}", allowed.body);
    }
}

pub(crate) async fn the_limits_of_the_profile_lower_those_of_a_job(harness: OrchestratorHarness) {
    let (admin, runner, node) = (harness.admin(), harness.runner(), harness.node("anvil").await);
    harness.task().await;
    runner.claim(0).await.unwrap();
    let spec = json!({ "limits": { "timeout_s": 60, "memory_mib": 64 } });
    add_profile(&admin, "small", spec).await;
    let limits_of = async |fields: Value| {
        admin.task_create(&task_request(fields)).await.unwrap();
        let lease = runner.claim(0).await.unwrap().lease;
        let job = runner.dispatch(lease, 0).await.unwrap();
        let taken = node.poll(&[]).await.assignments;
        let limits = taken.into_iter().find(|found| found.job_id == job).unwrap().limits;
        node.end(job, 0).await.unwrap();
        (limits.timeout_s, limits.memory_mib)
    };

    let wide = json!({ "timeout_s": 600, "memory_mib": 256 });
    assert_eq!(limits_of(json!({ "limits": wide })).await, (600, 256));
    let lowered = json!({ "limits": wide, "profile": "small" });
    assert_eq!(limits_of(lowered).await, (60, 64));
    let lower = json!({ "limits": { "timeout_s": 30, "memory_mib": 32 }, "profile": "small" });
    assert_eq!(limits_of(lower).await, (30, 32), "a profile raises nothing");
}

/// The definition of the agent profile "opencode" with these hosts.
fn with_hosts(hosts: &[&str]) -> Value {
    let mut spec = definition("opencode", "opencode");
    spec["hosts"] = json!(hosts);
    spec.as_object_mut().unwrap().remove("name");
    spec
}

fn hosts_of(taken: &[Assignment], job: JobId) -> Vec<String> {
    let found = taken.iter().find(|found| found.job_id == job).unwrap();
    found.agent.as_ref().unwrap().hosts.clone()
}

pub(crate) async fn the_hosts_of_the_profile_narrow_those_of_the_agent_of_a_job(
    harness: OrchestratorHarness,
) {
    let canaries = Canaries::new(harness).await;
    let (admin, runner) = (canaries.harness.admin(), canaries.harness.runner());
    let update = async |hosts: &[&str]| {
        let spec = serde_json::from_value(with_hosts(hosts)).unwrap();
        admin.agent_profile_update("opencode", &spec).await.unwrap();
        canaries.pass("opencode").await;
    };
    update(&["*.example.com", "other.test"]).await;
    add_profile(&admin, "careful", json!({ "hosts": ["api.example.com", "third.test"] })).await;
    let dispatch = async |name: &str, profile: Option<&str>| {
        let profile = profile.map(str::to_owned);
        let body = CreateTask { profile, ..agent_task(name, "opencode") };
        admin.task_create(&body).await.unwrap();
        let lease = runner.claim(0).await.unwrap().lease;
        dispatch_agent(&runner, lease, 1).await.unwrap()
    };
    let (narrowed, plain) =
        (dispatch("narrowed", Some("careful")).await, dispatch("plain", None).await);

    let taken = canaries.anvil.poll(&[]).await.assignments;

    assert_eq!(hosts_of(&taken, narrowed), ["api.example.com"]);
    assert_eq!(hosts_of(&taken, plain), ["*.example.com", "other.test"]);
    for job in [narrowed, plain] {
        canaries.anvil.end(job, 0).await.unwrap();
    }
    // A job that waits while the agent profile changes gets the new one, narrowed again.
    let spec = serde_json::from_value(with_hosts(&["api.example.com"])).unwrap();
    admin.agent_profile_update("opencode", &spec).await.unwrap();
    let waiting = dispatch("waiting", Some("careful")).await;
    update(&["third.test", "fourth.test"]).await;
    let taken = canaries.anvil.poll(&[]).await.assignments;
    assert_eq!(hosts_of(&taken, waiting), ["third.test"]);
}

async fn trace_of(admin: &Client, task: &TaskView) -> TraceView {
    let trace = admin.run_get(&task.task_name).await.unwrap().run.trace_id;
    admin.trace_get(trace, &TraceQuery::default()).await.unwrap()
}

fn model_calls(view: &TraceView) -> Vec<&TraceSpan> {
    view.spans.iter().filter(|span| span.kind == TraceSpanKind::ModelCall).collect()
}

pub(crate) async fn a_job_shows_the_cost_of_the_model_calls_of_its_agent(
    harness: OrchestratorHarness,
) {
    let (admin, provider) = (harness.admin(), provide(&harness).await);
    let node = agent_node(&harness, "anvil").await;
    let task = harness.task().await;
    let job = agent_job_of(&harness, &node, task.id).await;
    let bound = |job| BindingView { task_id: Some(task.id), job_id: job, ..BindingView::default() };

    let run_id = Some(admin.run_get(&task.task_name).await.unwrap().run.id);
    let of_run = BindingView { run_id, ..bound(None) };
    for (agent, bound) in [(AgentType::Sandbox, bound(Some(job))), (AgentType::Pm, of_run)] {
        let answer = ask(&harness, (agent, bound), "far/m").await;
        assert_eq!(answer.status.as_u16(), 200, "{}", answer.body);
    }
    node.end(job, 0).await.unwrap();
    let view = trace_of(&admin, &task).await;

    assert_eq!(provider.requests().len(), 2);
    let span = |id: &str| view.spans.iter().find(|span| span.id == id).unwrap();
    let of_job = span(&format!("job:{job}"));
    let calls = model_calls(&view);
    let parents: Vec<_> = calls.iter().map(|call| call.parent_id.clone()).collect();
    // The call of the project manager is no part of the job.
    assert_eq!(parents, [Some(of_job.id.clone()), of_job.parent_id.clone()], "{view:?}");
    let cost = |span: &TraceSpan| span.usage.map(|usage| (usage.model_calls, usage.cost_micro_usd));
    assert_eq!(cost(of_job), cost(calls[0]));
    assert!(cost(of_job).unwrap().1 > 0, "{of_job:?}");
    let of_run = span(of_job.parent_id.as_ref().unwrap());
    assert_eq!(cost(of_run), Some((2, 2 * cost(of_job).unwrap().1)));
}
