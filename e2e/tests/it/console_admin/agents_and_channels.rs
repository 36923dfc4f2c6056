//! Agent profiles, agent tokens, channels and the mail server in the console.

use cynode_wire::page::PageQuery;
use serde_json::json;

use super::{SECRET, assert_forgotten, press_and_confirm, set_value, take_secret};
use crate::browser::TestBrowser;
use crate::console::{LAPTOP, admin_password, assert_sound, open, signed_in};
use crate::console_projects::{HOSTILE, assert_fits, wait_until_absent};
use crate::system::System;

#[tokio::test(flavor = "multi_thread")]
async fn agent_profiles_agent_tokens_and_channels_are_managed_in_the_console() {
    let system = System::new().await;
    let browser = signed_in(&system, LAPTOP, ("admin", &admin_password(&system))).await;

    manage_agents(&system, &browser).await;
    manage_channels(&system, &browser).await;
    manage_mail_server(&system, &browser).await;

    let pages = [
        ("#/admin/agents".to_owned(), "[data-agent-profile=mini]", HOSTILE),
        ("#/admin/notifications".to_owned(), "[data-channel=phone]", "disabled"),
        ("#/admin/leases".to_owned(), ".nothing", "There are no leases."),
    ];
    assert_fits(&browser, &pages).await;
}

async fn manage_agents(system: &System, browser: &TestBrowser) {
    open(browser, "#/admin/agents").await;
    browser.click("[data-verb=new-agent-profile]").await;
    browser.type_into("dialog [name=name]", "mini").await;
    browser.type_into("dialog [name=description]", HOSTILE).await;
    browser.type_into("dialog [name=command]", "mini\nacp").await;
    browser.type_into("dialog [name=env]", "MINI").await;
    browser.type_into("dialog [name=hosts]", "example.com").await;
    browser.click("dialog [name=permissions][value=think]").await;
    browser.click("dialog [type=submit]").await;
    browser.wait_for_text("dialog [role=alert]", "NAME=VALUE").await;
    assert_sound(browser, "the form for an agent profile").await;
    set_value(browser, "dialog [name=env]", "MINI_MODE=a=b").await;
    browser.click("dialog [type=submit]").await;
    browser.wait_for_text("[data-agent-profile=mini]", "mini acp").await;
    let made = system.client.agent_profile_get("mini").await.unwrap();
    let program = json!(made.program);
    assert_eq!(program["command"], json!(["mini", "acp"]));
    assert_eq!(program["env"], json!({ "MINI_MODE": "a=b" }));
    let answers = &program["permissions"]["kinds"];
    assert_eq!((&answers["think"], &answers["read"]), (&json!("reject"), &json!("allow")));

    // A change keeps what the form shows.
    browser.click("[data-agent-profile=mini] [data-verb=edit]").await;
    set_value(browser, "dialog [name=hosts]", "").await;
    browser.click("dialog [type=submit]").await;
    browser.wait_for_text("[data-agent-profile=mini] td:nth-child(3)", "none").await;
    let changed = system.client.agent_profile_get("mini").await.unwrap();
    assert_eq!((changed.revision, json!(changed.program)), (2, program));
    browser.click("[data-agent-profile=mini] .link").await;
    browser.wait_for_text("dialog .facts", "MINI_MODE=a=b").await;
    assert_sound(browser, "the details of an agent profile").await;
    browser.click("dialog .title button").await;
    wait_until_absent(browser, "dialog").await;

    browser.click("[data-verb=new-agent-token]").await;
    browser.type_into("dialog [name=name]", HOSTILE).await;
    browser.click("dialog [type=submit]").await;
    take_secret(browser, "/mcp").await;
    browser.wait_for_text("[data-agent-token]", HOSTILE).await;
    press_and_confirm(browser, "[data-agent-token] [data-verb=revoke]").await;
    browser.wait_for_text("[data-agent-token]", "revoked").await;
    let tokens = system.client.agent_token_list(&PageQuery::default()).await.unwrap().items;
    let token = tokens.iter().find(|token| token.name == HOSTILE).unwrap();
    assert!(token.revoked_at.is_some());
}

async fn manage_channels(system: &System, browser: &TestBrowser) {
    browser.click(".tabs a[href='#/admin/notifications']").await;
    browser.click("[data-verb=new-channel]").await;
    browser.type_into("dialog [name=name]", "phone").await;
    browser.type_into("dialog [name=url]", "https://example.com/xyzzy-0815").await;
    browser.click("dialog [name=notices][value=approval]").await;
    browser.click("dialog [type=submit]").await;
    take_secret(browser, "The receiver verifies with it").await;
    browser.wait_for_text("[data-channel=phone]", "Approvals").await;
    assert_forgotten(browser, "xyzzy-0815").await;
    browser.click("[data-channel=phone] [data-verb=disable]").await;
    browser.wait_for_text("[data-channel=phone]", "disabled").await;
    let channels = system.client.channel_list().await.unwrap().items;
    assert_eq!((channels.len(), channels[0].is_enabled), (1, false));
}

async fn manage_mail_server(system: &System, browser: &TestBrowser) {
    browser.click("[data-verb=set-smtp]").await;
    browser.type_into("dialog [name=host]", "mail.example.com").await;
    browser.type_into("dialog [name=username]", "cynode").await;
    browser.type_into("dialog [name=password]", SECRET).await;
    browser.type_into("dialog [name=from]", "CyNode <cynode@example.com>").await;
    browser.click("dialog [type=submit]").await;
    browser.wait_for_text("[data-part=smtp]", "mail.example.com:587").await;
    assert_forgotten(browser, SECRET).await;
    // A change without a password keeps the present one.
    browser.click("[data-verb=set-smtp]").await;
    set_value(browser, "dialog [name=port]", "465").await;
    browser.click("dialog [name=tls] option[value=tls]").await;
    browser.click("dialog [type=submit]").await;
    browser.wait_for_text("[data-part=smtp]", "mail.example.com:465").await;
    let view = system.client.smtp_get().await.unwrap();
    assert_eq!((view.port, view.has_password), (465, true));
    press_and_confirm(browser, "[data-verb=remove-smtp]").await;
    browser.wait_for_text("[data-part=smtp]", "There is none").await;
}
