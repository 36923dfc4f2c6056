//! The administration in the console: a real browser against a real system.

use std::time::Instant;

use cynode_client::Client;
use cynode_domain::policy::{Effect, Principal};
use cynode_domain::status::NodeStatus;
use cynode_wire::auth::{Login, UserView};
use cynode_wire::page::PageQuery;
use cynode_wire::preferences::PreferenceScope;
use cynode_wire::settings::SetSetting;
use secrecy::SecretString;
use serde_json::json;

use crate::browser::TestBrowser;
use crate::console::{
    LAPTOP, PASSWORD, PHONE, admin_password, assert_sound, create_user, open, signed_in,
    wait_for_status_message, wait_until,
};
use crate::console_projects::{ENTER, HOSTILE, assert_fits, is_absent, wait_until_absent};
use crate::system::{PATIENCE, System};

const SECRET: &str = "xyzzy-0815-open-sesame";
const NEW_PASSWORD: &str = "a battery of correct horses";

/// Fails if a secret is anywhere in the tab: in the page, a field, the address or the storage.
async fn assert_forgotten(browser: &TestBrowser, secret: &str) {
    let script = format!(
        "const fields = [...document.querySelectorAll('input, textarea')].map((node) => node.value); \
         const kept = JSON.stringify({{ ...sessionStorage, ...localStorage }}); \
         return [document.documentElement.outerHTML, location.href, kept, ...fields] \
             .some((text) => text.includes({}))",
        json!(secret)
    );
    assert_eq!(browser.run(&script).await, false, "the tab holds a secret");
}

/// Reads the secret that a dialog shows once, and closes the dialog.
async fn take_secret(browser: &TestBrowser, words: &str) -> String {
    browser.wait_for_text("dialog", words).await;
    assert_sound(browser, "a secret").await;
    let shown = browser.run("return document.querySelector('dialog [name=secret]').value").await;
    browser.click("dialog .actions button:first-child").await;
    wait_until_absent(browser, "dialog").await;
    let secret = shown.as_str().unwrap().to_owned();
    assert!(secret.len() > 20, "{secret:?}");
    assert_forgotten(browser, &secret).await;
    secret
}

/// Replaces what is in a field.
async fn set_value(browser: &TestBrowser, selector: &str, value: &str) {
    let script = format!("document.querySelector({}).value = {}", json!(selector), json!(value));
    browser.run(&script).await;
}

/// Presses a button of a row, and confirms in the dialog that opens.
async fn press_and_confirm(browser: &TestBrowser, selector: &str) {
    browser.click(selector).await;
    browser.click("dialog .danger").await;
    wait_until_absent(browser, "dialog").await;
}

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

#[tokio::test(flavor = "multi_thread")]
async fn rules_credentials_and_settings_are_managed_in_the_console_and_users_see_their_own() {
    let system = System::new().await;
    create_user(&system, "ada").await;
    let browser = signed_in(&system, LAPTOP, ("admin", &admin_password(&system))).await;

    manage_rules(&system, &browser).await;
    manage_credentials(&system, &browser).await;
    manage_providers(&system, &browser).await;
    manage_settings(&system, &browser).await;
    manage_preferences(&system, &browser).await;

    let pages = [
        ("#/admin/rules".to_owned(), "[data-rule]", "allow"),
        ("#/admin/credentials".to_owned(), "[data-provider=own]", "own"),
        ("#/admin/settings".to_owned(), "[data-setting='house.note']", HOSTILE),
        ("#/admin/settings?show=user".to_owned(), "[data-preference='house.style']", HOSTILE),
    ];
    assert_fits(&browser, &pages).await;
    browser.click("#leave").await;
    read_as_user(&system).await;
}

async fn manage_rules(system: &System, browser: &TestBrowser) {
    open(browser, "#/admin/rules").await;
    browser.click("[data-verb=new-rule]").await;
    browser.click("dialog [name=effect] option[value=deny]").await;
    browser.type_into("dialog [name=resource_pattern]", "node.lis*").await;
    browser.click("dialog [name=subject_type] option[value=user]").await;
    browser.type_into("dialog [name=subject]", "nobody").await;
    browser.click("dialog [name=callers][value=user]").await;
    browser.click("dialog [type=submit]").await;
    browser.wait_for_text("dialog [role=alert]", "There is no user “nobody”.").await;
    assert_sound(browser, "the form for a rule").await;
    set_value(browser, "dialog [name=subject]", "ada").await;
    browser.click("dialog [type=submit]").await;
    browser.wait_for_text("[data-rule='node.lis*']", "user ada").await;
    let rules = system.client.rule_list().await.unwrap();
    let rule = rules.iter().find(|rule| rule.resource_pattern.as_str() == "node.lis*").unwrap();
    assert_eq!(rule.effect, Effect::Deny);
    assert_eq!(rule.conditions.callers, [Principal::User]);

    browser.type_into("[name=tool]", "node.list").await;
    wait_for_verdict(browser, "allowed").await;
    browser.type_into("[name=user]", "ada").await;
    wait_for_verdict(browser, "denied by rules").await;
    browser.type_into("[name=arguments]", "{").await;
    browser.click(".submission [type=submit]").await;
    browser.wait_for_text(".submission [role=alert]", "The arguments are not JSON.").await;

    browser.type_into("[aria-label='Search rules']", "node.lis*").await;
    browser.wait_for_text(".count", "1 of ").await;
    browser.click("[data-rule='node.lis*'] [data-verb=history]").await;
    browser.wait_for_text("dialog table", "rule.create").await;
    browser.click("dialog .title button").await;
    wait_until_absent(browser, "dialog").await;
    press_and_confirm(browser, "[data-rule='node.lis*'] [data-verb=delete]").await;
    wait_until_absent(browser, "[data-rule='node.lis*']").await;
    assert_eq!(system.client.rule_list().await.unwrap().len(), rules.len() - 1);
}

