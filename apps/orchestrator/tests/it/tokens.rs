//! API tokens, and requests without a valid one.

use std::time::Duration;

use cynode_domain::ids::TokenId;
use cynode_wire::auth::{CreateToken, TokenView};
use cynode_wire::page::PageQuery;
use reqwest::Method;

use crate::harness::{HarnessResponse, OrchestratorHarness, refused};

fn named(name: &str, days: Option<u32>) -> CreateToken {
    CreateToken { name: name.to_owned(), expires_in_days: days, never_expires: false }
}

pub(crate) async fn an_api_token_is_shown_once_listed_and_revoked(harness: OrchestratorHarness) {
    let user = harness.user("ada").await;
    let new = user.token_create(&named(" laptop ", None)).await.unwrap();
    let client = harness.client(new.secret.clone());
    assert_eq!(client.whoami().await.unwrap().handle, "ada");
    assert_eq!(new.token.name, "laptop");

    let listed = client.token_list(&PageQuery::default()).await.unwrap();
    let last_used_at = listed.items[0].last_used_at;
    assert_eq!(listed.items, [TokenView { last_used_at, ..new.token.clone() }]);
    user.token_revoke(new.token.id).await.unwrap();

    refused(client.whoami().await, 401);
    let listed = user.token_list(&PageQuery::default()).await.unwrap();
    assert!(listed.items[0].revoked_at.is_some());
    refused(user.token_revoke(TokenId::generate()).await, 404);
}

pub(crate) async fn an_api_token_ends_on_its_day(harness: OrchestratorHarness) {
    let admin = harness.admin();
    let new = admin.token_create(&named("short", Some(1))).await.unwrap();
    let client = harness.client(new.secret);

    client.whoami().await.unwrap();
    harness.clock.advance(Duration::from_hours(24));

    refused(client.whoami().await, 401);
    admin.whoami().await.unwrap();
    for days in [0, 3651] {
        refused(admin.token_create(&named("odd", Some(days))).await, 400);
    }
    refused(admin.token_create(&named(" ", None)).await, 400);
}

pub(crate) async fn nobody_revokes_the_token_of_another(harness: OrchestratorHarness) {
    let (ada, eve) = (harness.user("ada").await, harness.user("eve").await);
    let token = ada.token_create(&named("laptop", None)).await.unwrap();

    refused(eve.token_revoke(token.token.id).await, 404);

    harness.client(token.secret).whoami().await.unwrap();
}

pub(crate) async fn requests_without_a_good_token_are_told_to_authenticate(
    harness: OrchestratorHarness,
) {
    let headers = [
        "Bearer",
        "Bearer ",
        "Bearer cyn_api_unknown",
        "Bearer cyn_at_unknown",
        "Basic YWRtaW46YWRtaW4=",
        "cyn_api_unknown",
        "Bearer a\u{fc}",
    ];
    for header in headers {
        let request = harness.request(Method::GET, "/v1/users/me").header("authorization", header);
        let answer = HarnessResponse::send(request).await;

        answer.assert_problem(401);
        assert_eq!(answer.header("www-authenticate"), "Bearer realm=\"cynode\"");
    }
}
