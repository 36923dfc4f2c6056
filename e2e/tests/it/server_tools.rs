//! Servers that a user installs on the command line, and the scope of their tools.

use cynode_runtime::tasks::BackgroundTasks;
use serde_json::json;

use crate::console::{copy_test_server, create_user, wait_for_denial, wait_for_result};
use crate::programs::{ProgramOutput, call};
use crate::system::{System, SystemDatabase};

#[tokio::test]
async fn a_user_installs_a_server_on_the_command_line_and_sets_the_scope_of_its_tool() {
    let (_shelf, fixture) = copy_test_server();
    let expose = fixture.parent().unwrap();
    let config = format!("[gateway]\nexpose = [{:?}]\n", expose.to_str().unwrap());
    let system = System::with(SystemDatabase::Embedded, &config).await;
    let (_, token) = create_user(&system, "ada").await;
    let cynork = |args: &[&str]| {
        let mut command = call("cynork", system.home());
        command.env("CYNORK_TOKEN", &token).env("CYNORK_GATEWAY_URL", &system.announced.url);
        ProgramOutput::from(command.args(args).output().unwrap())
    };
    let arguments = json!({ "text": "hello" });

    let server = ["servers", "add-stdio", "mine", "--", fixture.to_str().unwrap(), "--stdio"];
    let installed = cynork(&server).expect_success();
    let said = wait_for_result(&system, &token, "mine.echo", arguments.clone()).await;
    cynork(&["tools", "scope", "mine.echo", "sandbox"]).expect_success();

    assert!(installed.stdout.contains("mine.echo"), "{installed:?}");
    assert_eq!(said["content"][0]["text"], "hello", "{said}");
    let denied = wait_for_denial(&system, &token, "mine.echo", arguments.clone()).await;
    assert_eq!(denied, "unknown");
    let scope = || cynork(&["tools", "get", "mine.echo", "-o", "json"]).json()["scope"].clone();
    assert_eq!(scope(), "sandbox");
    cynork(&["tools", "scope", "mine.echo", "both"]).expect_success();
    wait_for_result(&system, &token, "mine.echo", arguments).await;
    assert_eq!(scope(), "both");
    // The scope of a tool that belongs to others is not the user's to set.
    let others = cynork(&["tools", "scope", "node.list", "sandbox"]);
    assert_ne!(others.code, 0, "{others:?}");
}

/// An MCP server in shell whose tool `get` fetches a URL with curl.
const CURL_SERVER: &str = r#"while read -r request; do
  id=$(printf %s "$request" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  url=$(printf %s "$request" | sed -n 's/.*"url":"\([^"]*\)".*/\1/p')
  case "$request" in
    *'"initialize"'*) reply='"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"web","version":"1"}}' ;;
    *'"tools/list"'*) reply='"result":{"tools":[{"name":"get","description":"Fetches a URL.","inputSchema":{"type":"object"}}]}' ;;
    *'"tools/call"'*) text=$(curl -sS -m 20 $url 2>&1 | tr -d '"\n'); reply='"result":{"content":[{"type":"text","text":"'$text'"}]}' ;;
    *) reply='"error":{"code":-32601,"message":"unknown"}' ;;
  esac
  [ -z "$id" ] || printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$reply"
done"#;

#[tokio::test]
async fn a_server_connects_to_its_allowed_hosts_only_and_every_connection_is_recorded() {
    let system = System::with(SystemDatabase::Embedded, "").await;
    let (web, other) = (serve_text("from outside").await, serve_text("a secret").await);
    let cynork = |token: Option<&str>, args: &[&str]| {
        let mut command = call("cynork", system.home());
        command.arg("--data-dir").arg(system.data_dir());
        if let Some(token) = token {
            command.env("CYNORK_TOKEN", token).env("CYNORK_GATEWAY_URL", &system.announced.url);
        }
        ProgramOutput::from(command.args(args).output().unwrap())
    };
    let open = ["settings", "set", "network.internal.allowed", r#"["127.0.0.0/8"]"#];
    cynork(None, &open).expect_success();
    let (_, token) = create_user(&system, "ada").await;
    // Not in `NO_PROXY`.
    let host = format!("127.0.0.2:{web}");

    let every =
        ["servers", "add-stdio", "curl", "--allow-host", "*.", "--", "/bin/sh", "-c", CURL_SERVER];
    let refused = cynork(Some(&token), &every);
    let mut install = every;
    install[4] = &host;
    cynork(Some(&token), &install).expect_success();
    let fetch = async |url: String| {
        let said = wait_for_result(&system, &token, "curl.get", json!({ "url": url })).await;
        said["content"][0]["text"].as_str().unwrap().to_owned()
    };

    assert_ne!(refused.code, 0, "{refused:?}");
    assert!(refused.stderr.contains("only an administrator"), "{refused:?}");
    assert_eq!(fetch(format!("http://{host}/")).await, "from outside");
    let denied = fetch(format!("http://127.0.0.2:{other}/")).await;
    assert!(denied.contains("the host is not allowed"), "{denied}");
    let direct = fetch(format!("--noproxy 127.0.0.2 http://{host}/")).await;
    assert!(direct.contains("onnect"), "the network of the host is reachable: {direct}");
    let changes =
        cynork(None, &["audit", "changes", "--of", "mcp.connection", "-o", "json"]).json();
    let actions: Vec<&str> = changes["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["action"].as_str().unwrap())
        .collect();
    for action in ["server.connect", "server.refuse", "server.disconnect"] {
        assert!(actions.contains(&action), "{changes}");
    }
}

/// Answers every request with `text`; returns the port.
async fn serve_text(text: &'static str) -> u16 {
    let router = axum::Router::new().fallback(move || async move { text });
    let listener = tokio::net::TcpListener::bind("127.0.0.2:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    BackgroundTasks::new()
        .spawn("web", async move { axum::serve(listener, router).await.unwrap() });
    port
}
