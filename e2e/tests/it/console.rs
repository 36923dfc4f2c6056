//! The web console in a real browser, against a real system.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::time::Instant;

use cynode_client::Client;
use cynode_domain::policy::ToolScope;
use cynode_wire::auth::{CreateToken, CreateUser, Login};
use cynode_wire::servers::{InstallServer, Transport, UpdateServer};
use cynode_wire::tools::Approval;
use secrecy::SecretString;
use serde_json::{Value, json};

use crate::browser::TestBrowser;
use crate::programs::binary_path;
use crate::system::{PATIENCE, System, SystemDatabase};

pub(crate) const PASSWORD: &str = "correct horse battery";
/// Points of a phone, and of a small laptop.
pub(crate) const PHONE: (u32, u32) = (390, 844);
pub(crate) const LAPTOP: (u32, u32) = (1280, 800);

/// Records the status messages of the page, which disappear after a while.
const LISTEN: &str = "window.told = []; \
    new MutationObserver((changes) => changes.forEach(({ addedNodes }) => \
      addedNodes.forEach((notice) => window.told.push(notice.innerText)))) \
    .observe(document.getElementById('notices'), { childList: true });";

pub(crate) async fn signed_in(
    system: &System,
    size: (u32, u32),
    (handle, password): (&str, &str),
) -> TestBrowser {
    let browser = TestBrowser::open(size.0, size.1).await;
    browser.visit(&format!("{}/console", system.announced.url)).await;
    browser.type_into("[name=handle]", handle).await;
    browser.type_into("[name=password]", password).await;
    browser.click(".signin form button").await;
    browser.wait_for_text("#who", handle).await;
    browser.run(LISTEN).await;
    browser
}

/// Waits until a status message contains `words`.
pub(crate) async fn wait_for_status_message(browser: &TestBrowser, words: &str) {
    let begun = Instant::now();
    loop {
        let reported = browser.run("return window.told.join('\\n')").await;
        if reported.as_str().is_some_and(|reported| reported.contains(words)) {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "{words:?} was not said, but {reported}");
        tokio::task::yield_now().await;
    }
}

/// Opens an address of the console.
pub(crate) async fn open(browser: &TestBrowser, address: &str) {
    browser.run(&format!("location.hash = {}", json!(address))).await;
}

/// Opens a page that is behind a button of the navigation on a phone.
async fn open_behind_more(browser: &TestBrowser, page: &str) {
    browser.click(".more-pages").await;
    browser.click(&format!("#other-pages a[href='#/{page}']")).await;
}

/// Fails if the page scrolls sideways, if a control has no name for a screen reader, if the page has not exactly one main
/// heading or repeats an id, or if text of a user became an element or ran.
pub(crate) async fn assert_sound(browser: &TestBrowser, place: &str) {
    let wide = "return [...document.querySelectorAll('main *, #bar *')] \
        .filter((node) => document.documentElement.scrollWidth > innerWidth \
            && node.getBoundingClientRect().right > innerWidth + 1) \
        .map((node) => `${node.tagName}.${node.className}`).join(' ')";
    assert_eq!(browser.run(wide).await, "", "{place} scrolls sideways");
    let nameless = "const named = (node) => node.ariaLabel?.trim() \
            || [...(node.labels ?? [])].some((label) => label.innerText.trim()) \
            || (node.matches('a, button, summary') && node.innerText.trim()); \
        return [...document.querySelectorAll('a[href], button, input, select, textarea, summary')] \
            .filter((node) => node.checkVisibility() && !named(node)) \
            .map((node) => node.outerHTML).join(' ')";
    assert_eq!(browser.run(nameless).await, "", "{place}: controls without a name");
    let headings = "return document.querySelectorAll('main h1').length";
    assert_eq!(browser.run(headings).await, 1, "{place}: main headings");
    let repeated = "const ids = [...document.querySelectorAll('[id]')].map(({ id }) => id); \
        return ids.filter((id, index) => ids.indexOf(id) !== index).join(' ')";
    assert_eq!(browser.run(repeated).await, "", "{place}: repeated ids");
    let made = "return document.querySelectorAll('main img, dialog img, main script').length";
    assert_eq!(browser.run(made).await, 0, "{place}: text became an element");
    let name = browser.run("return document.title").await;
    assert!(!name.as_str().unwrap_or_default().contains("481"), "{place}: text ran: {name}");
}

