//! A real headless Chromium, driven over `WebDriver`.

use std::fs::File;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::processes::{eventually, find_mentioning, send_signal};
use crate::system::PATIENCE;

/// The key of an element in the protocol.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";
const POLL: Duration = Duration::from_millis(20);
/// The driver waits a minute for a browser; then a second one is tried.
const START: Duration = Duration::from_mins(2);

/// A browser with one tab and its own profile. Dropping it ends its processes.
pub(crate) struct TestBrowser {
    driver: Child,
    session: String,
    http: reqwest::Client,
    /// Contains the profile; every process of the browser has it as its home.
    home: tempfile::TempDir,
}

impl TestBrowser {
    /// Starts a browser of `width` by `height` points.
    pub(crate) async fn open(width: u32, height: u32) -> Self {
        let home = tempfile::Builder::new().prefix("cynode-browser-").tempdir().unwrap();
        let (driver, address) = start_driver(home.path()).await;
        let http = reqwest::Client::builder().no_proxy().build().unwrap();
        let mut browser = Self { driver, session: address, http, home };
        let id = browser.create_session().await;
        browser.session += "/session/";
        browser.session += &id;
        // Windows have a minimum width, phones do not.
        browser.resize(width, height).await;
        browser
    }

    /// Sets the size of the page.
    pub(crate) async fn resize(&self, width: u32, height: u32) {
        let size =
            json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        let size = json!({ "cmd": "Emulation.setDeviceMetricsOverride", "params": size });
        self.send_command("/goog/cdp/execute", size).await.unwrap();
    }

    /// Saves downloads in a directory, without asking.
    pub(crate) async fn save_downloads(&self, directory: &Path) {
        let params = json!({ "behavior": "allow", "downloadPath": directory });
        let body = json!({ "cmd": "Browser.setDownloadBehavior", "params": params });
        self.send_command("/goog/cdp/execute", body).await.unwrap();
    }

    /// Creates a session and returns its id. The driver aborts a Chromium that starts slowly; it is
    /// then started again with a fresh profile.
    async fn create_session(&self) -> String {
        let begun = Instant::now();
        let mut turn = 0;
        loop {
            let profile = self.home.path().join(format!("profile-{turn}"));
            let arguments = [
                "--headless=new".to_owned(),
                // Tests may run as root, where Chromium's own sandbox does not work; it opens our pages only.
                "--no-sandbox".to_owned(),
                "--disable-dev-shm-usage".to_owned(),
                format!("--user-data-dir={}", profile.display()),
            ];
            let options = json!({ "args": arguments });
            let capabilities = json!({ "browserName": "chrome", "goog:chromeOptions": options });
            let session = json!({ "capabilities": { "alwaysMatch": capabilities } });
            match self.send_command("/session", session).await {
                Ok(made) => return made["sessionId"].as_str().unwrap().to_owned(),
                Err(error) => assert!(begun.elapsed() < START, "no browser: {error}"),
            }
            turn += 1;
        }
    }

    /// Opens an address.
    pub(crate) async fn visit(&self, url: &str) {
        self.send_command("/url", json!({ "url": url })).await.unwrap();
    }

    /// Clicks the element of a selector, once it exists and nothing covers it.
    pub(crate) async fn click(&self, selector: &str) {
        self.send_element_command(selector, "click", json!({})).await;
    }

    /// Types into a field.
    pub(crate) async fn type_into(&self, selector: &str, text: &str) {
        self.send_element_command(selector, "value", json!({ "text": text })).await;
    }

    /// Runs a script in the page; returns its result.
    pub(crate) async fn run(&self, script: &str) -> Value {
        self.send_command("/execute/sync", json!({ "script": script, "args": [] })).await.unwrap()
    }

    /// The visible text of the element of a selector, or nothing.
    pub(crate) async fn text(&self, selector: &str) -> String {
        let script = format!("return document.querySelector({})?.innerText ?? ''", json!(selector));
        self.run(&script).await.as_str().unwrap_or_default().to_owned()
    }

    /// Waits until an element of the selector contains `words`.
    pub(crate) async fn wait_for_text(&self, selector: &str, words: &str) {
        let begun = Instant::now();
        loop {
            let text = self.text(selector).await;
            if text.contains(words) {
                return;
            }
            let page = self.run("return document.body.innerText").await;
            assert!(begun.elapsed() < PATIENCE, "{selector} says {text:?}, not {words:?}\n{page}");
            tokio::time::sleep(POLL).await;
        }
    }

    /// Sends a command to an element; retries while it does not exist or cannot be reached.
    async fn send_element_command(&self, selector: &str, verb: &str, body: Value) {
        let begun = Instant::now();
        loop {
            let find = json!({ "using": "css selector", "value": selector });
            let done = match self.send_command("/element", find).await {
                Ok(found) => {
                    let element = found[ELEMENT].as_str().unwrap();
                    self.send_command(&format!("/element/{element}/{verb}"), body.clone()).await
                }
                Err(error) => Err(error),
            };
            let Err(error) = done else { return };
            assert!(begun.elapsed() < PATIENCE, "{verb} {selector}: {error}");
            tokio::time::sleep(POLL).await;
        }
    }

    async fn send_command(&self, path: &str, body: Value) -> Result<Value, String> {
        let url = format!("{}{path}", self.session);
        let answer = self.http.post(url).json(&body).send().await.unwrap();
        let (is_fine, mut body) =
            (answer.status().is_success(), answer.json::<Value>().await.unwrap());
        if is_fine { Ok(body["value"].take()) } else { Err(body["value"]["message"].to_string()) }
    }
}

impl Drop for TestBrowser {
    fn drop(&mut self) {
        let _ = self.driver.kill();
        let _ = self.driver.wait();
        for pid in find_mentioning(self.home.path()) {
            send_signal(pid, Signal::SIGKILL);
        }
    }
}

/// Starts the driver on a free port; returns its address.
async fn start_driver(home: &Path) -> (Child, String) {
    let out = home.join("driver.out");
    let mut command = Command::new("chromedriver");
    command.arg("--port=0").env("HOME", home).current_dir(home).stdin(Stdio::null());
    command.stdout(File::create(&out).unwrap()).stderr(Stdio::null());
    let started = command.spawn();
    let driver = started.expect("chromedriver is missing: `cargo xtask test` installs it");
    let port = eventually("a driver that listens", PATIENCE, || {
        let said = std::fs::read_to_string(&out).unwrap();
        let (_, rest) = said.split_once("successfully on port ")?;
        rest.split_once('.').map(|(port, _)| port.to_owned())
    });
    let port = port.await;
    (driver, format!("http://127.0.0.1:{port}"))
}
