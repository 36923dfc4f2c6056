//! `cynode-mcp-fixture --listen 127.0.0.1:0` or `--stdio`.

use std::io::Write as _;
use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use clap::Parser;
use cynode_mcp_fixture::{McpFixture, serve, serve_lines};
use tokio::io::{stdin, stdout};
use tokio::net::TcpListener;

/// An MCP server for tests.
#[derive(Debug, Parser)]
#[command(name = "cynode-mcp-fixture")]
struct Cli {
    /// Serve streamable HTTP at `http://<address>/mcp`; port 0 takes a free one
    #[arg(
        long,
        value_name = "ADDRESS",
        conflicts_with = "stdio",
        required_unless_present = "stdio"
    )]
    listen: Option<SocketAddr>,
    /// Serve standard input and output
    #[arg(long)]
    stdio: bool,
}

// One thread, to leave the other cores to the benchmarked process.
#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let cli = Cli::parse();
    let fixture = Arc::new(McpFixture::new().context("no randomness for keys")?);
    let Some(address) = cli.listen else {
        return serve_lines(fixture, stdin(), stdout()).await.context("stdio failed");
    };
    let listener = TcpListener::bind(address).await.context("cannot listen")?;
    // The only line on standard output: the parent process reads the port from it.
    writeln!(std::io::stdout(), "http://{}/mcp", listener.local_addr()?)?;
    serve(fixture, listener).await.context("cannot serve")
}
