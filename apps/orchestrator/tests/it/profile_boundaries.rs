//! Work and traces of one profile are out of reach for the agents of another one, also in the same project.

use std::collections::BTreeSet;

use cynode_client::Client;
use cynode_domain::ids::{ProfileId, ProjectId, RunId, ScheduleId, TaskId, TraceId};
use cynode_domain::policy::AgentType;
use cynode_wire::agents::BindingView;
use cynode_wire::git::PushTask;
use cynode_wire::profiles::CreateProfile;
use cynode_wire::projects::CreateProject;
use cynode_wire::traces::TraceQuery;
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};

use crate::harness::{OrchestratorHarness, task_request};
use crate::mcp::{Mcp, issue};
use crate::repositories::RepositoryJob;

/// Tools that name a task.
const OF_TASKS: [&str; 12] = [
    "db.task.get",
    "db.task.result",
    "db.task.logs",
    "db.task.cancel",
    "db.run.list",
    "db.job.list",
    "db.finding.list",
    "db.message.list",
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

/// The binding to a project alone.
fn in_project(project: ProjectId) -> BindingView {
    BindingView { project_id: Some(project), ..BindingView::default() }
}

/// Calls a tool, which must fail; returns its error.
async fn refusal(by: &Mcp, tool: &str, arguments: Value) -> Value {
    let answer = by.answer(tool, arguments).await["result"].clone();
    assert_eq!(answer["isError"], true, "{tool}: {answer}");
    answer["structuredContent"]["error"].clone()
}

fn id_set(ids: &[TaskId]) -> BTreeSet<String> {
    ids.iter().map(ToString::to_string).collect()
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
    let of_task = BindingView { task_id: Some(in_careful.task), ..BindingView::default() };

    for (by, expected) in [
        (agent(&harness, in_project(shop)).await, [true, false, false]),
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
    let manager = agent(&harness, in_project(shop)).await;
    let offered = manager.tools().await;

    for tool in OF_TASKS {
        assert!(offered.iter().any(|name| name == tool), "{tool} is not offered");
        let foreign = refusal(&manager, tool, json!({ "task_id": in_careful.task })).await;
        let unknown = refusal(&manager, tool, json!({ "task_id": TaskId::generate() })).await;

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
    let bound = agent(&harness, in_project(shop)).await;
    let unbound = agent(&harness, BindingView::default()).await;

    // Requests have child tasks, which work in their profile.
    let (visible, secret) = (id_set(&[in_default.task, plain]), id_set(&[in_careful.task, hidden]));
    for by in [&bound, &unbound] {
        let tasks = ids(by, "db.task.list", "id").await;
        assert!(tasks.is_superset(&visible) && tasks.is_disjoint(&secret), "{tasks:?}");
        assert_eq!(ids(by, "db.request.list", "id").await, id_set(&[plain]));
    }
    let person = person(&harness);
    let tasks = ids(&person, "db.task.list", "id").await;
    assert!(tasks.is_superset(&visible) && tasks.is_superset(&secret), "{tasks:?}");
    assert_eq!(ids(&person, "db.request.list", "id").await, id_set(&[plain, hidden]));
}

/// Sends a message about a task to the project manager, as the agent of a job.
async fn send_message(harness: &OrchestratorHarness, task: TaskId) {
    let runner = harness.runner();
    let lease = runner.start(task).await.unwrap().lease;
    let job_id = Some(runner.dispatch(lease, 0).await.unwrap());
    let binding = BindingView { task_id: Some(task), job_id, ..BindingView::default() };
    let token = issue(harness, AgentType::Sandbox, binding).await.secret;
    let help = json!({
        "task_id": task, "agentRole": "developer", "helpType": "human", "issue": "May I?",
    });
    let sent = Mcp::at(&harness.url(), &token).call("apmas_request_help", help).await;
    assert!(sent["message_id"].is_string(), "{sent}");
}

pub(crate) async fn an_agent_lists_messages_on_tasks_of_its_own_profile_only(
    harness: OrchestratorHarness,
) {
    let admin = harness.admin();
    let shop = project(&admin, "Shop").await;
    let careful = careful_profile(&admin, shop).await;
    let in_default = Work::begin(&admin, shop, None).await.task;
    let in_careful = Work::begin(&admin, shop, Some(careful)).await.task;
    for task in [in_default, in_careful] {
        send_message(&harness, task).await;
    }
    let of_task = BindingView { task_id: Some(in_careful), ..BindingView::default() };

    for (by, expected) in [
        (agent(&harness, BindingView::default()).await, vec![in_default]),
        (agent(&harness, in_project(shop)).await, vec![in_default]),
        (agent(&harness, of_task).await, vec![in_careful]),
        (person(&harness), vec![in_default, in_careful]),
    ] {
        let listed = by.call("db.message.list", json!({ "project_id": shop })).await;
        let items = listed["items"].as_array().unwrap_or_else(|| panic!("{listed}")).iter();
        let tasks = items.map(|item| item["task_id"].as_str().unwrap().to_owned());
        assert_eq!(tasks.collect::<BTreeSet<_>>(), id_set(&expected));
    }
}

pub(crate) async fn an_agent_makes_no_task_wait_for_one_of_another_profile(
    harness: OrchestratorHarness,
) {
    let admin = harness.admin();
    let shop = project(&admin, "Shop").await;
    let careful = careful_profile(&admin, shop).await;
    let in_default = Work::begin(&admin, shop, None).await.task;
    let in_careful = Work::begin(&admin, shop, Some(careful)).await.task;
    let manager = agent(&harness, in_project(shop)).await;
    let after = |task: TaskId| json!({ "input_mode": "commands", "commands": ["make"], "depends_on": [task] });

    for task in [in_careful, TaskId::generate()] {
        let error = refusal(&manager, "db.task.create", after(task)).await;
        assert_eq!(error["type"], "not_found", "{error}");
        assert_eq!(error["message"], format!("there is no task \"{task}\""));
    }
    let created = manager.call("db.task.create", after(in_default)).await;
    assert_eq!(created["depends_on"], json!([in_default]), "{created}");
}

pub(crate) async fn a_push_is_a_task_of_the_profile_of_its_changes(harness: OrchestratorHarness) {
    let admin = harness.admin();
    let shop = project(&admin, "Shop").await;
    let careful = careful_profile(&admin, shop).await;
    let fields = json!({ "project": shop, "profile": careful });
    let source = RepositoryJob::take(&harness, &admin, fields).await;
    source.upload(source.job, b"patch", "x").await;

    let push = admin.task_push(source.name(), &PushTask::default()).await.unwrap();

    assert_eq!((push.project_id, push.profile_id), (shop, Some(careful)));
    for bound in [in_project(shop), BindingView::default()] {
        let manager = agent(&harness, bound).await;
        for tool in ["db.task.get", "db.task.logs", "db.task.cancel"] {
            let error = refusal(&manager, tool, json!({ "task_id": push.id })).await;
            assert_eq!(error["stage"], "context", "{tool}: {error}");
        }
        let listed = manager.call("db.task.list", json!({})).await;
        assert_eq!(listed["items"], json!([]), "{listed}");
    }
    let push = admin.task_get(&push.id.to_string()).await.unwrap();
    assert_eq!(json!(push.status), json!("queued"), "nothing was done to it");
}

/// The ids of the schedules that a caller lists, read in pages of one.
async fn list_schedules(by: &Mcp) -> Vec<String> {
    let (mut ids, mut arguments) = (vec![], json!({ "limit": 1 }));
    loop {
        let page = by.call("db.schedule.list", arguments.clone()).await;
        let items = page["items"].as_array().unwrap_or_else(|| panic!("{page}"));
        assert_eq!(items.len(), 1, "{page}");
        ids.push(items[0]["id"].as_str().unwrap().to_owned());
        match page["next_cursor"].as_str() {
            Some(cursor) => arguments["cursor"] = json!(cursor),
            None => return ids,
        }
    }
}

pub(crate) async fn schedules_of_other_profiles_do_not_exist_for_an_agent(
    harness: OrchestratorHarness,
) {
    let admin = harness.admin();
    let shop = project(&admin, "Shop").await;
    let careful = careful_profile(&admin, shop).await;
    let create = async |name: &str, work: Value| -> ScheduleId {
        let mut body = json!({ "name": name, "every_s": 3600, "project": shop });
        body.as_object_mut().unwrap().extend(work.as_object().unwrap().clone());
        admin.schedule_create(&serde_json::from_value(body).unwrap()).await.unwrap().id
    };
    let task = |profile: Value| json!({ "task": { "input_mode": "commands", "commands": ["make"], "profile": profile } });
    let request = json!({ "request": {
        "text": "Update the dependencies", "profile": "careful",
        "repository": { "url": "https://example.com/app.git" },
    } });
    let prompt = create("prompt", json!({ "prompt": "tidy up" })).await;
    let by_name = create("by-name", task(json!("careful"))).await;
    let plain = create("plain", task(json!("default"))).await;
    let by_id = create("by-id", task(json!(careful))).await;
    let submission = create("submission", request).await;
    let hidden = [by_name, by_id, submission];

    for bound in [in_project(shop), BindingView::default()] {
        let manager = agent(&harness, bound).await;
        for schedule in hidden {
            for (tool, arguments) in [
                ("db.schedule.get", json!({ "schedule_id": schedule })),
                ("db.schedule.runs", json!({ "schedule_id": schedule })),
                ("db.schedule.update", json!({ "schedule_id": schedule, "enabled": false })),
                ("db.schedule.delete", json!({ "schedule_id": schedule })),
            ] {
                let error = refusal(&manager, tool, arguments).await;
                assert_eq!(error["type"], "not_found", "{tool}: {error}");
                assert_eq!(error["message"], format!("there is no schedule \"{schedule}\""));
            }
        }
        let shown = manager.call("db.schedule.get", json!({ "schedule_id": plain })).await;
        assert_eq!(shown["name"], "plain", "{shown}");
        assert_eq!(list_schedules(&manager).await, [plain, prompt].map(|id| id.to_string()));
    }
    assert_eq!(list_schedules(&person(&harness)).await.len(), 5);
    for schedule in hidden {
        assert!(admin.schedule_get(&schedule.to_string()).await.unwrap().enabled);
    }
}
