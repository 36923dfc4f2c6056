//! A Rust gateway of others to compare with: `mcp-proxy` from crates.io.

use std::fs;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::bail;
use tokio::net::TcpStream;

use super::load::Target;
use super::process::Program;
use super::subject::Subject;

/// Times 50 ms.
const START_UP_LOOKS: u32 = 200;

const PATH: &str = "target/tools/mcp-proxy/bin/mcp-proxy";

/// Starts the peer in front of the fixture; nothing if it is not installed.
pub(super) async fn start(backend: &Program) -> anyhow::Result<Option<Subject<'_>>> {
    let path = PathBuf::from(PATH);
    if !path.is_file() {
        return Ok(None);
    }
    let directory = tempfile::tempdir()?;
    // It cannot take a free port by itself.
    let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let config = directory.path().join("proxy.toml");
    fs::write(
        &config,
        format!(
            "[proxy]\nname = \"peer\"\n[proxy.listen]\nhost = \"127.0.0.1\"\nport = {port}\n\
             [[backends]]\nname = \"fixture\"\ntransport = \"http\"\nurl = \"{}\"\n",
            backend.said.trim()
        ),
    )?;
    let mut command = Command::new(path);
    command.arg("--config").arg(&config).stdout(Stdio::null()).stderr(Stdio::null());
    let program = Program::start(&mut command)?;
    wait_for(port).await?;
    let target = Target {
        address: format!("127.0.0.1:{port}"),
        path: "/".to_owned(),
        token: None,
        tool: "fixture/echo".to_owned(),
    };
    Ok(Some(Subject::before(backend, "mcp-proxy (no audit)", target, program, directory)))
}

async fn wait_for(port: u16) -> anyhow::Result<()> {
    for _ in 0..START_UP_LOOKS {
        if TcpStream::connect(("127.0.0.1", port)).await.is_ok() {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    bail!("mcp-proxy does not listen")
}
