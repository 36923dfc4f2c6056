//! Work and traces of one profile are out of reach for the agents of another one, also in the same project.

use std::collections::BTreeSet;

use cynode_client::Client;
use cynode_domain::ids::{ProfileId, ProjectId, RunId, TaskId, TraceId};
use cynode_domain::policy::AgentType;
use cynode_wire::agents::BindingView;
use cynode_wire::profiles::CreateProfile;
use cynode_wire::projects::CreateProject;
use cynode_wire::traces::TraceQuery;
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};

use crate::harness::{OrchestratorHarness, task_request};
use crate::mcp::{Mcp, issue};

/// Tools that name a task.
const OF_TASKS: [&str; 11] = [
    "db.task.get",
    "db.task.result",
    "db.task.logs",
    "db.task.cancel",
    "db.run.list",
    "db.job.list",
    "db.finding.list",
    "artifact.list",
    "git.diff",
    "sandbox.create",
    "db.work_unit.list",
];

async fn project(admin: &Client, name: &str) -> ProjectId {
    let body = CreateProject {
        display_name: name.to_owned(),
        description: String::new(),
        repository_url: None,
        default_branch: None,
        credential: None,
    };
    admin.project_create(&body).await.unwrap().id
}

async fn careful_profile(admin: &Client, project: ProjectId) -> ProfileId {
    let body: CreateProfile = serde_json::from_value(json!({ "name": "careful" })).unwrap();
    admin.profile_create(&project.to_string(), &body).await.unwrap().id
}

/// A task with its run and its trace.
struct Work {
    task: TaskId,
    run: RunId,
    trace: TraceId,
}

impl Work {
    async fn begin(admin: &Client, project: ProjectId, profile: Option<ProfileId>) -> Self {
        let body = task_request(json!({ "project": project, "profile": profile }));
        let task = admin.task_create(&body).await.unwrap();
        let run = admin.run_get(&task.task_name).await.unwrap().run;
        Self { task: task.id, run: run.id, trace: run.trace_id }
    }

    /// Whether the run and the trace of this work can be read; both or neither.
    async fn is_readable(&self, by: &Mcp) -> bool {
        let calls = [
            ("db.task.get", json!({ "task_id": self.task })),
            ("db.run.get", json!({ "run_id": self.run })),
            ("db.trace.get", json!({ "trace_id": self.trace })),
        ];
        let mut readable = vec![];
        for (tool, arguments) in calls {
            let answer = by.answer(tool, arguments).await;
            readable.push(answer["result"]["isError"] != true);
        }
        assert!(readable.iter().all(|it| *it == readable[0]), "{readable:?}");
        readable[0]
    }
}

/// An agent whose token is bound to these ids.
async fn agent(harness: &OrchestratorHarness, bound: BindingView) -> Mcp {
    Mcp::at(&harness.url(), &issue(harness, AgentType::Pm, bound).await.secret)
}

fn person(harness: &OrchestratorHarness) -> Mcp {
    Mcp::at(&harness.url(), harness.secret("admin.token").expose_secret())
}

pub(crate) async fn an_agent_reads_work_and_traces_of_its_own_profile_only(
    harness: OrchestratorHarness,
) {
    let admin = harness.admin();
    let (shop, bank) = (project(&admin, "Shop").await, project(&admin, "Bank").await);
    let careful = careful_profile(&admin, shop).await;
    let in_default = Work::begin(&admin, shop, None).await;
    let in_careful = Work::begin(&admin, shop, Some(careful)).await;
    let elsewhere = Work::begin(&admin, bank, None).await;
    let works = [&in_default, &in_careful, &elsewhere];
    let of_project = BindingView { project_id: Some(shop), ..BindingView::default() };
    let of_task = BindingView { task_id: Some(in_careful.task), ..BindingView::default() };

    for (by, expected) in [
        (agent(&harness, of_project).await, [true, false, false]),
        (agent(&harness, of_task).await, [false, true, false]),
        // Bound to no project: the default profiles of all of them.
        (agent(&harness, BindingView::default()).await, [true, false, true]),
        (person(&harness), [true, true, true]),
    ] {
        let mut readable = vec![];
        for work in works {
            readable.push(work.is_readable(&by).await);
        }
        assert_eq!(readable, expected);
    }
    assert_eq!(in_careful.spans_over_rest(&admin).await, in_careful.spans(&person(&harness)).await);
}

