//! A closed loop of tool calls: every client waits for its response before it calls again.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use futures_util::future::try_join_all;
use tokio::time::timeout;

use super::client::{McpBenchClient, McpTarget};
use super::process::ProcessTreeUsage;
use crate::sample::DurationSample;

/// Longer than any response takes; a client without data for this long is aborted.
const PATIENCE: Duration = Duration::from_mins(1);

/// Number of attempts, one per second: the gateway may not know its upstream yet.
const PROBES: u32 = 20;

/// Load of several clients, each with its own session and connection.
pub(super) struct McpLoad<'a> {
    pub(super) target: &'a McpTarget,
    pub(super) clients: usize,
    /// The process whose CPU time and memory count, including its children.
    pub(super) process_id: u32,
}

/// Result of a load.
pub(super) struct McpLoadResult {
    pub(super) latencies: DurationSample,
    pub(super) errors: usize,
    pub(super) took: Duration,
    /// CPU time of the calls alone; sessions are opened before and closed after.
    pub(super) cpu: Duration,
    /// Memory after the last call.
    pub(super) rss_mib: f64,
}

impl McpLoad<'_> {
    /// Makes calls for this long.
    pub(super) async fn run_for(&self, lasting: Duration) -> anyhow::Result<McpLoadResult> {
        let begun = Instant::now();
        let calls = self.run_while(|| begun.elapsed() < lasting);
        timeout(lasting + PATIENCE, calls).await.context("an answer did not come")?
    }

    /// Makes this many calls, all clients together.
    pub(super) async fn run_calls(&self, calls: usize) -> anyhow::Result<McpLoadResult> {
        let made = AtomicUsize::new(0);
        self.run_while(|| made.fetch_add(1, Ordering::Relaxed) < calls).await
    }

    async fn run_while(&self, goes_on: impl Fn() -> bool) -> anyhow::Result<McpLoadResult> {
        let clients = (0..self.clients).map(|number| McpBenchClient::open(self.target, number));
        let clients = try_join_all(clients).await?;
        let (before, begun) = (ProcessTreeUsage::measure_tree(self.process_id)?, Instant::now());
        let done =
            try_join_all(clients.into_iter().map(|client| make_calls_while(client, &goes_on)))
                .await?;
        let (took, after) = (begun.elapsed(), ProcessTreeUsage::measure_tree(self.process_id)?);
        let mut all = McpLoadResult {
            latencies: DurationSample::default(),
            errors: 0,
            took,
            cpu: after.cpu.saturating_sub(before.cpu),
            rss_mib: after.rss_mib,
        };
        for (client, latencies, errors) in done {
            for latency in latencies {
                all.latencies.push(latency);
            }
            all.errors += errors;
            client.close().await?;
        }
        Ok(all)
    }
}

/// Waits until a call gets the right response.
pub(super) async fn wait_until_forwarding(target: &McpTarget) -> anyhow::Result<()> {
    let mut probed = probe(target).await;
    for _ in 1..PROBES {
        if probed.is_ok() {
            break;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
        probed = probe(target).await;
    }
    probed.context("it does not pass an echo call")
}

/// Makes one call and checks its response.
async fn probe(target: &McpTarget) -> anyhow::Result<()> {
    let call = async {
        let mut client = McpBenchClient::open(target, 0).await?;
        let answered = client.call(1).await?;
        if !answered.is_right {
            bail!("echo was answered with {}", answered.body.trim());
        }
        client.close().await
    };
    timeout(PATIENCE, call).await.context("echo was not answered")?
}

/// Makes calls while `goes_on` returns true; returns the latencies and the number of wrong
/// responses.
async fn make_calls_while<'a>(
    mut client: McpBenchClient<'a>,
    goes_on: &impl Fn() -> bool,
) -> anyhow::Result<(McpBenchClient<'a>, Vec<Duration>, usize)> {
    let (mut latencies, mut errors) = (Vec::new(), 0);
    while goes_on() {
        let answered = client.call(latencies.len()).await?;
        latencies.push(answered.took);
        errors += usize::from(!answered.is_right);
    }
    Ok((client, latencies, errors))
}
