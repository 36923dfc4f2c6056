//! Requests that break rules: each a clear refusal, the same on either engine.

use cynode_domain::ids::{JobId, TaskId};
use cynode_wire::auth::CreateUser;
use cynode_wire::tasks::{AddDependency, TaskQuery};
use cynode_wire::workflow::{LoadTask, Outcome, PollJob};
use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{
    HarnessResponse, OrchestratorHarness, create_commands_task, refused, task_request,
};

async fn refusal(
    harness: &OrchestratorHarness,
    method: Method,
    path: &str,
    body: Value,
) -> HarnessResponse {
    let answer = HarnessResponse::send(harness.as_admin(method, path).json(&body)).await;
    answer.assert_problem(400);
    answer
}

pub(crate) async fn text_with_nul_characters_is_refused_wherever_it_is_stored(
    harness: OrchestratorHarness,
) {
    let task = |field: Value| {
        let mut body = json!({ "input_mode": "commands", "commands": ["true"] });
        body.as_object_mut().unwrap().extend(field.as_object().unwrap().clone());
        ("/v1/tasks", body)
    };
    let requests = [
        ("/v1/tasks", json!({ "prompt": "a\0b" })),
        task(json!({ "commands": ["echo \0"] })),
        task(json!({ "task_name": "a\0b" })),
        task(json!({ "idempotency_key": "a\0b" })),
        task(json!({ "project": "a\0b" })),
        task(json!({ "depends_on": ["a\0b"] })),
        task(json!({ "expected_outputs": ["a\0b"] })),
        task(json!({ "acceptance_criteria": [{ "kind": "text", "description": "\0" }] })),
        task(json!({ "attachments": [{ "name": "a\0b", "content_base64": "" }] })),
        ("/v1/projects", json!({ "display_name": "a\0b" })),
        ("/v1/projects", json!({ "display_name": "a", "description": "\0" })),
        ("/v1/tokens", json!({ "name": "a\0b" })),
        ("/v1/users", json!({ "handle": "a\0b", "password": "correct horse" })),
        ("/v1/auth/login", json!({ "handle": "a\0b", "password": "x" })),
    ];
    for (path, body) in requests {
        refusal(&harness, Method::POST, path, body).await;
    }
    assert_eq!(harness.admin().task_list(&TaskQuery::default()).await.unwrap().items, []);
}

pub(crate) async fn names_with_nul_characters_are_found_nowhere(harness: OrchestratorHarness) {
    let paths = [
        "/v1/tasks/a%00b",
        "/v1/projects/a%00b",
        "/v1/nodes/a%00b",
        "/v1/tasks?project=a%00b",
        "/v1/events?task=a%00b",
    ];
    for path in paths {
        let answer = HarnessResponse::send(harness.as_admin(Method::GET, path)).await;
        assert!(answer.assert_problem(400).contains("NUL"), "{path}");
    }
}

