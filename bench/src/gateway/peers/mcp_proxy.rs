//! `mcp-proxy` from crates.io: no token, no audit.

use std::fs;

use super::Seat;
use crate::gateway::client::Target;
use crate::gateway::process::Program;

/// Starts it in front of `upstream`.
pub(super) async fn start(seat: &Seat, upstream: &str) -> anyhow::Result<(Program, Target)> {
    let config = seat.path().join("proxy.toml");
    fs::write(
        &config,
        format!(
            "[proxy]\nname = \"peer\"\n[proxy.listen]\nhost = \"127.0.0.1\"\nport = {}\n\
             [[backends]]\nname = \"fixture\"\ntransport = \"http\"\nurl = \"{upstream}\"\n",
            seat.port
        ),
    )?;
    let program = seat.run(seat.command("bin/mcp-proxy").arg("--config").arg(&config)).await?;
    let target = Target {
        address: seat.address(),
        path: "/".to_owned(),
        token: None,
        tool: "fixture/echo".to_owned(),
    };
    Ok((program, target))
}