pub(crate) async fn wait_until<T>(what: &str, look: impl AsyncFn() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(begun.elapsed() < PATIENCE, "{what}: too long");
        tokio::task::yield_now().await;
    }
}

pub(crate) fn admin_password(system: &System) -> String {
    fs::read_to_string(system.data_dir().join("admin.password")).unwrap().trim().to_owned()
}

/// Calls a tool over MCP; returns the gateway's whole response.
async fn call_tool(system: &System, token: &str, tool: &str, arguments: Value) -> Value {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({ "name": tool, "arguments": arguments, "_meta": meta });
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let request = http
        .post(format!("{}/mcp", system.announced.url))
        .bearer_auth(token)
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", "tools/call")
        .header("mcp-name", tool)
        .json(&json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }));
    let response = request.send().await.unwrap();
    assert!(response.status().is_success(), "{}", response.text().await.unwrap());
    response.json().await.unwrap()
}

/// The stage that denied a call; `None` if the tool answered. The gateway responds to a hidden tool
/// as to one that does not exist; any other protocol error fails the test.
fn refusing_stage(tool: &str, answer: &Value) -> Option<String> {
    let error = &answer["error"];
    if error.is_null() {
        let stage = &answer["result"]["structuredContent"]["error"]["stage"];
        return stage.as_str().map(ToOwned::to_owned);
    }
    let (code, message) = (-32602, format!("there is no tool \"{tool}\""));
    assert_eq!((&error["code"], &error["message"]), (&json!(code), &json!(message)), "{answer}");
    assert_eq!(error["data"]["error"]["stage"], "known", "{answer}");
    Some("unknown".to_owned())
}

/// The stage that denies a call, once a change has reached the gateway.
pub(crate) async fn wait_for_denial(
    system: &System,
    token: &str,
    tool: &str,
    arguments: Value,
) -> String {
    let begun = Instant::now();
    loop {
        let answer = call_tool(system, token, tool, arguments.clone()).await;
        if let Some(stage) = refusing_stage(tool, &answer) {
            return stage;
        }
        assert!(begun.elapsed() < PATIENCE, "{tool} is still called: {answer}");
        tokio::task::yield_now().await;
    }
}

