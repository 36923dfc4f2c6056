//! The knowledge of a project in the console: a real browser against a real system.

use std::fs;

use cynode_domain::ids::ProjectId;
use cynode_wire::profiles::{CreateProfile, ProfileSpec};
use cynode_wire::projects::CreateProject;

use crate::browser::TestBrowser;
use crate::console::{
    LAPTOP, admin_password, assert_sound, open, signed_in, wait_for_status_message,
};
use crate::console_projects::{ENTER, HOSTILE, assert_fits, is_absent, wait_until_absent};
use crate::system::System;

#[tokio::test(flavor = "multi_thread")]
async fn documents_are_added_found_with_citations_and_deleted_in_the_console() {
    let system = System::new().await;
    let body = CreateProject {
        display_name: "Harbour".to_owned(),
        description: String::new(),
        ..<_>::default()
    };
    let project = system.client.project_create(&body).await.unwrap().id;
    let browser = signed_in(&system, LAPTOP, ("admin", &admin_password(&system))).await;
    open(&browser, &format!("#/projects/{project}/knowledge")).await;
    browser.wait_for_text(".part", "Nothing is known in this profile.").await;

    add_a_text(&browser).await;
    add_files(&system, &browser).await;
    search(&system, &browser, project).await;

    let address = format!("#/projects/{project}/knowledge");
    let pages = [
        (address.clone(), "[data-source=handbook]", "handbook"),
        (format!("{address}?q=berth"), "[data-passage]", HOSTILE),
        (format!("{address}?source=handbook"), "[data-document='berths.md']", "markdown"),
    ];
    assert_fits(&browser, &pages).await;
    browser.resize(LAPTOP.0, LAPTOP.1).await;
    delete(&browser, &address).await;
}

/// A text that the server refuses, and then one that it takes.
async fn add_a_text(browser: &TestBrowser) {
    browser.click(".part .verbs button:last-child").await;
    browser.run("document.querySelector('dialog [name=source]').value = ''").await;
    browser.type_into("dialog [name=source]", "handbook").await;
    browser.type_into("dialog [name=path]", "../tariffs.md").await;
    browser
        .type_into("dialog [name=content]", "# Tariffs\n\nA berth costs 40 euros a day.\n")
        .await;
    browser.click("dialog [type=submit]").await;
    browser.wait_for_text("dialog [role=alert]", "tariffs.md").await;
    browser.run("document.querySelector('dialog [name=path]').value = 'tariffs.md'").await;
    browser.click("dialog [type=submit]").await;
    wait_for_status_message(browser, "Documents: 1 added.").await;
    browser.wait_for_text("[data-source=handbook]", "handbook").await;
    browser.wait_for_text(".count", "1 document,").await;
}

/// Files from disk: the one that is no text is refused by name, and the other one is added.
async fn add_files(system: &System, browser: &TestBrowser) {
    let (text, binary) = (system.home().join("berths.md"), system.home().join("photo.bin"));
    fs::write(&text, format!("# Berths\n\nBerth 7 is closed. {HOSTILE}\n")).unwrap();
    fs::write(&binary, b"\xff\xfe\x00").unwrap();
    browser.click("[data-source=handbook] a").await;
    browser.wait_for_text("[data-document='tariffs.md']", "markdown").await;
    browser.click(".part .verbs button:first-child").await;
    let files = format!("{}\n{}", text.display(), binary.display());
    browser.type_into("dialog [type=file]", &files).await;
    assert_sound(browser, "the form for files").await;
    browser.click("dialog [type=submit]").await;
    browser.wait_for_text("dialog [role=alert]", "photo.bin: it is no text in UTF-8").await;
    browser.click("dialog .title button").await;
    browser.wait_for_text("[data-document='berths.md']", "berths.md").await;
    assert!(is_absent(browser, "[data-document='photo.bin']").await);
}

async fn search(system: &System, browser: &TestBrowser, project: ProjectId) {
    browser.type_into("[name=q]", "what does a berth cost in euros?").await;
    browser.type_into("[name=q]", ENTER).await;
    browser.wait_for_text("[data-passage]:first-child .citation", "tariffs.md:").await;
    browser.wait_for_text("[data-passage]:first-child pre", "40 euros").await;
    let numbers = browser.text(".citation").await;
    let (_, lines) = numbers.split_once(':').unwrap();
    let (first, last) = lines.split_once('-').unwrap();
    let (first, last): (u32, u32) = (first.parse().unwrap(), last.parse().unwrap());
    assert!((1..=3).contains(&first) && (3..=4).contains(&last), "{numbers}");
    // The address has the search; another profile knows nothing of it.
    let address = browser.run("return location.hash").await;
    assert!(address.as_str().unwrap().contains("q=what+does+a+berth"), "{address}");
    let profile = CreateProfile { name: "other".to_owned(), spec: ProfileSpec::default() };
    system.client.profile_create(&project.to_string(), &profile).await.unwrap();
    open(browser, &format!("#/projects/{project}/knowledge?profile=other&q=berth")).await;
    browser.wait_for_text(".part", "No passage matches.").await;
    browser.wait_for_text(".part", "Nothing is known in this profile.").await;
}

/// Deletes a document and then its source, each after a confirmation.
async fn delete(browser: &TestBrowser, address: &str) {
    open(browser, &format!("{address}?source=handbook&q=closed")).await;
    browser.wait_for_text("[data-passage='berths.md']", "Berth 7").await;
    browser.click("[data-document='berths.md'] button").await;
    browser.wait_for_text("dialog", "no longer find it").await;
    browser.click("dialog .danger").await;
    wait_until_absent(browser, "[data-document='berths.md']").await;
    // The results of the search are those of now.
    wait_until_absent(browser, "[data-passage='berths.md']").await;
    browser.wait_for_text("[data-document='tariffs.md']", "markdown").await;
    open(browser, address).await;
    browser.click("[data-source=handbook] button").await;
    browser.click("dialog .actions button:first-child").await;
    wait_until_absent(browser, "dialog").await;
    browser.wait_for_text("[data-source=handbook]", "handbook").await;
    browser.click("[data-source=handbook] button").await;
    browser.click("dialog .danger").await;
    browser.wait_for_text(".part", "Nothing is known in this profile.").await;
}
