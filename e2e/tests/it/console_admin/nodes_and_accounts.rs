//! Worker nodes, users and groups in the console, and the own account of a user.

use cynode_client::Client;
use cynode_domain::status::NodeStatus;
use cynode_wire::auth::{Login, UserView};
use cynode_wire::page::PageQuery;
use secrecy::SecretString;

use super::{assert_forgotten, press_and_confirm, set_value, take_secret};
use crate::browser::TestBrowser;
use crate::console::{
    LAPTOP, PASSWORD, PHONE, admin_password, assert_sound, open, signed_in, wait_for_status_message,
};
use crate::console_projects::{HOSTILE, assert_fits, is_absent, wait_until_absent};
use crate::system::System;

const NEW_PASSWORD: &str = "a battery of correct horses";

async fn may_sign_in(system: &System, handle: &str, password: &str) -> bool {
    let login = Login { handle: handle.to_owned(), password: password.to_owned() };
    let anonymous = Client::anonymous(&system.announced.url).unwrap();
    anonymous.login(&login).await.is_ok()
}

async fn find_user(system: &System, handle: &str) -> UserView {
    let users = system.client.user_list(&PageQuery::default()).await.unwrap().items;
    users.into_iter().find(|user| user.handle == handle).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_administrator_manages_worker_nodes_users_and_groups_in_the_console() {
    let system = System::new().await;
    system.wait_until_ready().await;
    let browser = signed_in(&system, LAPTOP, ("admin", &admin_password(&system))).await;

    assert_every_page_is_reachable(&browser).await;
    manage_nodes(&system, &browser).await;
    manage_users(&system, &browser).await;
    manage_groups(&system, &browser).await;

    let pages = [
        ("#/admin".to_owned(), "[data-node]", "active"),
        ("#/admin/people".to_owned(), "[data-group=writers]", HOSTILE),
        ("#/admin/people?group=writers".to_owned(), "[data-member=bob]", "bob"),
    ];
    assert_fits(&browser, &pages).await;
    browser.click("#leave").await;
    manage_own_account(&system).await;
}

/// The navigation has a way to every page at every width, and does not scroll sideways.
async fn assert_every_page_is_reachable(browser: &TestBrowser) {
    let hidden = "return [...document.querySelectorAll('#pages a')] \
        .filter((link) => !link.checkVisibility()).map((link) => link.hash).join(' ')";
    let more = "return document.querySelector('.more-pages').checkVisibility()";
    browser.wait_for_text("h1", "Home").await;
    for (width, height) in [LAPTOP, (1024, 768), (800, 600), PHONE] {
        browser.resize(width, height).await;
        assert_sound(browser, &format!("the navigation at {width}")).await;
        let is_short = browser.run(more).await == true;
        if is_short {
            browser.click(".more-pages").await;
            assert_sound(browser, &format!("the whole navigation at {width}")).await;
        }
        assert_eq!(browser.run(hidden).await, "", "pages that nothing leads to at {width}");
        if is_short {
            browser.click(".more-pages").await;
        }
    }
    browser.resize(LAPTOP.0, LAPTOP.1).await;
}

/// The status of the only worker node.
async fn node_status(system: &System) -> NodeStatus {
    system.client.node_list().await.unwrap().remove(0).status
}

async fn manage_nodes(system: &System, browser: &TestBrowser) {
    browser.click("#pages a[href='#/admin']").await;
    browser.wait_for_text("[data-node]", "active").await;
    browser.click("[data-node] [data-verb=drain]").await;
    browser.wait_for_text("[data-node]", "drained").await;
    assert_eq!(node_status(system).await, NodeStatus::Drained);
    browser.click("[data-node] [data-verb=enable]").await;
    wait_for_status_message(browser, "gets jobs again.").await;
    assert_ne!(node_status(system).await, NodeStatus::Drained);
    browser.click("[data-node] .link").await;
    browser.wait_for_text("dialog .facts", "Enforces").await;
    assert_sound(browser, "the details of a worker node").await;
    browser.click("dialog .title button").await;
    wait_until_absent(browser, "dialog").await;

    // Nothing is removed without a confirmation.
    browser.click("[data-node] [data-verb=remove]").await;
    browser.wait_for_text("dialog", "its name is free").await;
    browser.click("dialog .actions button:first-child").await;
    wait_until_absent(browser, "dialog").await;
    assert_eq!(system.client.node_list().await.unwrap().len(), 1);

    browser.click("[data-verb=new-join-token]").await;
    browser.type_into("dialog [name=node_slug]", "anvil").await;
    browser.type_into("dialog [name=minutes]", "10").await;
    browser.click("dialog [type=submit]").await;
    take_secret(browser, "cynode-node --slug anvil --orchestrator-url http").await;
    let list = async || {
        let page = system.client.join_token_list(&PageQuery::default()).await.unwrap();
        page.items.into_iter().find(|token| token.node_slug.as_deref() == Some("anvil")).unwrap()
    };
    assert_eq!(list().await.revoked_at, None);
    browser.wait_for_text("[data-join-token]", "valid until").await;
    press_and_confirm(browser, "[data-join-token] [data-verb=revoke]").await;
    browser.wait_for_text("[data-join-token]", "revoked").await;
    assert!(list().await.revoked_at.is_some());
}

async fn manage_users(system: &System, browser: &TestBrowser) {
    browser.click(".tabs a[href='#/admin/people']").await;
    browser.click("[data-verb=new-user]").await;
    browser.type_into("dialog [name=handle]", "bob").await;
    browser.type_into("dialog [name=password]", PASSWORD).await;
    browser.type_into("dialog [name=password_again]", NEW_PASSWORD).await;
    browser.click("dialog [type=submit]").await;
    browser.wait_for_text("dialog [role=alert]", "The two passwords differ.").await;
    set_value(browser, "dialog [name=password_again]", PASSWORD).await;
    browser.click("dialog [type=submit]").await;
    browser.wait_for_text("[data-user=bob]", "active").await;
    assert_forgotten(browser, PASSWORD).await;
    assert!(may_sign_in(system, "bob", PASSWORD).await);

    press_and_confirm(browser, "[data-user=bob] [data-verb=promote]").await;
    browser.wait_for_text("[data-user=bob]", "administrator").await;
    assert!(find_user(system, "bob").await.is_admin);
    press_and_confirm(browser, "[data-user=bob] [data-verb=demote]").await;
    wait_for_status_message(browser, "bob is no administrator any more.").await;
    press_and_confirm(browser, "[data-user=bob] [data-verb=disable]").await;
    browser.wait_for_text("[data-user=bob]", "disabled").await;
    assert!(!may_sign_in(system, "bob", PASSWORD).await);
    browser.click("[data-user=bob] [data-verb=enable]").await;
    wait_for_status_message(browser, "bob may sign in again.").await;
    browser.click("[data-user=bob] [data-verb=password]").await;
    browser.type_into("dialog [name=password]", NEW_PASSWORD).await;
    browser.type_into("dialog [name=password_again]", NEW_PASSWORD).await;
    browser.click("dialog [type=submit]").await;
    wait_for_status_message(browser, "bob has a new password.").await;
    assert!(may_sign_in(system, "bob", NEW_PASSWORD).await);
    press_and_confirm(browser, "[data-user=bob] [data-verb=end-sessions]").await;
    wait_for_status_message(browser, "bob: 1 session ended.").await;

    // What the server refuses is said in its words.
    browser.click("[data-user=admin] [data-verb=disable]").await;
    browser.click("dialog .danger").await;
    browser.wait_for_text("dialog [role=alert]", "administrator").await;
    browser.click("dialog .title button").await;
    wait_until_absent(browser, "dialog").await;
    assert!(find_user(system, "admin").await.is_active);
}

async fn manage_groups(system: &System, browser: &TestBrowser) {
    browser.click("[data-verb=new-group]").await;
    browser.type_into("dialog [name=name]", "writers").await;
    browser.type_into("dialog [name=display_name]", HOSTILE).await;
    browser.click("dialog [type=submit]").await;
    browser.wait_for_text("h2", HOSTILE).await;
    browser.click("[data-verb=add-member]").await;
    browser.type_into("dialog [name=user]", "nobody").await;
    browser.click("dialog [type=submit]").await;
    browser.wait_for_text("dialog [role=alert]", "nobody").await;
    set_value(browser, "dialog [name=user]", "bob").await;
    browser.click("dialog [type=submit]").await;
    browser.wait_for_text("[data-member=bob]", "bob").await;
    let members = system.client.member_list("writers", &PageQuery::default()).await.unwrap().items;
    assert_eq!(members.len(), 1);
    browser.click(".crumb a").await;
    browser.wait_for_text("[data-group=writers]", HOSTILE).await;
    browser.click("[data-verb=history]").await;
    browser.wait_for_text("dialog table", "bob").await;
    assert_sound(browser, "the changes of groups").await;
    browser.click("dialog .title button").await;
    wait_until_absent(browser, "dialog").await;
}

/// A person who is no administrator sees the worker nodes, and manages the own account.
async fn manage_own_account(system: &System) {
    let browser = signed_in(system, PHONE, ("bob", NEW_PASSWORD)).await;
    open(&browser, "#/admin").await;
    browser.wait_for_text("[data-node]", "active").await;
    assert!(is_absent(&browser, "main [data-verb]").await);

    open(&browser, "#/admin/people").await;
    browser.wait_for_text("[data-group=writers]", HOSTILE).await;
    assert!(is_absent(&browser, "[data-user], [data-group] button, [data-verb=new-group]").await);
    browser.click("[data-verb=new-token]").await;
    browser.type_into("dialog [name=name]", HOSTILE).await;
    browser.click("dialog [name=lifetime] option[value='7']").await;
    browser.click("dialog [type=submit]").await;
    let secret = take_secret(&browser, "shown only here").await;
    let client = Client::new(&system.announced.url, SecretString::from(secret)).unwrap();
    assert_eq!(client.whoami().await.unwrap().handle, "bob");
    browser.wait_for_text("[data-token]", HOSTILE).await;
    assert_sound(&browser, "the own account").await;

    browser.click("[data-verb=change-password]").await;
    browser.type_into("dialog [name=current_password]", PASSWORD).await;
    browser.type_into("dialog [name=password]", PASSWORD).await;
    browser.type_into("dialog [name=password_again]", PASSWORD).await;
    browser.click("dialog [type=submit]").await;
    browser.wait_for_text("dialog [role=alert]", "password").await;
    set_value(&browser, "dialog [name=current_password]", NEW_PASSWORD).await;
    browser.click("dialog [type=submit]").await;
    wait_for_status_message(&browser, "Your password is changed.").await;
    assert!(may_sign_in(system, "bob", PASSWORD).await);
    // The session goes on, and the token is revoked after a confirmation.
    press_and_confirm(&browser, "[data-token] [data-verb=revoke]").await;
    browser.wait_for_text("[data-token]", "revoked").await;
    assert!(client.whoami().await.is_err());
}
