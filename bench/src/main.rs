//! The `cynode-bench` binary.

use clap::Parser as _;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    cynode_bench::run(cynode_bench::Cli::parse(), &mut std::io::stdout()).await
}