impl Work {
    /// The ids of the spans that people see over REST.
    async fn spans_over_rest(&self, client: &Client) -> Vec<String> {
        let view = client.trace_get(self.trace, &TraceQuery::default()).await.unwrap();
        view.spans.into_iter().filter(|it| it.id.starts_with("task:")).map(|it| it.id).collect()
    }

    /// The same over MCP.
    async fn spans(&self, by: &Mcp) -> Vec<String> {
        let view = by.call("db.trace.get", json!({ "trace_id": self.trace })).await;
        let ids = view["spans"].as_array().unwrap().iter();
        let ids = ids.map(|span| span["id"].as_str().unwrap().to_owned());
        ids.filter(|id| id.starts_with("task:")).collect()
    }
}

pub(crate) async fn a_task_of_another_profile_does_not_exist_for_an_agent_of_the_project(
    harness: OrchestratorHarness,
) {
    let admin = harness.admin();
    let shop = project(&admin, "Shop").await;
    let careful = careful_profile(&admin, shop).await;
    let in_careful = Work::begin(&admin, shop, Some(careful)).await;
    let bound = BindingView { project_id: Some(shop), ..BindingView::default() };
    let manager = agent(&harness, bound).await;
    let offered = manager.tools().await;
    let refusal = async |tool: &str, task: TaskId| -> Value {
        let answer = manager.answer(tool, json!({ "task_id": task })).await["result"].clone();
        assert_eq!(answer["isError"], true, "{tool}: {answer}");
        answer["structuredContent"]["error"].clone()
    };

    for tool in OF_TASKS {
        assert!(offered.iter().any(|name| name == tool), "{tool} is not offered");
        let (foreign, unknown) =
            (refusal(tool, in_careful.task).await, refusal(tool, TaskId::generate()).await);

        assert_eq!(foreign["stage"], "context", "{tool}: {foreign}");
        let words = |error: &Value| (error["type"].clone(), error["message"].clone());
        assert_eq!(words(&foreign), words(&unknown), "{tool}");
    }
    let task = admin.task_get(&in_careful.task.to_string()).await.unwrap();
    assert_eq!(json!(task.status), json!("queued"), "nothing was done to it");
}

pub(crate) async fn lists_of_an_agent_have_the_work_of_default_profiles_only(
    harness: OrchestratorHarness,
) {
    let admin = harness.admin();
    let shop = project(&admin, "Shop").await;
    let careful = careful_profile(&admin, shop).await;
    let in_default = Work::begin(&admin, shop, None).await;
    let in_careful = Work::begin(&admin, shop, Some(careful)).await;
    let submit = async |name: &str, profile: Option<&str>| {
        let body = json!({
            "name": name, "text": format!("Add a test named {name}."), "project": shop, "profile": profile,
            "repository": { "url": "https://example.com/app.git" },
        });
        admin.request_submit(&serde_json::from_value(body).unwrap()).await.unwrap().id
    };
    let plain = submit("plain", None).await;
    let hidden = submit("hidden", Some("careful")).await;
    let ids = async |by: &Mcp, tool: &str, field: &str| {
        let listed = by.call(tool, json!({ "project_id": shop, "limit": 200 })).await;
        let items = listed["items"].as_array().unwrap_or_else(|| panic!("{tool}: {listed}"));
        items.iter().map(|item| item[field].as_str().unwrap().to_owned()).collect::<BTreeSet<_>>()
    };
    let set = |ids: &[TaskId]| ids.iter().map(ToString::to_string).collect::<BTreeSet<_>>();
    let of_project = BindingView { project_id: Some(shop), ..BindingView::default() };
    let bound = agent(&harness, of_project).await;
    let unbound = agent(&harness, BindingView::default()).await;

    // Requests have child tasks, which work in their profile.
    let (visible, secret) = (set(&[in_default.task, plain]), set(&[in_careful.task, hidden]));
    for by in [&bound, &unbound] {
        let tasks = ids(by, "db.task.list", "id").await;
        assert!(tasks.is_superset(&visible) && tasks.is_disjoint(&secret), "{tasks:?}");
        assert_eq!(ids(by, "db.request.list", "id").await, set(&[plain]));
    }
    let person = person(&harness);
    let tasks = ids(&person, "db.task.list", "id").await;
    assert!(tasks.is_superset(&visible) && tasks.is_superset(&secret), "{tasks:?}");
    assert_eq!(ids(&person, "db.request.list", "id").await, set(&[plain, hidden]));
}
