//! Servers that a user installs on the command line, and the scope of their tools.

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
