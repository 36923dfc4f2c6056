//! A closed loop of requests: every client waits for its answer before it sends the next one.

use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use futures_util::future::try_join_all;
use tokio::time::timeout;

use super::client::{ChatTarget, Client, ResponseMode};
use crate::gateway::process::ProcessTreeUsage;
use crate::sample::DurationSample;

/// Longer than any answer takes; a client without data for this long is aborted.
const PATIENCE: Duration = Duration::from_mins(1);
/// Number of attempts, one per second: the server may not be ready yet.
const PROBES: u32 = 30;

/// Load of several clients, each with its own connection.
pub(super) struct ChatLoad<'a> {
    pub(super) target: &'a ChatTarget,
    pub(super) clients: usize,
    pub(super) mode: ResponseMode,
    /// The process whose CPU time and memory count; `None` for the model itself.
    pub(super) process_id: Option<u32>,
}

/// Result of a load.
#[derive(Default)]
pub(super) struct ChatLoadResult {
    /// Time to the first token.
    pub(super) first: DurationSample,
    /// Time to the end of the answer.
    pub(super) whole: DurationSample,
    pub(super) errors: usize,
    pub(super) took: Duration,
    /// CPU time of the requests alone.
    pub(super) cpu: Option<Duration>,
    /// Memory after the last request.
    pub(super) rss_mib: Option<f64>,
}

impl ChatLoad<'_> {
    /// Sends requests for this long.
    pub(super) async fn run(&self, lasting: Duration) -> anyhow::Result<ChatLoadResult> {
        let clients = (0..self.clients).map(|number| Client::open(self.target, self.mode, number));
        let clients = try_join_all(clients).await?;
        let (before, begun) = (self.usage()?, Instant::now());
        let asking = try_join_all(
            clients.into_iter().map(|client| send_questions_until(client, begun, lasting)),
        );
        let done =
            timeout(lasting + PATIENCE, asking).await.context("an answer did not come")??;
        let (took, after) = (begun.elapsed(), self.usage()?);
        let cpu = before.zip(after).map(|(before, after)| after.cpu.saturating_sub(before.cpu));
        let rss_mib = after.map(|usage| usage.rss_mib);
        let mut all = ChatLoadResult { took, cpu, rss_mib, ..ChatLoadResult::default() };
        for (times, errors) in done {
            for (first, whole) in times {
                all.first.push(first);
                all.whole.push(whole);
            }
            all.errors += errors;
        }
        Ok(all)
    }

    fn usage(&self) -> anyhow::Result<Option<ProcessTreeUsage>> {
        self.process_id.map(ProcessTreeUsage::measure_tree).transpose()
    }
}

/// Sends requests until the time is over; returns the timings and the number of wrong answers.
async fn send_questions_until(
    mut client: Client<'_>,
    begun: Instant,
    lasting: Duration,
) -> anyhow::Result<(Vec<(Duration, Duration)>, usize)> {
    let (mut times, mut errors) = (Vec::new(), 0);
    while begun.elapsed() < lasting {
        let answered = client.send_question(times.len()).await?;
        times.push((answered.first, answered.took));
        errors += usize::from(!answered.is_right);
    }
    Ok((times, errors))
}

/// Waits until a request gets the right answer.
pub(super) async fn wait_until_answering(target: &ChatTarget) -> anyhow::Result<()> {
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

async fn probe(target: &ChatTarget) -> anyhow::Result<()> {
    for mode in [ResponseMode::Whole, ResponseMode::Stream] {
        let mut client = Client::open(target, mode, 0).await?;
        let answered =
            timeout(PATIENCE, client.send_question(0)).await.context("there is no answer")??;
        if !answered.is_right {
            bail!("the answer is {}", client.answer());
        }
    }
    Ok(())
}
