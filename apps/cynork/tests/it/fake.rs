//! A scripted gateway, and a home directory in which `cynork` runs against it.

use std::collections::HashMap;
use std::path::Path;
use std::process::{Output, Stdio};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpListener;
use tokio::process::Command;

/// Responses by method and path: each is used once, the last one repeatedly.
type ScriptedResponses = Arc<Mutex<HashMap<String, Vec<(u16, String)>>>>;

/// A received request.
#[derive(Debug, Clone)]
pub(crate) struct CynorkRequest {
    pub(crate) line: String,
    pub(crate) token: String,
    pub(crate) last_event_id: String,
    pub(crate) traceparent: String,
    pub(crate) body: Value,
}

#[derive(Clone, Default)]
struct ScriptedGatewayState {
    script: ScriptedResponses,
    requests: Arc<Mutex<Vec<CynorkRequest>>>,
}

/// A fake gateway with its own home directory.
pub(crate) struct ScriptedGateway {
    gateway: ScriptedGatewayState,
    pub(crate) url: String,
    pub(crate) home: TempDir,
    server: tokio::task::JoinHandle<()>,
}

impl Drop for ScriptedGateway {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl ScriptedGateway {
    pub(crate) async fn start() -> Self {
        let gateway = ScriptedGatewayState::default();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let router = Router::new().fallback(handle_request).with_state(gateway.clone());
        #[expect(clippy::disallowed_methods, reason = "the fake ends with its test")]
        let server = tokio::spawn(async move {
            axum::serve(listener, router).await.unwrap();
        });
        Self { gateway, url, home: tempfile::tempdir().unwrap(), server }
    }

    /// Adds a response to `METHOD /path`.
    pub(crate) fn respond(
        &self,
        line: &str,
        status: u16,
        body: &(impl ToString + ?Sized),
    ) -> &Self {
        let mut script = self.gateway.script.lock().unwrap();
        script.entry(line.to_owned()).or_default().push((status, body.to_string()));
        self
    }

    /// Adds an event stream as a response.
    pub(crate) fn respond_with_events(&self, events: &[Value]) -> &Self {
        let mut text = String::new();
        for event in events {
            let id = event["id"].as_str().unwrap();
            text.extend(["id: ", id, "\ndata: ", &event.to_string(), "\n\n"]);
        }
        self.respond("GET /v1/events", 200, &text)
    }

    /// All requests so far, in order.
    pub(crate) fn requests(&self) -> Vec<CynorkRequest> {
        self.gateway.requests.lock().unwrap().clone()
    }

    /// Runs `cynork` with a token in the environment.
    pub(crate) async fn cynork(&self, args: &[&str]) -> CynorkOutcome {
        self.cynork_with(&[("CYNORK_TOKEN", "cyn_test")], "", args).await
    }

    /// Runs `cynork` with these environment variables only, and this standard input.
    pub(crate) async fn cynork_with(
        &self,
        env: &[(&str, &str)],
        stdin: &str,
        args: &[&str],
    ) -> CynorkOutcome {
        let mut child = Command::new(env!("CARGO_BIN_EXE_cynork"))
            .args(args)
            .env_clear()
            .env("HOME", self.home.path())
            .current_dir(self.home.path())
            .env("CYNORK_GATEWAY_URL", &self.url)
            .envs(env.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = child.stdin.take().unwrap();
        // A command that does not read its input may have exited already.
        let _ = input.write_all(stdin.as_bytes()).await;
        drop(input);
        CynorkOutcome::from(child.wait_with_output().await.unwrap())
    }

    pub(crate) fn config_file(&self) -> std::path::PathBuf {
        self.home.path().join(".config/cynork/config.toml")
    }

    pub(crate) fn path(&self) -> &Path {
        self.home.path()
    }
}

/// Exit code and output of a `cynork` process.
#[derive(Debug)]
pub(crate) struct CynorkOutcome {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl From<Output> for CynorkOutcome {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl CynorkOutcome {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

async fn handle_request(State(gateway): State<ScriptedGatewayState>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let line = format!("{} {}", parts.method, parts.uri.path());
    let header = |name: &str| {
        parts.headers.get(name).map(|v| v.to_str().unwrap().to_owned()).unwrap_or_default()
    };
    let body: Bytes = axum::body::to_bytes(body, 1 << 24).await.unwrap();
    gateway.requests.lock().unwrap().push(CynorkRequest {
        line: line.clone(),
        token: header("authorization"),
        last_event_id: header("last-event-id"),
        traceparent: header("traceparent"),
        body: serde_json::from_slice(&body).unwrap_or(Value::Null),
    });
    let mut script = gateway.script.lock().unwrap();
    let (status, text) = match script.get_mut(&line) {
        Some(answers) if answers.len() > 1 => answers.remove(0),
        Some(answers) => answers[0].clone(),
        None => (404, problem(404, &format!("nothing is scripted for {line}")).to_string()),
    };
    let builder = Response::builder().status(StatusCode::from_u16(status).unwrap());
    builder.body(Body::from(text)).unwrap()
}

/// A problem document.
pub(crate) fn problem(status: u16, detail: &str) -> Value {
    json!({"type": "urn:cynode:error:x", "title": "x", "status": status, "detail": detail})
}

pub(crate) const TASK_ID: &str = "00000000-0000-7000-8000-000000000001";

/// A task as the gateway returns it.
pub(crate) fn task(status: &str) -> Value {
    let closed = !matches!(status, "queued" | "running" | "waiting");
    json!({
        "id": TASK_ID, "task_name": "hello", "status": status, "closed": closed,
        "project_id": "00000000-0000-7000-8000-000000000002", "run_id": null,
        "input_mode": "commands", "prompt": "", "commands": ["echo hello"],
        "acceptance_criteria": [], "depends_on": [],
        "summary": closed.then_some("1 of 1 steps"),
        "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:01Z",
        "started_at": "2026-01-01T00:00:00Z",
        "ended_at": closed.then_some("2026-01-01T00:00:01Z"),
    })
}

/// An event as the gateway returns it.
pub(crate) fn event(id: u32, kind: &str, data: &Value) -> Value {
    json!({
        "id": id.to_string(), "kind": kind, "project_id": null, "task_id": TASK_ID,
        "run_id": null, "job_id": null, "data": data, "occurred_at": "2026-01-01T00:00:00Z",
    })
}
