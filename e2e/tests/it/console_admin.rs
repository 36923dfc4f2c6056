//! The administration in the console: a real browser against a real system.

mod access_and_settings;
mod agents_and_channels;
mod nodes_and_accounts;

use serde_json::json;

use crate::browser::TestBrowser;
use crate::console::assert_sound;
use crate::console_projects::wait_until_absent;

const SECRET: &str = "xyzzy-0815-open-sesame";

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