pub(crate) async fn every_fault_of_a_task_is_named(harness: OrchestratorHarness) {
    let long = "a".repeat(20_000);
    let many: Vec<_> = (0..201).map(|_| "true").collect();
    let file = |name: &str, content: &str| json!([{ "name": name, "content_base64": content }]);
    let faults = [
        (json!({ "commands": [] }), "1 to 200 entries"),
        (json!({ "commands": many }), "1 to 200 entries"),
        (json!({ "commands": [" "] }), "a command is empty"),
        (json!({ "commands": ["a".repeat(70_000)] }), "longer than 65536 bytes"),
        (json!({ "input_mode": "script", "commands": [], "prompt": "" }), "prompt is empty"),
        (json!({ "input_mode": "prompt", "prompt": "x" }), "commands belong to"),
        (json!({ "task_name": "🚀" }), "at least one letter or digit"),
        (json!({ "max_attempts": 0 }), "allowed is 1 to 10"),
        (json!({ "limits": { "timeout_s": 0 } }), "limits.timeout_s"),
        (json!({ "expected_outputs": ["../x"] }), "not a relative file path"),
        (json!({ "idempotency_key": "" }), "idempotency_key"),
        (json!({ "attachments": file("../x", "") }), "not a plain file name"),
        (json!({ "attachments": file("a/b", "") }), "not a plain file name"),
        (json!({ "attachments": file("a", "%%") }), "not base64"),
        (
            json!({ "attachments": file("a", &"AAAA".repeat(10 * 1024 * 1024 / 3 + 1)) }),
            "longer than 10 MiB",
        ),
        (
            criterion(json!({ "kind": "output_matches", "pattern": "(" })),
            "not a valid regular expression",
        ),
        (criterion(json!({ "kind": "output_matches", "pattern": "(a{999}){999}" })), "criterion"),
        (criterion(json!({ "kind": "output_matches", "pattern": long })), "longer than"),
        (criterion(json!({ "kind": "file_exists", "path": "" })), "needs a path"),
    ];
    for (fields, words) in faults {
        let mut body = json!({ "input_mode": "commands", "commands": ["true"] });
        body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());

        let answer = refusal(&harness, Method::POST, "/v1/tasks", body).await;

        let detail = answer.body["detail"].as_str().unwrap();
        assert!(detail.contains(words), "{words}: {detail}");
        assert!(!answer.body["errors"].as_array().unwrap().is_empty());
    }
}

fn criterion(criterion: Value) -> Value {
    json!({ "acceptance_criteria": Value::Array(vec![criterion]) })
}

pub(crate) async fn odd_names_become_plain_ones(harness: OrchestratorHarness) {
    let admin = harness.admin();
    let long = "x".repeat(10_000);
    let names = [
        ("../../etc/passwd", "etc-passwd"),
        ("'; DROP TABLE tasks; --", "drop-table-tasks"),
        ("🚀 Fix login!", "fix-login"),
        ("%00 $(rm -rf /)", "00-rm-rf"),
        (long.as_str(), &long[..64]),
    ];
    for (given, made) in names {
        let task = admin.task_create(&task_request(json!({ "task_name": given }))).await.unwrap();
        assert_eq!(task.task_name, made);
        assert_eq!(admin.task_get(made).await.unwrap().id, task.id);
    }
}

pub(crate) async fn a_name_that_reads_as_an_id_is_refused(harness: OrchestratorHarness) {
    let id = TaskId::generate().to_string();
    let admin = harness.admin();

    refused(admin.task_create(&task_request(json!({ "task_name": id }))).await, 400);
    let body = json!({ "display_name": id });
    refusal(&harness, Method::POST, "/v1/projects", body).await;

    let unnamed = admin.task_create(&create_commands_task(&[&id])).await.unwrap();
    assert_eq!(unnamed.task_name, "task");
}

pub(crate) async fn things_that_do_not_exist_are_not_found(harness: OrchestratorHarness) {
    let id = TaskId::generate();
    for thing in [
        format!("/v1/tasks/{id}"),
        "/v1/tasks/no-such-task".to_owned(),
        "/v1/tasks/%F0%9F%9A%80".to_owned(),
        format!("/v1/tasks/{id}/result"),
        format!("/v1/tasks/{id}/artifacts"),
        format!("/v1/projects/{id}"),
        "/v1/nodes/no-such-node".to_owned(),
    ] {
        HarnessResponse::send(harness.as_admin(Method::GET, &thing)).await.assert_problem(404);
    }
    HarnessResponse::send(harness.as_admin(Method::DELETE, "/v1/tokens/no-uuid"))
        .await
        .assert_problem(404);
    let task = harness.task().await.id.to_string();
    refused(harness.admin().artifact_content(&task, "nothing").await, 404);
    let runner = harness.runner();
    refused(runner.client.workflow_call(&LoadTask { task_id: id }).await, 404);
    refused(
        runner.client.workflow_call(&PollJob { job_id: JobId::generate(), wait_ms: 0 }).await,
        404,
    );
}

