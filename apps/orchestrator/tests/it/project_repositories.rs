//! Repositories of projects: who sets them, which tasks and requests use them, and with which credential.

use cynode_client::Client;
use cynode_domain::model::CredentialKind;
use cynode_wire::credentials::{GivenSecret, SetCredential, UpdateCredential};
use cynode_wire::git::GitCredentialLease;
use cynode_wire::projects::{CreateProject, ProjectView, UpdateProject};
use cynode_wire::requests::SubmitRequest;
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};

use crate::harness::{OrchestratorHarness, refused, task_request};
use crate::mcp::Mcp;
use crate::repositories::RepositoryJob;

const URL: &str = "https://example.com/shop.git";

/// A project of this user with a repository.
async fn shop(user: &Client) -> ProjectView {
    let body = CreateProject {
        display_name: "Shop".to_owned(),
        repository_url: Some(URL.to_owned()),
        default_branch: Some("main".to_owned()),
        credential: Some("deploy".to_owned()),
        ..CreateProject::default()
    };
    user.project_create(&body).await.unwrap()
}

/// The address, base branch and credential of the repository of a new task.
async fn repository(user: &Client, fields: Value) -> Value {
    let task = user.task_create(&task_request(fields)).await.unwrap();
    let repository = task.repository.unwrap();
    json!([repository.url, repository.base_branch, repository.credential])
}

fn submission(mut fields: Value) -> SubmitRequest {
    fields["text"] = json!("Add a dark mode toggle to the settings page");
    fields["force"] = json!(true);
    serde_json::from_value(fields).unwrap()
}

pub(crate) async fn tasks_and_requests_use_the_repository_of_their_project(
    harness: OrchestratorHarness,
) {
    let ada = harness.user("ada").await;
    let made = shop(&ada).await;
    assert_eq!(made.repository_url.as_ref().unwrap().as_str(), URL);
    assert_eq!(ada.project_get("shop").await.unwrap(), made);

    let of_project = json!([URL, "main", "deploy"]);
    let wanted = json!({ "project": "shop", "project_repository": {} });
    assert_eq!(repository(&ada, wanted.clone()).await, of_project);
    let next = json!({ "project": "shop", "project_repository": { "base_branch": "next" } });
    assert_eq!(repository(&ada, next).await, json!([URL, "next", "deploy"]));
    let elsewhere = json!({ "project_repository": { "project": "shop" } });
    assert_eq!(repository(&ada, elsewhere).await, of_project, "of another project");
    let named = json!({ "project": "shop", "repository": { "url": "/srv/app" } });
    assert_eq!(repository(&ada, named.clone()).await, json!(["/srv/app", null, null]));
    let task = ada.task_create(&task_request(json!({ "project": "shop" }))).await.unwrap();
    assert_eq!(task.repository, None, "it did not ask for one");

    let request = ada.request_submit(&submission(json!({ "project": "shop" }))).await.unwrap();
    assert_eq!(request.repository.unwrap().url.as_str(), URL);
    let request = ada.request_submit(&submission(named.clone())).await.unwrap();
    assert_eq!(request.repository.unwrap().url.as_str(), "/srv/app");

    // Without a repository the error says what to do, and one repository is enough.
    let none = task_request(json!({ "project_repository": {} }));
    let problem = refused(ada.task_create(&none).await, 400);
    let next = "cynork project update default";
    assert!(problem.detail.contains(next), "{problem:?}");
    let problem = refused(ada.request_submit(&submission(json!({}))).await, 400);
    assert!(problem.detail.contains("name one with `--repo URL`"), "{problem:?}");
    let mut both = named;
    both["project_repository"] = json!({});
    refused(ada.task_create(&task_request(both.clone())).await, 400);
    refused(ada.request_submit(&submission(both)).await, 400);

    let remove = UpdateProject { repository_url: Some(String::new()), ..UpdateProject::default() };
    assert_eq!(ada.project_update("shop", &remove).await.unwrap().credential, None);
    refused(ada.task_create(&task_request(wanted)).await, 400);
}

pub(crate) async fn a_repeated_request_returns_its_task_after_the_repository_of_the_project_changed(
    harness: OrchestratorHarness,
) {
    let ada = harness.user("ada").await;
    shop(&ada).await;
    let body = json!({ "project": "shop", "project_repository": {}, "idempotency_key": "k" });
    let first = ada.task_create(&task_request(body.clone())).await.unwrap();
    let remove = UpdateProject { repository_url: Some(String::new()), ..UpdateProject::default() };
    ada.project_update("shop", &remove).await.unwrap();

    let again = ada.task_create(&task_request(body)).await.unwrap();

    assert_eq!((again.id, again.repository), (first.id, first.repository));
}