/// Asks for an explanation until a change of the rules has reached the policy.
async fn wait_for_verdict(browser: &TestBrowser, words: &str) {
    let begun = Instant::now();
    loop {
        browser.run("document.querySelector('.verdict')?.remove()").await;
        browser.click(".submission [type=submit]").await;
        let verdict = wait_until("a verdict", async || {
            Some(browser.text(".verdict").await).filter(|text| !text.is_empty())
        });
        let verdict = verdict.await;
        if verdict.contains(words) {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "{verdict:?}, not {words:?}");
    }
}

async fn manage_credentials(system: &System, browser: &TestBrowser) {
    browser.click(".tabs a[href='#/admin/credentials']").await;
    browser.click("[data-verb=new-credential]").await;
    browser.type_into("dialog [name=provider]", "own").await;
    browser.type_into("dialog [name=secret]", SECRET).await;
    browser.click("dialog [name=owner] option[value=system]").await;
    let kind = "return document.querySelector('dialog [name=secret]').type";
    assert_eq!(browser.run(kind).await, "password");
    assert_sound(browser, "the form for a credential").await;
    browser.click("dialog [type=submit]").await;
    browser.wait_for_text("[data-credential='own/default']", "everyone").await;
    assert_forgotten(browser, SECRET).await;
    let find = async || system.client.credential_list().await.unwrap().remove(0);
    let made = find().await;
    assert_eq!((made.provider.as_str(), made.is_active, made.version), ("own", true, 1));

    browser.click("[data-credential] [data-verb=rotate]").await;
    browser.type_into("dialog [name=secret]", SECRET).await;
    browser.click("dialog [name=expiry] option[value=date]").await;
    set_value(browser, "dialog [name=expires]", "2999-01-31").await;
    browser.click("dialog [type=submit]").await;
    browser.wait_for_text("[data-credential]", "valid until").await;
    assert_forgotten(browser, SECRET).await;
    let end = find().await.expires_at.unwrap();
    assert_eq!(end.to_rfc3339(), "2999-01-31T00:00:00+00:00");
    browser.click("[data-credential] [data-verb=disable]").await;
    browser.wait_for_text("[data-credential]", "disabled").await;
    assert!(!find().await.is_active);
    browser.click("[data-credential] [data-verb=history]").await;
    browser.wait_for_text("dialog table", "admin").await;
    assert_forgotten(browser, SECRET).await;
    browser.click("dialog .title button").await;
    wait_until_absent(browser, "dialog").await;
    press_and_confirm(browser, "[data-credential] [data-verb=delete]").await;
    wait_until_absent(browser, "[data-credential]").await;
    assert!(system.client.credential_list().await.unwrap().is_empty());
}

async fn manage_providers(system: &System, browser: &TestBrowser) {
    browser.click("[data-verb=new-provider]").await;
    browser.type_into("dialog [name=name]", "own").await;
    browser.type_into("dialog [name=base_url]", "http://127.0.0.1:9/v1").await;
    browser.type_into("dialog [name=models]", "tiny\nbig").await;
    browser.click("dialog [name=allow] option[value=everyone]").await;
    browser.click("dialog [type=submit]").await;
    browser.wait_for_text("[data-provider=own]", "tiny, big").await;
    browser.click("[data-provider=own] [data-verb=edit]").await;
    set_value(browser, "dialog [name=models]", "tiny").await;
    browser.click("dialog [type=submit]").await;
    wait_until("a changed provider", async || {
        let providers = system.client.provider_list().await.unwrap();
        providers.into_iter().find(|each| each.name == "own" && each.models == ["tiny"])
    })
    .await;
    wait_until_absent(browser, "dialog").await;
    browser.click("[data-verb=list-models]").await;
    browser.wait_for_text(".part:last-child table", "own/tiny").await;
}

