//! Rules, credentials, providers, settings and preferences in the console.

use std::time::Instant;

use cynode_domain::policy::{Effect, Principal};
use cynode_wire::preferences::PreferenceScope;
use cynode_wire::settings::SetSetting;
use serde_json::json;

use super::{SECRET, assert_forgotten, press_and_confirm, set_value};
use crate::browser::TestBrowser;
use crate::console::{
    LAPTOP, PASSWORD, PHONE, admin_password, assert_sound, create_user, open, signed_in, wait_until,
};
use crate::console_projects::{ENTER, HOSTILE, assert_fits, is_absent, wait_until_absent};
use crate::system::{PATIENCE, System};

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