pub(crate) async fn odd_pages_are_refused(harness: OrchestratorHarness) {
    for list in ["/v1/tasks", "/v1/projects", "/v1/tokens"] {
        for odd in ["limit=0", "limit=201", "limit=abc", "limit=-1", "cursor=x", "colour=red"] {
            let path = format!("{list}?{odd}");
            HarnessResponse::send(harness.as_admin(Method::GET, &path)).await.assert_problem(400);
        }
    }
    for odd in ["status=pending", "status=", "project=none"] {
        let answer =
            HarnessResponse::send(harness.as_admin(Method::GET, &format!("/v1/tasks?{odd}"))).await;
        let refusal = answer.assert_problem(if odd.starts_with("project") { 404 } else { 400 });
        let words = "expected one of `queued`, `running`, `waiting`, `completed`";
        assert_eq!(refusal.contains(words), odd.starts_with("status"), "{refusal}");
    }
    let task = harness.task().await.id;
    let path = format!("/v1/tasks/{task}/logs?stream=stdin");
    HarnessResponse::send(harness.as_admin(Method::GET, &path)).await.assert_problem(400);
}

pub(crate) async fn tasks_cannot_wait_for_each_other(harness: OrchestratorHarness) {
    let admin = harness.admin();
    let first = admin.task_create(&task_request(json!({ "task_name": "first" }))).await.unwrap();
    let second = task_request(json!({ "task_name": "second", "depends_on": ["first"] }));
    let second = admin.task_create(&second).await.unwrap();
    let third = task_request(json!({ "task_name": "third", "depends_on": ["second", "second"] }));
    let third = admin.task_create(&third).await.unwrap();
    assert_eq!((second.depends_on, third.depends_on), (vec![first.id], vec![second.id]));

    for on in ["first", "second", "third"] {
        let body = AddDependency { depends_on: on.to_owned() };
        let problem = refused(admin.dependency_add("first", &body).await, 409);
        assert!(problem.detail.contains("wait for each other"), "{}", problem.detail);
    }

    let body = AddDependency { depends_on: "first".to_owned() };
    let third = admin.dependency_add("third", &body).await.unwrap();
    assert_eq!(third.depends_on.len(), 2);
    harness.runner().start(first.id).await.unwrap();
    let body = AddDependency { depends_on: harness.task().await.task_name };
    assert!(refused(admin.dependency_add("first", &body).await, 409).detail.contains("started"));
}

pub(crate) async fn a_failed_or_canceled_task_is_no_dependency(harness: OrchestratorHarness) {
    let (admin, runner) = (harness.admin(), harness.runner());
    let (canceled, failed) = (harness.task().await, harness.task().await);
    admin.task_cancel(&canceled.task_name).await.unwrap();
    let lease = runner.start(failed.id).await.unwrap().lease;
    runner.finish(lease, 1, Outcome::Failed).await.unwrap();
    let open = harness.task().await;

    for dead in [canceled, failed] {
        let problem = refused(
            admin.task_create(&task_request(json!({ "depends_on": [dead.id] }))).await,
            409,
        );
        assert!(problem.detail.contains("would never start"), "{}", problem.detail);
        let body = AddDependency { depends_on: dead.task_name };
        refused(admin.dependency_add(&open.task_name, &body).await, 409);
    }
}

pub(crate) async fn a_task_behind_a_failed_one_says_why_it_will_not_start(
    harness: OrchestratorHarness,
) {
    let (admin, runner) = (harness.admin(), harness.runner());
    let first = harness.task().await;
    let waiting =
        admin.task_create(&task_request(json!({ "depends_on": [first.id] }))).await.unwrap();
    assert_eq!(waiting.blocked_reason, None);
    let lease = runner.start(first.id).await.unwrap().lease;
    runner.finish(lease, 1, Outcome::Failed).await.unwrap();

    let blocked = admin.task_get(&waiting.task_name).await.unwrap();

    let reason = format!("it depends on \"{}\", which is failed", first.task_name);
    assert_eq!((blocked.status.as_str(), blocked.blocked_reason), ("queued", Some(reason)));
}