async fn manage_settings(system: &System, browser: &TestBrowser) {
    browser.click(".tabs a[href='#/admin/settings']").await;
    browser.click("[data-verb=new-setting]").await;
    browser.type_into("dialog [name=key]", "mcp.audit.retention_days").await;
    browser.type_into("dialog [name=value]", "often").await;
    browser.click("dialog [type=submit]").await;
    browser.wait_for_text("dialog [role=alert]", "a whole number from 0").await;
    set_value(browser, "dialog [name=key]", "house.note").await;
    set_value(browser, "dialog [name=value]", HOSTILE).await;
    browser.type_into("dialog [name=reason]", HOSTILE).await;
    browser.click("dialog [type=submit]").await;
    browser.wait_for_text("[data-setting='house.note']", HOSTILE).await;
    let made = system.client.setting_get("house.note").await.unwrap();
    assert_eq!(made.value, json!(HOSTILE));

    // A change that came meanwhile is not overwritten, and the page then shows it.
    browser.click("[data-setting='house.note'] [data-verb=edit]").await;
    set_value(browser, "dialog [name=value]", "[1]").await;
    let other = SetSetting { value: json!(7), expected_version: None, reason: None };
    system.client.setting_set("house.note", &other).await.unwrap();
    browser.click("dialog [type=submit]").await;
    browser.wait_for_text("dialog [role=alert]", "version 2").await;
    browser.click("dialog .title button").await;
    wait_until_absent(browser, "dialog").await;
    browser.wait_for_text("[data-setting='house.note']", "7").await;
    browser.click("[data-setting='house.note'] [data-verb=history]").await;
    browser.wait_for_text("dialog table", HOSTILE).await;
    assert_sound(browser, "the changes of a setting").await;
    browser.click("dialog .title button").await;
    wait_until_absent(browser, "dialog").await;
    press_and_confirm(browser, "[data-setting='house.note'] [data-verb=remove]").await;
    wait_until_absent(browser, "[data-setting='house.note']").await;
    assert!(system.client.setting_get("house.note").await.is_err());
    let note = SetSetting { value: json!(HOSTILE), ..other };
    system.client.setting_set("house.note", &note).await.unwrap();
}

async fn manage_preferences(system: &System, browser: &TestBrowser) {
    browser.click("[aria-label='Which preferences'] option[value=user]").await;
    browser.wait_for_text(".part:last-child", "No preference is set here.").await;
    browser.click("[data-verb=new-preference]").await;
    browser.type_into("dialog [name=key]", "house.style").await;
    browser.type_into("dialog [name=value]", &json!({ "of": HOSTILE }).to_string()).await;
    browser.click("dialog [type=submit]").await;
    browser.wait_for_text("[data-preference='house.style']", HOSTILE).await;
    let own = PreferenceScope::default();
    let made = system.client.preference_get("house.style", &own).await.unwrap();
    assert_eq!(made.value, json!({ "of": HOSTILE }));
    browser.click("[aria-label='Which preferences'] option[value=effective]").await;
    browser.wait_for_text("[data-preference='house.style']", "the user, version 1").await;
    browser.click("[aria-label='Which preferences'] option[value=project]").await;
    browser.wait_for_text(".part:last-child", "Which project?").await;
    browser.type_into("[name=of]", &format!("no-such-project{ENTER}")).await;
    browser.wait_for_text(".part:last-child [role=alert]", "project").await;
}

/// A person who is no administrator sees the settings, changes the own preferences, and gets explanations.
async fn read_as_user(system: &System) {
    let browser = signed_in(system, PHONE, ("ada", PASSWORD)).await;
    open(&browser, "#/admin/settings").await;
    browser.wait_for_text("[data-setting='house.note']", HOSTILE).await;
    assert!(is_absent(&browser, "[data-setting] button, [data-verb=new-setting]").await);
    browser.click("[aria-label='Which preferences'] option[value=system]").await;
    browser.wait_for_text(".part:last-child", "No preference is set here.").await;
    let offered = "return document.querySelector('[data-verb=new-preference]').checkVisibility()";
    assert_eq!(browser.run(offered).await, false);

    open(&browser, "#/admin/rules").await;
    browser.type_into("[name=tool]", "node.list").await;
    wait_for_verdict(&browser, "allowed").await;
    assert!(is_absent(&browser, "[data-rule], [data-verb], [name=user]").await);
    assert_sound(&browser, "an explanation").await;

    open(&browser, "#/admin/credentials").await;
    browser.click("[data-verb=new-credential]").await;
    assert!(is_absent(&browser, "dialog [name=owner]").await);
    browser.type_into("dialog [name=provider]", "own").await;
    browser.type_into("dialog [name=secret]", SECRET).await;
    browser.click("dialog [type=submit]").await;
    browser.wait_for_text("[data-credential='own/default']", "you").await;
    assert!(is_absent(&browser, "[data-provider], [data-verb=rotate-key]").await);
    assert_forgotten(&browser, SECRET).await;
    assert_sound(&browser, "the own credentials").await;
}

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
