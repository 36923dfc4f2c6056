//! A closed loop of tool calls: every client waits for its answer before it calls again.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use futures_util::future::try_join_all;
use tokio::time::timeout;

use super::client::{Client, Target};
use super::process::Usage;
use crate::sample::Sample;

/// Longer than any answer takes; whoever says nothing for so long is given up.
const PATIENCE: Duration = Duration::from_mins(1);

/// Times a second: who listens may not know its upstream yet.
const PROBES: u32 = 20;

/// So many clients, each with a session and a connection of its own.
pub(super) struct Load<'a> {
    pub(super) target: &'a Target,
    pub(super) clients: usize,
    /// Whose CPU time and memory count, with those of its children.
    pub(super) process_id: u32,
}

/// What came of a load.
pub(super) struct Calls {
    pub(super) latencies: Sample,
    pub(super) errors: usize,
    pub(super) took: Duration,
    /// What the calls alone cost; sessions are opened before and closed after.
    pub(super) cpu: Duration,
    /// The memory after the last call.
    pub(super) rss_mib: f64,
}

impl Load<'_> {
    /// Calls for as long as told.
    pub(super) async fn run(&self, lasting: Duration) -> anyhow::Result<Calls> {
        let begun = Instant::now();
        let calls = self.run_while(|| begun.elapsed() < lasting);
        timeout(lasting + PATIENCE, calls).await.context("an answer did not come")?
    }

    /// Calls that often, all clients together.
    pub(super) async fn run_calls(&self, calls: usize) -> anyhow::Result<Calls> {
        let made = AtomicUsize::new(0);
        self.run_while(|| made.fetch_add(1, Ordering::Relaxed) < calls).await
    }

    async fn run_while(&self, goes_on: impl Fn() -> bool) -> anyhow::Result<Calls> {
        let clients = (0..self.clients).map(|number| Client::open(self.target, number));
        let clients = try_join_all(clients).await?;
        let (before, begun) = (Usage::of(self.process_id)?, Instant::now());
        let done = try_join_all(clients.into_iter().map(|client| calls(client, &goes_on))).await?;
        let (took, after) = (begun.elapsed(), Usage::of(self.process_id)?);
        let mut all = Calls {
            latencies: Sample::default(),
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

/// Waits until a call is answered right.
pub(super) async fn passes_calls(target: &Target) -> anyhow::Result<()> {
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

/// One call whose answer must be right.
async fn probe(target: &Target) -> anyhow::Result<()> {
    let call = async {
        let mut client = Client::open(target, 0).await?;
        let answered = client.call(1).await?;
        if !answered.is_right {
            bail!("echo was answered with {}", answered.body.trim());
        }
        client.close().await
    };
    timeout(PATIENCE, call).await.context("echo was not answered")?
}

/// Calls while it `goes_on`: how long each call took, and how many answers were wrong.
async fn calls<'a>(
    mut client: Client<'a>,
    goes_on: &impl Fn() -> bool,
) -> anyhow::Result<(Client<'a>, Vec<Duration>, usize)> {
    let (mut latencies, mut errors) = (Vec::new(), 0);
    while goes_on() {
        let answered = client.call(latencies.len()).await?;
        latencies.push(answered.took);
        errors += usize::from(!answered.is_right);
    }
    Ok((client, latencies, errors))
}
