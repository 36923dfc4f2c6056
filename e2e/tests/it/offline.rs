//! A system in a network namespace with a loopback device only.

use std::fs;

use crate::processes::wait_until_none_left;
use crate::programs::{ProgramOutput, binary_path, isolated_shell};
use crate::system::PATIENCE;

/// Starts a system; the work of a test follows, and the system stops. Clients must be in the namespace too.
const START: &str = r#"
set -eu
ip link set lo up
"$CYNODE" up --json --listen 127.0.0.1:0 --data-dir data > up.out 2> up.err &
up=$!
trap 'kill -TERM $up 2> /dev/null; wait $up || true' EXIT
tries=0
until [ -s up.out ]; do
    if [ $tries -gt 800 ] || ! kill -0 $up; then
        cat up.err >&2
        exit 70
    fi
    tries=$((tries + 1))
    sleep 0.05
done
cat "/proc/$up/net/route" > routes
cynork() { timeout 40 "$CYNORK" --data-dir data "$@"; }
"#;

const TASK: &str = "cynork task create --command 'echo hello' --wait\n";

/// A chat turn that creates a task, a schedule that is due, and a call of an installed server.
const CHAT_SCHEDULE_AND_SERVER: &str = r#"
cynork chat -m 'run `echo from-chat`' > chat.out
cynork chat -m 'tasks'
cynork schedule create soon --in 2s --command 'echo from-schedule' -q
completed() { cynork task list -o json | tr -d ' \n' | grep -o '"status":"completed"' | wc -l; }
tries=0
until [ "$(completed)" -eq 2 ]; do
    if [ $tries -gt 200 ]; then
        cynork task list >&2
        exit 71
    fi
    tries=$((tries + 1))
    sleep 0.2
done
cynork servers add-stdio mine -- /bin/sh -c "$SERVER"
url=$(tr -d ' ' < up.out | sed -n 's/.*"url":"\([^"]*\)".*/\1/p')
curl -sS --noproxy '*' -m 20 "$url/mcp" -H "authorization: Bearer $(cat data/admin.token)" \
    -H 'content-type: application/json' -H 'accept: application/json, text/event-stream' \
    -H 'mcp-protocol-version: 2026-07-28' -H 'mcp-method: tools/call' -H 'mcp-name: mine.hail' \
    -d '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"mine.hail","arguments":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}'
"#;

/// An MCP server in shell whose tool `hail` answers with a word, and with the routes that the server has.
const SERVER: &str = r#"while read -r request; do
  id=$(printf %s "$request" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case "$request" in
    *'"initialize"'*) reply='"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"hail","version":"1"}}' ;;
    *'"tools/list"'*) reply='"result":{"tools":[{"name":"hail","description":"Says hello.","inputSchema":{"type":"object"}}]}' ;;
    *'"tools/call"'*) reply='"result":{"content":[{"type":"text","text":"hail-from-the-server"}]}' ;;
    *) reply='"error":{"code":-32601,"message":"unknown"}' ;;
  esac
  [ -z "$id" ] || printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$reply"
done"#;

/// Runs a system with this work in a namespace of its own; returns what the work printed.
fn run_offline(work: &str) -> ProgramOutput {
    let home = tempfile::Builder::new().prefix("cynode-e2e-").tempdir().unwrap();
    fs::write(home.path().join("offline.sh"), format!("{START}{work}")).unwrap();
    let mut command = isolated_shell(home.path());
    command.args(["-c", "exec unshare --map-root-user --net /bin/sh offline.sh"]);
    command.env("CYNODE", binary_path("cynode")).env("CYNORK", binary_path("cynork"));
    command.env("SERVER", SERVER);

    let said = ProgramOutput::from(command.output().unwrap());

    let left = wait_until_none_left(home.path(), PATIENCE);
    // Without permission for namespaces, `unshare` reports an error here and the test fails.
    assert_eq!(said.code, 0, "{said:?}");
    let routes = fs::read_to_string(home.path().join("routes")).unwrap();
    assert_eq!(routes.lines().count(), 1, "the system has a route to a network: {routes}");
    assert!(left.is_empty(), "left behind: {left:?}");
    said
}

#[test]
fn a_task_completes_in_a_network_namespace_with_loopback_only() {
    assert_eq!(run_offline(TASK).stdout, "hello\n");
}

#[test]
fn chat_schedules_and_installed_servers_work_in_a_network_namespace_with_loopback_only() {
    let said = run_offline(CHAT_SCHEDULE_AND_SERVER).stdout;

    // The list, made by rule through the gateway's tools, has the task of the turn before.
    assert!(said.contains("- `"), "the chat lists no task: {said}");
    assert!(said.contains("mine.hail"), "the tools of the installed server are listed: {said}");
    assert!(said.contains("hail-from-the-server"), "{said}");
}
