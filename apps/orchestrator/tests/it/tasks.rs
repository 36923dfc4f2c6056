//! Creating and listing tasks.

use std::collections::BTreeSet;

use cynode_wire::page::PageQuery;
use cynode_wire::projects::UpdateProject;
use cynode_wire::tasks::TaskQuery;
use cynode_wire::workflow::Outcome;
use futures_util::future::join_all;
use futures_util::stream::{self, StreamExt as _};
use serde_json::json;

use crate::harness::{OrchestratorHarness, create_commands_task, refused, task_request};

/// Concurrent requests: as many as there are database connections. One more might time out while it
/// waits for a connection.
const AT_ONCE: usize = 16;

pub(crate) async fn a_task_name_is_normalised_and_numbered(harness: OrchestratorHarness) {
    let (admin, ada) = (harness.admin(), harness.user("ada").await);
    let body = task_request(json!({ "task_name": " Fix -- Login " }));
    let mut names = vec![];
    for _ in 0..3 {
        names.push(admin.task_create(&body).await.unwrap().task_name);
    }

    assert_eq!(names, ["fix-login", "fix-login-2", "fix-login-3"]);
    assert_eq!(ada.task_create(&body).await.unwrap().task_name, "fix-login");
    let unnamed = admin.task_create(&create_commands_task(&["echo Hello!"])).await.unwrap();
    assert_eq!(unnamed.task_name, "echo-hello");
}

pub(crate) async fn fifty_concurrent_tasks_of_one_name_get_fifty_names(
    harness: OrchestratorHarness,
) {
    let (admin, body) = (harness.admin(), task_request(json!({ "task_name": "same" })));

    let made = stream::iter(0..50).map(|_| admin.task_create(&body)).buffer_unordered(AT_ONCE);

    let made: Vec<_> = made.collect().await;
    let names: BTreeSet<_> = made.into_iter().map(|task| task.unwrap().task_name).collect();
    assert_eq!(names.len(), 50);
}

pub(crate) async fn one_idempotency_key_gives_one_task(harness: OrchestratorHarness) {
    let (admin, ada) = (harness.admin(), harness.user("ada").await);
    let body = task_request(json!({ "idempotency_key": "order 66" }));

    let first = admin.task_create(&body).await.unwrap();
    let again = admin.task_create(&body).await.unwrap();

    assert_eq!(first, again);
    assert_ne!(ada.task_create(&body).await.unwrap().id, first.id);
}

pub(crate) async fn concurrent_requests_with_one_idempotency_key_give_one_task(
    harness: OrchestratorHarness,
) {
    let (admin, body) = (harness.admin(), task_request(json!({ "idempotency_key": "once" })));

    let made = join_all((0..AT_ONCE).map(|_| admin.task_create(&body))).await;

    let ids: BTreeSet<_> = made.into_iter().map(|task| task.unwrap().id).collect();
    assert_eq!(ids.len(), 1);
    assert_eq!(admin.task_list(&TaskQuery::default()).await.unwrap().items.len(), 1);
}

pub(crate) async fn pages_hold_every_task_once_newest_first(harness: OrchestratorHarness) {
    let admin = harness.admin();
    let mut made = vec![];
    for _ in 0..7 {
        made.push(harness.task().await.id);
    }
    made.sort_unstable_by(|one, other| other.cmp(one));

    let (mut walked, mut cursor, mut pages) = (vec![], None, 0);
    loop {
        let query = TaskQuery { limit: Some(3), cursor, ..TaskQuery::default() };
        let page = admin.task_list(&query).await.unwrap();
        walked.extend(page.items.iter().map(|task| task.id));
        (cursor, pages) = (page.next_cursor, pages + 1);
        if cursor.is_none() {
            break;
        }
        // New entries precede the first page and do not shift later pages.
        harness.task().await;
    }

    assert_eq!((walked, pages), (made, 3));
}