/// The result of a call, once the gateway admits the caller to the tool.
pub(crate) async fn wait_for_result(
    system: &System,
    token: &str,
    tool: &str,
    arguments: Value,
) -> Value {
    let begun = Instant::now();
    loop {
        let mut answer = call_tool(system, token, tool, arguments.clone()).await;
        if refusing_stage(tool, &answer).is_none() {
            return answer["result"].take();
        }
        assert!(begun.elapsed() < PATIENCE, "{tool} is still refused: {answer}");
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn an_administrator_turns_a_tool_off_in_the_console_and_its_calls_are_refused() {
    let system = System::new().await;
    let token = fs::read_to_string(&system.announced.admin_token_file).unwrap();
    let browser = signed_in(&system, LAPTOP, ("admin", &admin_password(&system))).await;
    let listed = wait_for_result(&system, token.trim(), "node.list", json!({})).await;
    assert!(listed["structuredContent"]["items"].is_array(), "{listed}");

    browser.click("#pages a[href='#/tools']").await;
    browser.click("[data-tool='node.list'] [role=switch]").await;
    wait_for_status_message(&browser, "node.list is now off.").await;

    assert!(!system.client.tool_get("node.list").await.unwrap().tool.enabled);
    assert_eq!(wait_for_denial(&system, token.trim(), "node.list", json!({})).await, "enabled");
    browser.click("#pages a[href='#/audit']").await;
    browser.wait_for_text("[data-decision=deny]", "refused by enabled").await;
    browser.click(".head button").await;
    browser.wait_for_text(".found", "Intact: ").await;
}

#[tokio::test]
async fn a_user_installs_a_server_in_the_console_and_sets_the_scope_of_its_tool() {
    let (_shelf, fixture) = copy_test_server();
    let expose = fixture.parent().unwrap();
    let config = format!("[gateway]\nexpose = [{:?}]\n", expose.to_str().unwrap());
    let system = System::with(SystemDatabase::Embedded, &config).await;
    let user = create_user(&system, "ada").await;
    let browser = signed_in(&system, PHONE, ("ada", PASSWORD)).await;

    open_behind_more(&browser, "servers").await;
    browser.click(".head button").await;
    browser.type_into("[name=slug]", "mine").await;
    browser.type_into("[name=command]", fixture.to_str().unwrap()).await;
    browser.type_into("[name=args]", "--stdio").await;
    browser.click("dialog [type=submit]").await;
    browser.click("[data-server=mine] a").await;
    let (client, token) = user;
    let arguments = json!({ "text": "hello" });
    let said = wait_for_result(&system, &token, "mine.echo", arguments.clone()).await;
    assert_eq!(said["content"][0]["text"], "hello", "{said}");
    browser.click("[data-tool='mine.echo'] select option[value=sandbox]").await;
    wait_for_status_message(&browser, "mine.echo may now be called from").await;

    assert_eq!(client.tool_get("mine.echo").await.unwrap().tool.scope, ToolScope::Sandbox);
    assert_eq!(wait_for_denial(&system, &token, "mine.echo", arguments).await, "unknown");
    let controls = "return document.querySelectorAll(
        '[data-tool^=\"node.\"] [role=switch], [data-tool^=\"node.\"] select').length";
    open_behind_more(&browser, "tools").await;
    browser.wait_for_text("[data-tool='node.list']", "node.list").await;
    assert_eq!(browser.run(controls).await, 0, "a user is offered what is not theirs to change");
    browser.click("[data-tool='mine.echo'] [role=switch]").await;
    wait_for_status_message(&browser, "mine.echo is now off").await;
    assert!(!client.tool_get("mine.echo").await.unwrap().tool.enabled);
    assert_sound(&browser, "tools").await;
}

#[tokio::test]
async fn a_refusal_is_shown_in_words_and_a_signed_out_tab_holds_no_token() {
    let system = System::new().await;
    let browser = signed_in(&system, LAPTOP, ("admin", &admin_password(&system))).await;

    browser.click("#pages a[href='#/servers']").await;
    browser.click(".head button").await;
    browser.type_into("[name=slug]", "db").await;
    browser.type_into("[name=command]", "/bin/true").await;
    browser.click("dialog [type=submit]").await;
    browser.wait_for_text("dialog [role=alert]", "belongs to built-in tools").await;
    browser.click("dialog .title button").await;
    browser.click("#leave").await;
    browser.wait_for_text("h1", "Sign in to CyNode").await;

    let kept = "return sessionStorage.length + localStorage.length + document.cookie.length";
    assert_eq!(browser.run(kept).await, 0);
    browser.type_into("[name=handle]", "admin").await;
    browser.type_into("[name=password]", "not the password").await;
    browser.click(".signin form button").await;
    browser.wait_for_text(".trouble", "password").await;
}

#[tokio::test]
async fn a_changed_tool_is_read_as_text_in_the_console_and_works_again_once_approved() {
    let system = System::new().await;
    let server = InstallServer {
        slug: "shy".to_owned(),
        system: false,
        transport: described_server("Adds."),
        scope: None,
    };
    system.client.server_install(&server).await.unwrap();
    wait_for_approval(&system, Approval::Approved).await;
    let words = "Adds. <img src=x onerror=alert(1)>";
    let change =
        UpdateServer { transport: Some(described_server(words)), ..UpdateServer::default() };
    system.client.server_update("shy", &change).await.unwrap();
    wait_for_approval(&system, Approval::Changed).await;
    let browser = signed_in(&system, LAPTOP, ("admin", &admin_password(&system))).await;

    browser.click("[data-item=tool] a").await;
    browser.click("[data-tool='shy.add'] .warn").await;
    browser.wait_for_text("dialog del", "- Adds.").await;
    browser.wait_for_text("dialog ins", &format!("+ {words}")).await;
    let images = "return document.querySelectorAll('main img, dialog img').length";
    assert_eq!(browser.run(images).await, 0, "a description became markup");
    browser.click("dialog .main").await;
    wait_for_status_message(&browser, "shy.add is approved").await;

    wait_for_approval(&system, Approval::Approved).await;
    browser.click("#pages a[href='#/home']").await;
    browser.wait_for_text(".nothing", "Nothing waits for you.").await;
}

/// A server with one tool, whose description is `words`.
fn described_server(words: &str) -> Transport {
    let list = json!({ "tools": [
        { "name": "add", "description": words, "inputSchema": { "type": "object" } },
    ] });
    let hello = json!({
        "protocolVersion": "2025-11-25", "capabilities": { "tools": {} },
        "serverInfo": { "name": "shy", "version": "1" },
    });
    let unknown = json!({ "code": -32601, "message": "unknown" });
    let script = format!(
        r#"while read -r asked; do
             id=$(printf %s "$asked" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
             case "$asked" in
               *'"initialize"'*) said='"result":{hello}' ;;
               *'"tools/list"'*) said='"result":{list}' ;;
               *) said='"error":{unknown}' ;;
             esac
             [ -z "$id" ] || printf '{{"jsonrpc":"2.0","id":%s,%s}}\n' "$id" "$said"
           done"#
    );
    let args = vec!["-c".to_owned(), script];
    let command = "/bin/sh".to_owned();
    Transport::Stdio {
        command,
        args,
        env: BTreeMap::new(),
        allow_network: false,
        allowed_hosts: vec![],
    }
}

