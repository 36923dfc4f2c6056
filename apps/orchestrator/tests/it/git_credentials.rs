//! Credentials of git hosts: who may set them, and which node gets them for which job.

use cynode_client::Client;
use cynode_domain::model::{CredentialKind, CredentialOwner};
use cynode_wire::credentials::{CredentialView, GivenSecret, SetCredential, UpdateCredential};
use cynode_wire::git::GitCredentialLease;
use cynode_wire::nodes::INCARNATION_HEADER;
use reqwest::Method;
use serde_json::json;

use crate::harness::{HarnessResponse, OrchestratorHarness, refused};
use crate::repositories::RepositoryJob;
use crate::repository_rules::{add_rule, denials};

const SECRET: &str = "glpat-9x8w7v6u5t";

fn credential(provider: &str, kind: CredentialKind, secret: &str) -> SetCredential {
    SetCredential {
        owner_type: None,
        owner_id: None,
        provider: provider.to_owned(),
        name: None,
        credential_type: Some(kind),
        secret: GivenSecret(secret.to_owned()),
        expires_at: None,
    }
}

async fn set(user: &Client, provider: &str, secret: &str) -> CredentialView {
    let body = credential(provider, CredentialKind::Password, secret);
    user.credential_set(&body).await.unwrap()
}

/// The user name and password that the node of a job gets.
async fn leased(at: &RepositoryJob) -> Option<(String, String)> {
    let lease = at.node.client.node_lease_git_credential(at.job).await.unwrap();
    lease.credential.map(|credential| match credential {
        GitCredentialLease::Password { username, password } => (username, password),
        GitCredentialLease::SshKey { private_key, .. } => ("ssh".to_owned(), private_key),
    })
}

pub(crate) async fn a_node_leases_the_credential_for_the_host_of_a_job_that_it_holds_and_no_other(
    harness: OrchestratorHarness,
) {
    let ada = harness.user("ada").await;
    let stored = set(&ada, "git:Example.com", &format!("ada:{SECRET}")).await;
    assert_eq!(stored.provider, "git:example.com");
    let at = RepositoryJob::take(&harness, &ada, json!({})).await;

    assert_eq!(leased(&at).await, Some(("ada".to_owned(), SECRET.to_owned())));

    let other = at.node.other_process();
    refused(other.client.node_lease_git_credential(at.job).await, 409);
    let path = format!("/v1/node/jobs/{}/git-credential", at.job);
    let as_user = harness.as_admin(Method::POST, &path);
    let as_user = as_user
        .header(INCARNATION_HEADER, cynode_domain::ids::IncarnationId::generate().to_string());
    HarnessResponse::send(as_user).await.assert_problem(401);
    let path = format!("/v1/credentials/{}/changes", stored.id);
    let recorded = HarnessResponse::send(harness.as_admin(Method::GET, &path)).await.body;
    let recorded = recorded.to_string();
    assert!(recorded.contains("credential.lease"), "{recorded}");
    assert!(!recorded.contains(SECRET));
    // A disabled credential is not used.
    let off = UpdateCredential { is_active: Some(false), ..UpdateCredential::default() };
    ada.credential_update(stored.id, &off).await.unwrap();
    assert_eq!(leased(&at).await, None);
    at.node.end(at.job, 0).await.unwrap();
    refused(at.node.client.node_lease_git_credential(at.job).await, 409);
}

pub(crate) async fn the_credential_of_another_user_host_or_kind_is_not_leased(
    harness: OrchestratorHarness,
) {
    let (ada, eve) = (harness.user("ada").await, harness.user("eve").await);
    set(&ada, "git:example.com", "ada:hers").await;
    set(&eve, "git:example.com:8443", "eve:other-port").await;
    set(&eve, "git:evil.example.com", "eve:other-host").await;
    let key = "-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n-----END OPENSSH PRIVATE KEY-----\n";
    let body = credential("git:example.com", CredentialKind::SshKey, key);
    eve.credential_set(&body).await.unwrap();
    let at = RepositoryJob::take(&harness, &eve, json!({})).await;

    assert_eq!(leased(&at).await, None, "https needs a password of the user for this host");

    let shared = SetCredential {
        owner_type: Some(CredentialOwner::System),
        ..credential("git:example.com", CredentialKind::Password, "token-of-all")
    };
    refused(eve.credential_set(&shared).await, 403);
    harness.admin().credential_set(&shared).await.unwrap();
    assert_eq!(leased(&at).await, Some(("git".to_owned(), "token-of-all".to_owned())));
}

pub(crate) async fn nothing_is_leased_for_a_repository_that_is_denied_meanwhile(
    harness: OrchestratorHarness,
) {
    let (admin, ada) = (harness.admin(), harness.user("ada").await);
    set(&ada, "git:example.com", "ada:hers").await;
    let at = RepositoryJob::take(&harness, &ada, json!({})).await;
    let hers = Some(("ada".to_owned(), "hers".to_owned()));
    assert_eq!(leased(&at).await, hers);

    let rule = add_rule(&admin, "deny", "git.clone", "example.com/*").await;
    let problem = refused(at.node.client.node_lease_git_credential(at.job).await, 403);

    let why = format!("rule {} denies git.clone in example.com/app", rule.id);
    assert!(problem.detail.contains(&why), "{problem:?}");
    assert_eq!(denials(&admin).await.len(), 1);
    admin.rule_remove(rule.id).await.unwrap();
    assert_eq!(leased(&at).await, hers);
}

pub(crate) async fn credentials_of_git_hosts_are_validated(harness: OrchestratorHarness) {
    let ada = harness.user("ada").await;
    for (provider, kind, secret) in [
        ("git:example.com", CredentialKind::ApiKey, "key"),
        ("anthropic", CredentialKind::Password, "key"),
        ("git:", CredentialKind::Password, "key"),
        ("git:example.com/app", CredentialKind::Password, "key"),
        ("git:example.com:", CredentialKind::Password, "key"),
        ("git:example.com:70000", CredentialKind::Password, "key"),
        ("git:user@example.com", CredentialKind::Password, "key"),
        ("git:example.com", CredentialKind::Password, "two words"),
        ("git:example.com", CredentialKind::SshKey, "not a key"),
    ] {
        let problem = refused(ada.credential_set(&credential(provider, kind, secret)).await, 400);
        assert!(!problem.detail.contains("two words") && !problem.detail.contains("not a key"));
    }
}
