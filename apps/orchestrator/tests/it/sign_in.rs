//! Signing in, refreshing and signing out.

use std::time::Duration;

use cynode_wire::auth::RefreshToken;
use futures_util::future::join_all;
use reqwest::Method;
use serde_json::json;

use crate::harness::{HarnessResponse, OrchestratorHarness, PASSWORD, refused};

fn refresh_with(token: &str) -> RefreshToken {
    RefreshToken { refresh_token: token.to_owned() }
}

pub(crate) async fn a_user_signs_in_with_handle_and_password(harness: OrchestratorHarness) {
    harness.add_user("ada").await;

    let session = harness.sign_in("ada", PASSWORD).await.unwrap();

    assert_eq!((session.token_type.as_str(), session.expires_in), ("Bearer", 900));
    let me = harness.client(session.access_token).whoami().await.unwrap();
    assert_eq!((me.handle.as_str(), me.is_admin, me.is_active), ("ada", false, true));
}

pub(crate) async fn a_wrong_password_and_an_unknown_handle_get_the_same_answer(
    harness: OrchestratorHarness,
) {
    harness.add_user("ada").await;

    let mut wrong = refused(harness.sign_in("ada", "wrong password").await, 401);
    let mut unknown = refused(harness.sign_in("nobody", PASSWORD).await, 401);

    (wrong.instance, unknown.instance) = (None, None);
    assert_eq!(wrong, unknown);
}

pub(crate) async fn the_eleventh_attempt_for_one_handle_in_a_minute_is_refused(
    harness: OrchestratorHarness,
) {
    let attempt = || {
        let body = json!({ "handle": "admin", "password": "guess" });
        HarnessResponse::send(harness.request(Method::POST, "/v1/auth/login").json(&body))
    };

    // Many more than eleven: one attempt comes back every six seconds, however long these take.
    let answers = join_all((0..30).map(|_| attempt())).await;

    let (limited, heard): (Vec<_>, Vec<_>) =
        answers.iter().partition(|answer| answer.status == 429);
    assert!(heard.len() >= 10 && !limited.is_empty(), "{} were heard", heard.len());
    assert!(heard.iter().all(|answer| answer.status == 401));
    for answer in limited {
        assert!(answer.assert_problem(429).contains("wait a minute"));
        assert_eq!(answer.header("retry-after"), "60");
    }
    refused(harness.sign_in("nobody", PASSWORD).await, 401);
}

pub(crate) async fn an_access_token_ends_after_fifteen_minutes(harness: OrchestratorHarness) {
    let user = harness.user("ada").await;

    harness.clock.advance(Duration::from_secs(899));
    user.whoami().await.unwrap();
    harness.clock.advance(Duration::from_secs(1));

    refused(user.whoami().await, 401);
}

pub(crate) async fn a_refresh_gives_new_tokens_and_ends_the_old_ones(harness: OrchestratorHarness) {
    harness.add_user("ada").await;
    let old = harness.sign_in("ada", PASSWORD).await.unwrap();

    let new = harness.anonymous().refresh(&refresh_with(&old.refresh_token)).await.unwrap();

    harness.client(new.access_token).whoami().await.unwrap();
    refused(harness.client(old.access_token).whoami().await, 401);
    harness.anonymous().refresh(&refresh_with(&new.refresh_token)).await.unwrap();
}

pub(crate) async fn a_replayed_refresh_token_ends_the_session(harness: OrchestratorHarness) {
    harness.add_user("ada").await;
    let old = harness.sign_in("ada", PASSWORD).await.unwrap();
    let new = harness.anonymous().refresh(&refresh_with(&old.refresh_token)).await.unwrap();

    refused(harness.anonymous().refresh(&refresh_with(&old.refresh_token)).await, 401);

    refused(harness.client(new.access_token).whoami().await, 401);
    refused(harness.anonymous().refresh(&refresh_with(&new.refresh_token)).await, 401);
}

pub(crate) async fn of_concurrent_refreshes_with_one_token_at_most_one_succeeds(
    harness: OrchestratorHarness,
) {
    harness.add_user("ada").await;
    let session = harness.sign_in("ada", PASSWORD).await.unwrap();
    let (client, body) = (harness.anonymous(), refresh_with(&session.refresh_token));

    let answers = join_all((0..8).map(|_| client.refresh(&body))).await;

    let won: Vec<_> = answers.into_iter().filter_map(Result::ok).collect();
    assert_eq!(won.len(), 1);
    // The others replayed it, so the session is revoked.
    refused(harness.client(won[0].access_token.clone()).whoami().await, 401);
}

pub(crate) async fn a_refresh_token_ends_after_seven_days(harness: OrchestratorHarness) {
    harness.add_user("ada").await;
    let session = harness.sign_in("ada", PASSWORD).await.unwrap();

    harness.clock.advance(Duration::from_hours(7 * 24));

    refused(harness.anonymous().refresh(&refresh_with(&session.refresh_token)).await, 401);
}

pub(crate) async fn a_signed_out_session_is_over(harness: OrchestratorHarness) {
    harness.add_user("ada").await;
    let session = harness.sign_in("ada", PASSWORD).await.unwrap();
    let token = refresh_with(&session.refresh_token);

    harness.anonymous().logout(&token).await.unwrap();

    refused(harness.client(session.access_token).whoami().await, 401);
    refused(harness.anonymous().refresh(&token).await, 401);
    harness.anonymous().logout(&token).await.unwrap();
}

pub(crate) async fn the_system_user_cannot_sign_in(harness: OrchestratorHarness) {
    for password in ["", PASSWORD] {
        refused(harness.sign_in("system", password).await, 401);
    }
}