/// Waits until the tool has this approval state.
async fn wait_for_approval(system: &System, expected: Approval) {
    let begun = Instant::now();
    loop {
        let found = system.client.tool_get("shy.add").await;
        if found.as_ref().is_ok_and(|tool| tool.tool.approval == expected) {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "not {expected:?}: {found:?}");
        tokio::task::yield_now().await;
    }
}

/// The test server in its own directory, for a sandbox to expose.
pub(crate) fn copy_test_server() -> (tempfile::TempDir, PathBuf) {
    let shelf = tempfile::Builder::new().prefix("cynode-shelf-").tempdir().unwrap();
    fs::set_permissions(shelf.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let fixture = shelf.path().join("fixture");
    fs::copy(binary_path("cynode-mcp-fixture"), &fixture).unwrap();
    (shelf, fixture)
}

/// A new user, as a client and with its token.
pub(crate) async fn create_user(system: &System, handle: &str) -> (Client, String) {
    let (handle, password) = (handle.to_owned(), PASSWORD.to_owned());
    let body = CreateUser { handle: handle.clone(), password: password.clone(), is_admin: false };
    system.client.user_create(&body).await.unwrap();
    let anonymous = Client::anonymous(&system.announced.url).unwrap();
    let session = anonymous.login(&Login { handle, password }).await.unwrap();
    let client = |token: String| Client::new(&system.announced.url, SecretString::from(token));
    let request = CreateToken { name: "client".to_owned(), ..CreateToken::default() };
    let made = client(session.access_token).unwrap().token_create(&request).await.unwrap();
    (client(made.secret.clone()).unwrap(), made.secret)
}