pub(crate) async fn concurrent_dependencies_never_make_a_cycle(harness: OrchestratorHarness) {
    let admin = harness.admin();
    let mut ring = vec![];
    for _ in 0..4 {
        ring.push(harness.task().await.task_name);
    }
    let bodies: Vec<_> =
        ring.iter().map(|name| AddDependency { depends_on: name.clone() }).collect();

    let request = (0..4).map(|index| admin.dependency_add(&ring[index], &bodies[(index + 1) % 4]));
    let answers = join_all(request).await;

    let refusals: Vec<_> = answers.into_iter().filter_map(Result::err).collect();
    assert_eq!(refusals.len(), 1, "{refusals:?}");
    assert_eq!(refusals[0].status(), Some(409));
}

pub(crate) async fn odd_projects_are_refused(harness: OrchestratorHarness) {
    let long = "x".repeat(101);
    let text = "x".repeat(65_537);
    for body in [
        json!({ "display_name": "" }),
        json!({ "display_name": "🚀" }),
        json!({ "display_name": long }),
        json!({ "display_name": "a\nb" }),
        json!({ "display_name": "a", "description": text }),
    ] {
        refusal(&harness, Method::POST, "/v1/projects", body.clone()).await;
    }
    let first = json!({ "display_name": " Engine " });
    for slug in ["engine", "engine-2"] {
        let answer =
            HarnessResponse::send(harness.as_admin(Method::POST, "/v1/projects").json(&first))
                .await;
        assert_eq!((answer.status.as_u16(), answer.body["slug"].as_str()), (201, Some(slug)));
        assert_eq!(answer.body["display_name"], "Engine");
    }
    let nul = json!({ "description": "\0" });
    refusal(&harness, Method::PATCH, "/v1/projects/engine", nul).await;
}

pub(crate) async fn odd_users_are_refused(harness: OrchestratorHarness) {
    let long = "x".repeat(1025);
    let user = |handle: &str, password: &str| CreateUser {
        handle: handle.to_owned(),
        password: password.to_owned(),
        is_admin: false,
    };
    let admin = harness.admin();
    for (handle, password) in [
        ("", "correct horse"),
        ("Ada", "correct horse"),
        ("a b", "correct horse"),
        ("system", "correct horse"),
        ("ada", "short"),
        ("ada", long.as_str()),
    ] {
        refused(admin.user_create(&user(handle, password)).await, 400);
    }
    let problem = refused(admin.user_create(&user("admin", "correct horse")).await, 409);
    assert_eq!(problem.detail, "the handle \"admin\" is taken");
}

pub(crate) async fn a_task_cannot_ask_for_more_than_the_installation_allows(
    harness: OrchestratorHarness,
) {
    let admin = harness.admin();
    let ask = |limits: serde_json::Value| {
        let mut body = create_commands_task(&["true"]);
        body.limits = serde_json::from_value(limits).unwrap();
        body
    };

    let problem = refused(admin.task_create(&ask(json!({ "memory_mib": 1 << 20 }))).await, 400);
    assert!(problem.detail.contains("allowed is 1 to 32768"), "{problem:?}");
    refused(admin.task_create(&ask(json!({ "disk_mib": 1 << 20 }))).await, 400);
    admin.task_create(&ask(json!({ "memory_mib": 32768 }))).await.unwrap();
}

pub(crate) async fn jobs_of_older_tasks_are_held_to_a_lowered_ceiling(
    harness: OrchestratorHarness,
) {
    let mut body = create_commands_task(&["true"]);
    body.limits = serde_json::from_value(json!({ "memory_mib": 4096, "processes": 8 })).unwrap();
    harness.admin().task_create(&body).await.unwrap();
    let harness = harness.restart_with(|options| options.max_job_memory_mib = 512).await;
    let (runner, node) = (harness.runner(), harness.node("anvil").await);
    let lease = runner.claim(0).await.unwrap().lease;
    runner.dispatch(lease, 0).await.unwrap();

    let news = node.poll(&[]).await;

    let limits = news.assignments[0].limits;
    assert_eq!((limits.memory_mib, limits.processes), (512, 8));
}
