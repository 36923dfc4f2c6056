//! IBM's `ContextForge`: its token and its rules, SQLite, one worker.

use std::process::Command;

use anyhow::{Context as _, bail};
use serde_json::{Value, json};

use super::{PeerEnvironment, SECRET};
use crate::gateway::client::McpTarget;
use crate::gateway::process::BenchProcess;
use crate::gateway::subject::post;

const ADMIN: &str = "bench@example.com";
const TOOL: &str = "fixture-echo";

/// Whether it keeps sessions.
#[derive(Debug, Clone, Copy)]
pub(super) enum SessionMode {
    /// The default.
    Stateless,
    Stateful,
}

/// Starts it, with `upstream` registered and its `echo` in a virtual server.
pub(super) async fn start(
    environment: &PeerEnvironment,
    upstream: &str,
    mode: SessionMode,
) -> anyhow::Result<(BenchProcess, McpTarget)> {
    let port = environment.port.to_string();
    let mut command = environment.command("contextforge/bin/mcpgateway");
    command.args(["--host", "127.0.0.1", "--workers", "1", "--port", &port]);
    let is_stateful = matches!(mode, SessionMode::Stateful).to_string();
    set_environment(&mut command, environment).env("USE_STATEFUL_SESSIONS", is_stateful);
    let program = environment.start_and_wait(&mut command).await?;
    let token = create_token(environment)?;
    let server = register_upstream(&environment.address(), &token, upstream).await?;
    let target = McpTarget {
        address: environment.address(),
        path: format!("/servers/{server}/mcp/"),
        token: Some(token),
        tool: TOOL.to_owned(),
    };
    Ok((program, target))
}

fn set_environment<'a>(command: &'a mut Command, environment: &PeerEnvironment) -> &'a mut Command {
    let database = format!("sqlite:///{}", environment.path().join("peer.db").display());
    // It does not start when two of its secrets are equal.
    let secrets = [
        "JWT_SECRET_KEY",
        "AUTH_ENCRYPTION_SECRET",
        "BASIC_AUTH_PASSWORD",
        "PLATFORM_ADMIN_PASSWORD",
        "DEFAULT_USER_PASSWORD",
    ];
    for (number, name) in secrets.into_iter().enumerate() {
        command.env(name, format!("{SECRET}-{number}-E9!"));
    }
    command
        .env("DATABASE_URL", database)
        .env("CACHE_TYPE", "memory")
        .env("PLATFORM_ADMIN_EMAIL", ADMIN)
        .env("PASSWORD_CHANGE_ENFORCEMENT_ENABLED", "false")
        .env("SSRF_ALLOW_LOCALHOST", "true")
        // Otherwise the limit of a hundred calls a minute, and the lockout after it, would
        // dominate.
        .env("RATE_LIMITING_ENABLED", "false")
}

/// A token of the administrator, created by its own tool.
fn create_token(environment: &PeerEnvironment) -> anyhow::Result<String> {
    let mut command = environment.command("contextforge/bin/python");
    command.args(["-m", "mcpgateway.utils.create_jwt_token", "--admin", "--exp", "1440"]);
    command.args(["--username", ADMIN, "--secret", &format!("{SECRET}-0-E9!")]);
    let output = set_environment(&mut command, environment).output()?;
    let output = String::from_utf8_lossy(&output.stdout);
    let token = output.lines().map(str::trim).rfind(|line| line.starts_with("eyJ"));
    token.map(str::to_owned).context("it made no token")
}

/// The id of a new virtual server with the upstream's `echo`.
async fn register_upstream(address: &str, token: &str, upstream: &str) -> anyhow::Result<String> {
    let at = |path: &str| format!("http://{address}/v1/{path}");
    let gateway = json!({ "name": "fixture", "url": upstream, "transport": "STREAMABLEHTTP" });
    post(&at("gateways"), token, &gateway).await?;
    let tools = reqwest::Client::new().get(at("tools?limit=0")).bearer_auth(token).send().await?;
    let tools: Value = serde_json::from_str(&tools.text().await?)?;
    let tool = tools.as_array().and_then(|all| all.iter().find(|tool| tool["name"] == TOOL));
    let Some(tool) = tool else { bail!("it does not list {TOOL}: {tools}") };
    let server = json!({ "server": { "name": "bench", "associated_tools": [tool["id"]] } });
    let made = post(&at("servers"), token, &server).await?;
    made["id"].as_str().map(str::to_owned).context("it made no server")
}
