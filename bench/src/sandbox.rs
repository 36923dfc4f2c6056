//! `cynode-bench sandbox`: what isolation costs, next to a plain child process and `bwrap` in the same run.
//!
//! `starts` measures `sh -c true` from start to exit, one at a time and many at once. `egress` measures requests out of a
//! sandbox: to the node itself, and to an allowed host through the proxy.

mod egress;
mod starts;

use std::io::Write;

use clap::Args;

use crate::table::render_rows;

/// Options of the `sandbox` benchmark.
#[derive(Debug, Args)]
pub struct SandboxBenchArgs {
    /// Number of starts, one at a time.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u16).range(1..))]
    starts: u16,
    /// Number of sandboxes at once.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u16).range(1..))]
    at_once: u16,
    /// Number of requests, at most 60: a sandbox may open 20 connections in a second.
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = clap::value_parser!(u16).range(1..=60))]
    requests: u16,
}

/// Runs the benchmark and prints a table.
pub async fn run(args: &SandboxBenchArgs, out: &mut (dyn Write + Send)) -> anyhow::Result<()> {
    let (mut rows, level) = starts::measure(args.starts, args.at_once).await?;
    rows.extend(egress::measure(args.requests.into()).await?);
    write!(out, "{}", render_rows(&rows))?;
    writeln!(
        out,
        "\nMedians of {} starts and {} requests. Features of the sandbox: {}.\nA job of a node is written to disk and \
         synced before it starts and before its result is reported; the rows without it are the processes only.",
        args.starts,
        args.requests,
        level.features.join(", "),
    )?;
    Ok(())
}
