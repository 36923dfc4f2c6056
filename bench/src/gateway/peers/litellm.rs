//! The MCP gateway of the `LiteLLM` proxy: a master key, no database.

use std::fs;

use super::{PeerEnvironment, SECRET};
use crate::gateway::client::McpTarget;
use crate::gateway::process::BenchProcess;

/// Starts it in front of `upstream`.
pub(super) async fn start(
    environment: &PeerEnvironment,
    upstream: &str,
) -> anyhow::Result<(BenchProcess, McpTarget)> {
    let key = format!("sk-{SECRET}");
    let config = environment.path().join("config.yaml");
    fs::write(
        &config,
        format!(
            "model_list: []\ngeneral_settings:\n  master_key: {key}\n\
             mcp_servers:\n  fixture:\n    url: {upstream}\n    transport: http\n"
        ),
    )?;
    let mut command = environment.command("litellm/bin/litellm");
    command.args(["--host", "127.0.0.1", "--num_workers", "1", "--telemetry", "False"]);
    command.args(["--port", &environment.port.to_string(), "--config"]).arg(&config);
    // Otherwise it downloads model prices.
    let program =
        environment.start_and_wait(command.env("LITELLM_LOCAL_MODEL_COST_MAP", "True")).await?;
    let target = McpTarget {
        address: environment.address(),
        path: "/mcp/".to_owned(),
        token: Some(key),
        tool: "fixture-echo".to_owned(),
    };
    Ok((program, target))
}
