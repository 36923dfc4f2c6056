//! Administration of accounts: the end of users, sessions and tokens.

use std::time::Duration;

use cynode_client::Client;
use cynode_domain::policy::AgentType;
use cynode_testkit::query;
use cynode_wire::agents::{BindingView, IssueAgentToken};
use cynode_wire::auth::{ChangePassword, CreateToken, CreateUser, RefreshToken, UpdateUser};
use cynode_wire::page::PageQuery;

use crate::harness::{OrchestratorHarness, PASSWORD, eventually, refused};
use crate::mcp::Mcp;

const NEW_PASSWORD: &str = "another long password";

fn active(is_active: bool) -> UpdateUser {
    UpdateUser { is_active: Some(is_active), ..UpdateUser::default() }
}

fn admin(is_admin: bool) -> UpdateUser {
    UpdateUser { is_admin: Some(is_admin), ..UpdateUser::default() }
}

fn token_request(name: &str) -> CreateToken {
    CreateToken { name: name.to_owned(), ..CreateToken::default() }
}

/// A second administrator, signed in.
async fn second_admin(harness: &OrchestratorHarness) -> Client {
    let request =
        CreateUser { handle: "grace".to_owned(), password: PASSWORD.to_owned(), is_admin: true };
    harness.admin().user_create(&request).await.unwrap();
    harness.client(harness.sign_in("grace", PASSWORD).await.unwrap().access_token)
}

/// Whether the MCP gateway accepts this token.
async fn is_accepted(harness: &OrchestratorHarness, token: &str) -> bool {
    Mcp::at(&harness.url(), token).is_token_accepted().await
}

/// Waits until the MCP gateway, which caches tokens for a second, rejects this token.
async fn until_rejected(harness: &OrchestratorHarness, token: &str) {
    let is_rejected = async || (!is_accepted(harness, token).await).then_some(());
    eventually("the token is rejected", is_rejected).await;
}

/// The newest authentication events, newest first.
async fn auth_events(harness: &OrchestratorHarness, limit: usize) -> Vec<String> {
    let sql = format!("SELECT event_type FROM auth_audit_log ORDER BY id DESC LIMIT {limit}");
    query(&harness.database().url, &sql).await.concat()
}

pub(crate) async fn a_disabled_user_has_no_way_in_until_enabled(harness: OrchestratorHarness) {
    let root = harness.admin();
    harness.add_user("ada").await;
    let session = harness.sign_in("ada", PASSWORD).await.unwrap();
    let signed_in = harness.client(session.access_token);
    let token = signed_in.token_create(&token_request("laptop")).await.unwrap();
    let scripted = harness.client(token.secret.clone());
    let agent = IssueAgentToken {
        agent_type: AgentType::Pm,
        name: "test".to_owned(),
        user_id: None,
        expires_in_seconds: None,
        binding: BindingView::default(),
    };
    let agent = signed_in.agent_token_issue(&agent).await.unwrap().secret;
    assert!(is_accepted(&harness, &token.secret).await);
    assert!(is_accepted(&harness, &agent).await);

    let disabled = root.user_update("ada", &active(false)).await.unwrap();

    assert!(!disabled.is_active);
    refused(signed_in.whoami().await, 401);
    refused(scripted.whoami().await, 401);
    until_rejected(&harness, &token.secret).await;
    until_rejected(&harness, &agent).await;
    refused(harness.sign_in("ada", PASSWORD).await, 401);
    let refresh = RefreshToken { refresh_token: session.refresh_token };
    refused(harness.anonymous().refresh(&refresh).await, 401);

    root.user_update(&disabled.id.to_string(), &active(true)).await.unwrap();

    scripted.whoami().await.unwrap();
    assert!(is_accepted(&harness, &token.secret).await);
    refused(signed_in.whoami().await, 401);
    harness.sign_in("ada", PASSWORD).await.unwrap();
    assert_eq!(
        auth_events(&harness, 3).await,
        ["login_success", "user_enabled", "refresh_failure"]
    );
}

pub(crate) async fn only_administrators_manage_other_users(harness: OrchestratorHarness) {
    let (root, ada) = (harness.admin(), harness.user("ada").await);
    harness.add_user("eve").await;

    let users = root.user_list(&PageQuery::default()).await.unwrap().items;
    let first = PageQuery { limit: Some(2), cursor: None };
    let page = root.user_list(&first).await.unwrap();
    let rest = PageQuery { limit: Some(2), cursor: page.next_cursor };
    let rest = root.user_list(&rest).await.unwrap().items;

    let handles: Vec<_> = users.iter().map(|user| user.handle.as_str()).collect();
    assert_eq!(handles, ["ada", "admin", "eve", "system"]);
    assert_eq!([page.items, rest].concat(), users);
    refused(ada.user_list(&PageQuery::default()).await, 403);
    refused(ada.user_update("ada", &admin(true)).await, 403);
    for user in ["eve", "nobody"] {
        refused(ada.user_update(user, &active(false)).await, 403);
        refused(ada.sessions_end(user).await, 403);
        refused(ada.tokens_revoke_all(user).await, 403);
    }
    refused(root.user_update("nobody", &active(false)).await, 404);
    refused(root.user_update("system", &active(true)).await, 403);
    for handle in ["me", "0193a4b2-0000-7000-8000-000000000001"] {
        let (handle, password) = (handle.to_owned(), PASSWORD.to_owned());
        let request = CreateUser { handle, password, is_admin: false };
        refused(root.user_create(&request).await, 400);
    }
    assert_eq!(ada.sessions_end("me").await.unwrap().ended, 1);
    refused(ada.whoami().await, 401);
}

