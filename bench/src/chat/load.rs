//! A closed loop of questions: every client waits for its answer before it asks again.

use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use futures_util::future::try_join_all;
use tokio::time::timeout;

use super::client::{Client, Mode, Target};
use crate::gateway::process::Usage;
use crate::sample::Sample;

/// Longer than any answer takes; whoever says nothing for so long is given up.
const PATIENCE: Duration = Duration::from_mins(1);
/// Times a second: who listens may not be ready yet.
const PROBES: u32 = 30;

/// So many clients, each with a connection of its own.
pub(super) struct Load<'a> {
    pub(super) target: &'a Target,
    pub(super) clients: usize,
    pub(super) mode: Mode,
    /// Whose CPU time and memory count; nobody's where the model itself is asked.
    pub(super) process_id: Option<u32>,
}

/// What came of a load.
#[derive(Default)]
pub(super) struct Asked {
    /// Until the first word.
    pub(super) first: Sample,
    /// Until the end.
    pub(super) whole: Sample,
    pub(super) errors: usize,
    pub(super) took: Duration,
    /// What the questions alone cost.
    pub(super) cpu: Option<Duration>,
    /// The memory after the last of them.
    pub(super) rss_mib: Option<f64>,
}

impl Load<'_> {
    /// Asks for as long as told.
    pub(super) async fn run(&self, lasting: Duration) -> anyhow::Result<Asked> {
        let clients = (0..self.clients).map(|number| Client::open(self.target, self.mode, number));
        let clients = try_join_all(clients).await?;
        let (before, begun) = (self.usage()?, Instant::now());
        let asking = try_join_all(clients.into_iter().map(|client| asks(client, begun, lasting)));
        let done =
            timeout(lasting + PATIENCE, asking).await.context("an answer did not come")??;
        let (took, after) = (begun.elapsed(), self.usage()?);
        let cpu = before.zip(after).map(|(before, after)| after.cpu.saturating_sub(before.cpu));
        let rss_mib = after.map(|usage| usage.rss_mib);
        let mut all = Asked { took, cpu, rss_mib, ..Asked::default() };
        for (times, errors) in done {
            for (first, whole) in times {
                all.first.push(first);
                all.whole.push(whole);
            }
            all.errors += errors;
        }
        Ok(all)
    }

    fn usage(&self) -> anyhow::Result<Option<Usage>> {
        self.process_id.map(Usage::of).transpose()
    }
}

/// Asks until the time is over: how long each answer took, and how many were wrong.
async fn asks(
    mut client: Client<'_>,
    begun: Instant,
    lasting: Duration,
) -> anyhow::Result<(Vec<(Duration, Duration)>, usize)> {
    let (mut times, mut errors) = (Vec::new(), 0);
    while begun.elapsed() < lasting {
        let answered = client.ask(times.len()).await?;
        times.push((answered.first, answered.took));
        errors += usize::from(!answered.is_right);
    }
    Ok((times, errors))
}

/// Waits until a question is answered right.
pub(super) async fn answers(target: &Target) -> anyhow::Result<()> {
    let mut probed = probe(target).await;
    for _ in 1..PROBES {
        if probed.is_ok() {
            break;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
        probed = probe(target).await;
    }
    probed.context("it does not pass a question on")
}

async fn probe(target: &Target) -> anyhow::Result<()> {
    for mode in [Mode::Whole, Mode::Stream] {
        let mut client = Client::open(target, mode, 0).await?;
        let answered = timeout(PATIENCE, client.ask(0)).await.context("there is no answer")??;
        if !answered.is_right {
            bail!("the answer is {}", client.answer());
        }
    }
    Ok(())
}
