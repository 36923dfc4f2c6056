//! An interactive conversation at a terminal.

use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::fake::ScriptedGateway;

const PROMPT: &str = "you> ";
const LEFT: &str = "\x1b[D";
const UP: &str = "\x1b[A";
const HOME: &str = "\x01";
const END_OF_INPUT: &str = "\x04";
/// How long a test waits for the program.
const PATIENCE: Duration = Duration::from_secs(30);

/// `cynork chat` at a terminal of its own, which `script` of util-linux provides.
struct ChatTerminal {
    child: Child,
    keyboard: ChildStdin,
    screen: ChildStdout,
    /// The output that was not searched yet.
    unread: String,
}

impl ChatTerminal {
    fn open(gateway: &ScriptedGateway) -> Self {
        let command = format!("'{}' chat", env!("CARGO_BIN_EXE_cynork"));
        let mut child = Command::new("script")
            .args(["--quiet", "--flush", "--return", "--command", &command, "/dev/null"])
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .envs([("SHELL", "/bin/sh"), ("TERM", "xterm"), ("CYNORK_TOKEN", "cyn_test")])
            .env("HOME", gateway.path())
            .env("CYNORK_GATEWAY_URL", &gateway.url)
            .current_dir(gateway.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let (keyboard, screen) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Self { child, keyboard, screen, unread: String::new() }
    }

    async fn type_keys(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).await.unwrap();
    }

    /// Reads the screen up to and including `text`.
    async fn wait_for(&mut self, text: &str) {
        let mut part = [0; 1024];
        loop {
            if let Some(at) = self.unread.find(text) {
                self.unread.drain(..at + text.len());
                return;
            }
            let read = tokio::time::timeout(PATIENCE, self.screen.read(&mut part)).await;
            let Ok(Ok(count @ 1..)) = read else { panic!("no {text:?} in {:?}", self.unread) };
            self.unread.push_str(&String::from_utf8_lossy(&part[..count]));
        }
    }
}

/// An answer of the project manager, as a stream.
fn answer(text: &str) -> String {
    let choice = json!({ "index": 0, "delta": { "content": text }, "finish_reason": "stop" });
    let chunk = json!({
        "id": "c", "object": "chat.completion.chunk", "created": 1, "model": "cynodeai.pm",
        "choices": [choice],
    });
    format!("data: {chunk}\n\ndata: [DONE]\n\n")
}

#[tokio::test]
async fn a_line_is_edited_with_arrow_keys_and_an_earlier_one_is_recalled() {
    let gateway = ScriptedGateway::start().await;
    for text in ["one answer", "two answers", "three answers"] {
        gateway.respond("POST /v1/chat/completions", 200, &answer(text));
    }
    let mut terminal = ChatTerminal::open(&gateway);

    terminal.wait_for(PROMPT).await;
    terminal.type_keys(&format!("helo{LEFT}l\r")).await;
    terminal.wait_for("one answer").await;
    terminal.wait_for(PROMPT).await;
    terminal.type_keys(&format!("{UP}{HOME}oh, \r")).await;
    terminal.wait_for("two answers").await;
    terminal.wait_for(PROMPT).await;
    terminal.type_keys(&format!("{UP}{UP}\r")).await;
    terminal.wait_for("three answers").await;
    terminal.wait_for(PROMPT).await;
    terminal.type_keys(END_OF_INPUT).await;

    let ended = tokio::time::timeout(PATIENCE, terminal.child.wait()).await.unwrap().unwrap();
    assert!(ended.success(), "{ended}");
    let said = |body: &Value| body["messages"][0]["content"].as_str().map(str::to_owned);
    let said: Vec<_> =
        gateway.requests().iter().filter_map(|request| said(&request.body)).collect();
    assert_eq!(said, ["hello", "oh, hello", "hello"]);
}