pub(crate) async fn an_active_administrator_always_remains(harness: OrchestratorHarness) {
    let root = harness.admin();
    for change in [active(false), admin(false)] {
        refused(root.user_update("admin", &change).await, 409);
    }
    let grace = second_admin(&harness).await;

    let (change, other) = (active(false), admin(false));
    let (first, second) =
        tokio::join!(root.user_update("grace", &change), grace.user_update("admin", &other));

    let outcomes = [first.is_ok(), second.is_ok()];
    assert_eq!(outcomes.iter().filter(|is_ok| **is_ok).count(), 1, "{outcomes:?}");
    let remaining = if outcomes[0] { root } else { grace };
    let users = remaining.user_list(&PageQuery::default()).await.unwrap().items;
    assert_eq!(users.iter().filter(|user| user.is_admin && user.is_active).count(), 1);
}

pub(crate) async fn a_user_changes_the_password_and_stays_signed_in_here_only(
    harness: OrchestratorHarness,
) {
    let here = harness.user("ada").await;
    let elsewhere = harness.sign_in("ada", PASSWORD).await.unwrap().access_token;
    let elsewhere = harness.client(elsewhere);
    let change = |current: &str, new: &str| ChangePassword {
        current_password: current.to_owned(),
        new_password: new.to_owned(),
    };

    refused(here.password_change(&change("wrong", NEW_PASSWORD)).await, 403);
    refused(here.password_change(&change(PASSWORD, "short")).await, 400);
    elsewhere.whoami().await.unwrap();
    here.password_change(&change(PASSWORD, NEW_PASSWORD)).await.unwrap();

    here.whoami().await.unwrap();
    refused(elsewhere.whoami().await, 401);
    refused(harness.sign_in("ada", PASSWORD).await, 401);
    harness.sign_in("ada", NEW_PASSWORD).await.unwrap();
    let events = auth_events(&harness, 3).await;
    assert_eq!(events, ["login_success", "login_failure", "password_changed"]);
    for _ in 0..20 {
        let _ = here.password_change(&change("guess", NEW_PASSWORD)).await;
    }
    refused(here.password_change(&change("guess", NEW_PASSWORD)).await, 429);
}

pub(crate) async fn an_administrator_resets_a_password_and_ends_sessions_and_tokens(
    harness: OrchestratorHarness,
) {
    let (root, ada) = (harness.admin(), harness.user("ada").await);
    let token = ada.token_create(&token_request("laptop")).await.unwrap();
    let scripted = harness.client(token.secret.clone());
    let reset = |password: &str| UpdateUser { password: Some(password.to_owned()), ..active(true) };

    refused(root.user_update("ada", &reset("short")).await, 400);
    ada.whoami().await.unwrap();
    root.user_update("Ada", &reset(NEW_PASSWORD)).await.unwrap();

    refused(ada.whoami().await, 401);
    refused(harness.sign_in("ada", PASSWORD).await, 401);
    let again = harness.sign_in("ada", NEW_PASSWORD).await.unwrap().access_token;
    let again = harness.client(again);
    scripted.whoami().await.unwrap();
    assert_eq!(root.sessions_end("ada").await.unwrap().ended, 1);
    refused(again.whoami().await, 401);
    assert!(is_accepted(&harness, &token.secret).await);
    assert_eq!(root.tokens_revoke_all("ada").await.unwrap().ended, 1);
    refused(scripted.whoami().await, 401);
    until_rejected(&harness, &token.secret).await;
    assert_eq!(auth_events(&harness, 2).await, ["tokens_revoked", "sessions_ended"]);
}

pub(crate) async fn tokens_expire_unless_told_otherwise_and_show_their_last_use(
    harness: OrchestratorHarness,
) {
    let root = harness.admin();
    let usual = root.token_create(&token_request("usual")).await.unwrap();
    let lasting = CreateToken { never_expires: true, ..token_request("lasting") };
    let lasting = root.token_create(&lasting).await.unwrap();
    let both =
        CreateToken { expires_in_days: Some(1), never_expires: true, ..token_request("both") };
    refused(root.token_create(&both).await, 400);
    let lifetime = usual.token.expires_at.unwrap() - usual.token.created_at;
    assert_eq!((lifetime.num_days(), lasting.token.expires_at), (90, None));

    let last_use = async || {
        let items = root.token_list(&PageQuery::default()).await.unwrap().items;
        items.into_iter().find(|token| token.id == usual.token.id).unwrap().last_used_at
    };
    assert_eq!(last_use().await, None);
    let client = harness.client(usual.secret.clone());
    client.whoami().await.unwrap();
    let first = last_use().await.unwrap();
    harness.clock.advance(Duration::from_mins(4));
    client.whoami().await.unwrap();
    assert_eq!(last_use().await, Some(first), "a use is recorded every five minutes");
    harness.clock.advance(Duration::from_mins(2));
    assert!(is_accepted(&harness, &usual.secret).await);
    assert_eq!((last_use().await.unwrap() - first).num_minutes(), 6);

    harness.clock.advance(Duration::from_hours(90 * 24));
    refused(client.whoami().await, 401);
    harness.client(lasting.secret).whoami().await.unwrap();
}
