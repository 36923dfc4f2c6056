//! A real Chromium without a window, driven over `WebDriver`.

use std::fs::File;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::processes::{eventually, mentioning, send};
use crate::system::PATIENCE;

/// The key under which the protocol names an element.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";
const POLL: Duration = Duration::from_millis(20);
/// The driver waits a minute for a browser; a second one is given its chance.
const START: Duration = Duration::from_mins(2);

/// A browser with one tab and a profile of its own. Dropping it ends its processes.
pub(crate) struct Browser {
    driver: Child,
    session: String,
    http: reqwest::Client,
    /// Holds the profile; every process of the browser has it as its home.
    home: tempfile::TempDir,
}

impl Browser {
    /// Starts a browser of `width` by `height` points.
    pub(crate) async fn open(width: u32, height: u32) -> Self {
        let home = tempfile::Builder::new().prefix("cynode-browser-").tempdir().unwrap();
        let (driver, address) = start_driver(home.path()).await;
        let http = reqwest::Client::builder().no_proxy().build().unwrap();
        let mut browser = Self { driver, session: address, http, home };
        let id = browser.begin().await;
        browser.session += "/session/";
        browser.session += &id;
        // Windows have a least width that phones do not have.
        let size =
            json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        let size = json!({ "cmd": "Emulation.setDeviceMetricsOverride", "params": size });
        browser.ask("/goog/cdp/execute", size).await.unwrap();
        browser
    }

    /// Begins a session; its id. The driver gives up a Chromium that is slow to start, which is
    /// then started again with a profile that no other has touched.
    async fn begin(&self) -> String {
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
            let wanted = json!({ "browserName": "chrome", "goog:chromeOptions": options });
            let wanted = json!({ "capabilities": { "alwaysMatch": wanted } });
            match self.ask("/session", wanted).await {
                Ok(made) => return made["sessionId"].as_str().unwrap().to_owned(),
                Err(error) => assert!(begun.elapsed() < START, "no browser: {error}"),
            }
            turn += 1;
        }
    }

    /// Goes to an address.
    pub(crate) async fn visit(&self, url: &str) {
        self.ask("/url", json!({ "url": url })).await.unwrap();
    }

    /// Clicks what a selector finds, once it is there and nothing covers it.
    pub(crate) async fn click(&self, selector: &str) {
        self.act(selector, "click", json!({})).await;
    }

    /// Types into a field.
    pub(crate) async fn type_into(&self, selector: &str, text: &str) {
        self.act(selector, "value", json!({ "text": text })).await;
    }

    /// Runs a script in the page; what it returns.
    pub(crate) async fn run(&self, script: &str) -> Value {
        self.ask("/execute/sync", json!({ "script": script, "args": [] })).await.unwrap()
    }

    /// The visible text of what a selector finds, or nothing.
    pub(crate) async fn text(&self, selector: &str) -> String {
        let script = format!("return document.querySelector({})?.innerText ?? ''", json!(selector));
        self.run(&script).await.as_str().unwrap_or_default().to_owned()
    }

    /// Waits until a selector finds something that says `words`.
    pub(crate) async fn says(&self, selector: &str, words: &str) {
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

    /// Does something to an element, again while it is not there or not to be reached.
    async fn act(&self, selector: &str, verb: &str, body: Value) {
        let begun = Instant::now();
        loop {
            let find = json!({ "using": "css selector", "value": selector });
            let done = match self.ask("/element", find).await {
                Ok(found) => {
                    let element = found[ELEMENT].as_str().unwrap();
                    self.ask(&format!("/element/{element}/{verb}"), body.clone()).await
                }
                Err(error) => Err(error),
            };
            let Err(error) = done else { return };
            assert!(begun.elapsed() < PATIENCE, "{verb} {selector}: {error}");
            tokio::time::sleep(POLL).await;
        }
    }

    async fn ask(&self, path: &str, body: Value) -> Result<Value, String> {
        let url = format!("{}{path}", self.session);
        let answer = self.http.post(url).json(&body).send().await.unwrap();
        let (is_fine, mut body) =
            (answer.status().is_success(), answer.json::<Value>().await.unwrap());
        if is_fine { Ok(body["value"].take()) } else { Err(body["value"]["message"].to_string()) }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.driver.kill();
        let _ = self.driver.wait();
        for pid in mentioning(self.home.path()) {
            send(pid, Signal::SIGKILL);
        }
    }
}

/// Starts the driver on a port of its choice; where it listens.
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