pub(crate) async fn tasks_are_listed_by_the_status_people_see(harness: OrchestratorHarness) {
    let (admin, runner) = (harness.admin(), harness.runner());
    let [queued, running, completed, failed, canceled] = [(); 5].map(|()| harness.task());
    let (queued, running, completed, failed, canceled) =
        (queued.await, running.await, completed.await, failed.await, canceled.await);
    runner.start(running.id).await.unwrap();
    for (task, outcome) in [(&completed, Outcome::Completed), (&failed, Outcome::Failed)] {
        let lease = runner.start(task.id).await.unwrap().lease;
        runner.finish(lease, 1, outcome).await.unwrap();
    }
    admin.task_cancel(&canceled.task_name).await.unwrap();

    for (word, task) in [
        ("queued", queued),
        ("running", running),
        ("completed", completed),
        ("failed", failed),
        ("canceled", canceled),
    ] {
        let query = TaskQuery { status: Some(word.parse().unwrap()), ..TaskQuery::default() };
        let page = admin.task_list(&query).await.unwrap();
        let seen: Vec<_> = page.items.iter().map(|t| (t.id, t.status.as_str())).collect();
        assert_eq!(seen, [(task.id, word)]);
    }
}

pub(crate) async fn concurrent_first_tasks_share_one_default_project(harness: OrchestratorHarness) {
    let (ada, body) = (harness.user("ada").await, create_commands_task(&["true"]));

    let made = join_all((0..10).map(|_| ada.task_create(&body))).await;

    let homes: BTreeSet<_> = made.into_iter().map(|task| task.unwrap().project_id).collect();
    let projects = ada.project_list(&PageQuery::default()).await.unwrap().items;
    assert_eq!((homes.len(), projects.len()), (1, 1));
    assert!(projects[0].is_default);
}

pub(crate) async fn an_inactive_project_takes_no_tasks(harness: OrchestratorHarness) {
    let admin = harness.admin();
    let body = cynode_wire::projects::CreateProject {
        display_name: "Attic".to_owned(),
        description: String::new(),
        ..<_>::default()
    };
    admin.project_create(&body).await.unwrap();
    let in_attic = task_request(json!({ "project": "attic" }));
    let task = admin.task_create(&in_attic).await.unwrap();
    let query = TaskQuery { project: Some("attic".to_owned()), ..TaskQuery::default() };
    assert_eq!(admin.task_list(&query).await.unwrap().items, [task]);

    let close = UpdateProject { is_active: Some(false), ..UpdateProject::default() };
    assert!(!admin.project_update("attic", &close).await.unwrap().is_active);

    let problem = refused(admin.task_create(&in_attic).await, 400);
    let next = "activate it first with `cynork project update attic --active true`";
    assert_eq!(problem.detail, format!("project \"attic\" takes no new tasks: {next}"));
}

pub(crate) async fn attachments_are_stored_and_downloaded(harness: OrchestratorHarness) {
    let admin = harness.admin();
    let body = task_request(json!({
        "attachments": [{ "name": "plän.txt", "content_base64": "aGVsbG8=" }]
    }));
    let task = admin.task_create(&body).await.unwrap().task_name;

    let listed = admin.artifact_list(&task).await.unwrap();

    assert_eq!((listed[0].kind.as_str(), listed[0].size_bytes), ("attachment", 5));
    let content = admin.artifact_content(&task, "plän.txt").await.unwrap();
    assert_eq!(content, "hello".as_bytes());
    let node = harness.node("anvil").await;
    let runner = harness.runner();
    let lease = runner.claim(0).await.unwrap().lease;
    runner.dispatch(lease, 0).await.unwrap();
    let given = &node.poll(&[]).await.assignments[0];
    assert_eq!(given.attachments, ["plän.txt"]);
    let content = node.client.node_get_attachment(given.job_id, "plän.txt").await.unwrap();
    assert_eq!(content, "hello".as_bytes());
    refused(node.client.node_get_attachment(given.job_id, "none").await, 404);
}
