//! `mcp-proxy` from crates.io: no token, no audit.

use std::fs;

use super::PeerEnvironment;
use crate::gateway::client::McpTarget;
use crate::gateway::process::BenchProcess;

/// Starts it in front of `upstream`.
pub(super) async fn start(
    environment: &PeerEnvironment,
    upstream: &str,
) -> anyhow::Result<(BenchProcess, McpTarget)> {
    let config = environment.path().join("proxy.toml");
    fs::write(
        &config,
        format!(
            "[proxy]\nname = \"peer\"\n[proxy.listen]\nhost = \"127.0.0.1\"\nport = {}\n\
             [[backends]]\nname = \"fixture\"\ntransport = \"http\"\nurl = \"{upstream}\"\n",
            environment.port
        ),
    )?;
    let program = environment
        .start_and_wait(environment.command("bin/mcp-proxy").arg("--config").arg(&config))
        .await?;
    let target = McpTarget {
        address: environment.address(),
        path: "/".to_owned(),
        token: None,
        tool: "fixture/echo".to_owned(),
    };
    Ok((program, target))
}