pub(crate) async fn a_key_of_a_task_without_a_repository_is_not_that_of_one_on_its_project(
    harness: OrchestratorHarness,
) {
    let ada = harness.user("ada").await;
    shop(&ada).await;
    let create = async |fields: Value| ada.task_create(&task_request(fields)).await;
    let plain = json!({ "project": "shop", "idempotency_key": "k" });
    let first = create(plain.clone()).await.unwrap();
    let mut of_project = plain.clone();
    of_project["project_repository"] = json!({});

    let problem = refused(create(of_project).await, 409);

    assert!(problem.detail.contains("was used for another request"), "{problem:?}");
    assert_eq!(create(plain).await.unwrap().id, first.id);
}

pub(crate) async fn members_of_a_shared_project_use_its_repository_and_do_not_change_it(
    harness: OrchestratorHarness,
) {
    let (ada, bob, eve) =
        (harness.user("ada").await, harness.user("bob").await, harness.user("eve").await);
    let admin = harness.admin();
    let group = serde_json::from_value(json!({ "name": "web-team" })).unwrap();
    admin.group_create(&group).await.unwrap();
    for user in ["ada", "bob"] {
        admin.member_add("web-team", user).await.unwrap();
    }
    shop(&ada).await;
    let wanted = json!({ "project_repository": { "project": "shop" } });
    refused(bob.task_create(&task_request(wanted.clone())).await, 404);
    let share = UpdateProject { group: Some("web-team".to_owned()), ..UpdateProject::default() };
    ada.project_update("shop", &share).await.unwrap();

    assert_eq!(repository(&bob, wanted.clone()).await, json!([URL, "main", "deploy"]));
    let request = bob.request_submit(&submission(wanted.clone())).await.unwrap();
    assert_eq!(request.repository.unwrap().url.as_str(), URL);

    let change =
        UpdateProject { repository_url: Some("/srv/app".to_owned()), ..UpdateProject::default() };
    refused(bob.project_update("shop", &change).await, 404);
    refused(eve.task_create(&task_request(wanted)).await, 404);
    assert_eq!(ada.project_get("shop").await.unwrap().repository_url.unwrap().as_str(), URL);
}

pub(crate) async fn a_job_leases_the_credential_that_its_project_names_and_no_other_one(
    harness: OrchestratorHarness,
) {
    let ada = harness.user("ada").await;
    let credential = |name: &str| SetCredential {
        owner_type: None,
        owner_id: None,
        provider: "git:example.com".to_owned(),
        name: Some(name.to_owned()),
        credential_type: Some(CredentialKind::Password),
        secret: GivenSecret(format!("ada:{name}-token")),
        expires_at: None,
    };
    ada.credential_set(&credential("admin")).await.unwrap();
    let deploy = ada.credential_set(&credential("deploy")).await.unwrap();
    shop(&ada).await;
    let fields = json!({ "project": "shop", "project_repository": {}, "repository": null });
    let at = RepositoryJob::take(&harness, &ada, fields).await;
    let lease = async || at.node.client.node_lease_git_credential(at.job).await;

    let leased = lease().await.unwrap().credential;

    let Some(GitCredentialLease::Password { password, .. }) = leased else {
        panic!("no password was leased");
    };
    assert_eq!(password, "deploy-token");
    let off = UpdateCredential { is_active: Some(false), ..UpdateCredential::default() };
    ada.credential_update(deploy.id, &off).await.unwrap();
    let problem = refused(lease().await, 400);
    assert!(problem.detail.contains("git:example.com --name deploy"), "{problem:?}");
}

pub(crate) async fn tools_use_the_repository_of_a_project(harness: OrchestratorHarness) {
    let admin = harness.admin();
    let project = shop(&admin).await;
    let person = Mcp::at(&harness.url(), harness.secret("admin.token").expose_secret());

    let task = json!({ "prompt": "mend it", "project_id": project.id, "project_repository": {} });
    let task = person.call("db.task.create", task).await;
    let request = json!({ "text": "Add a dark mode toggle", "project_id": project.id });
    let request = person.call("db.request.create", request).await;
    let missing = person.answer("db.request.create", json!({ "text": "Add a page" })).await;

    assert_eq!(task["repository"]["url"], URL, "{task}");
    assert_eq!(request["repository"]["url"], URL, "{request}");
    assert!(missing.to_string().contains("has no repository"), "{missing}");
}
