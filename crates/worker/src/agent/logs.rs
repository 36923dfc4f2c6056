//! Sending a job's output while it grows.

use std::io::SeekFrom;
use std::time::Duration;

use cynode_client::Client;
use cynode_domain::ids::JobId;
use cynode_wire::jobs::Stream;
use tokio::fs::File;
use tokio::io::{AsyncReadExt as _, AsyncSeekExt as _};
use tokio::time::Instant;

use super::Context;
use crate::job_dir::JobDir;

const BATCH_BYTES: u64 = 64 * 1024;
const EVERY: Duration = Duration::from_millis(200);

/// Both streams of one job, and how much of each the orchestrator has.
#[derive(Debug)]
pub(super) struct Logs {
    job: JobId,
    dir: JobDir,
    sent: [Progress; 2],
}

#[derive(Debug, Clone, Copy)]
enum Progress {
    Sent(u64),
    /// The orchestrator wants no more of it.
    Closed,
}

impl Logs {
    pub(super) fn new(job: JobId, dir: &JobDir) -> Self {
        Self { job, dir: dir.clone(), sent: [Progress::Sent(0); 2] }
    }

    /// Sends what is there, again and again, for ever.
    pub(super) async fn follow(&mut self, context: &Context) {
        loop {
            tokio::time::sleep(EVERY).await;
            for (index, stream) in Stream::ALL.into_iter().enumerate() {
                while self.send_next(context, index, stream).await == Sent::More {}
            }
        }
    }

    /// Sends all that is left, however long the orchestrator is away. One that answers with errors for
    /// longer than `limit` gets no more: the result has the output too.
    pub(super) async fn finish(&mut self, context: &Context, limit: Duration) {
        let mut backoff = super::backoff::Backoff::new();
        let mut failing_since: Option<Instant> = None;
        for (index, stream) in Stream::ALL.into_iter().enumerate() {
            loop {
                match self.send_next(context, index, stream).await {
                    Sent::More => {}
                    Sent::Nothing => break,
                    Sent::Failed | Sent::Unanswered if context.roster.is_forgotten(self.job) => {
                        return;
                    }
                    Sent::Failed if failing_since.is_some_and(|since| since.elapsed() >= limit) => {
                        self.close(index, "the orchestrator fails to store it");
                    }
                    Sent::Failed => {
                        failing_since.get_or_insert_with(Instant::now);
                        backoff.wait().await;
                    }
                    Sent::Unanswered => {
                        failing_since = None;
                        backoff.wait().await;
                    }
                }
            }
        }
    }

    async fn send_next(&mut self, context: &Context, index: usize, stream: Stream) -> Sent {
        let Progress::Sent(offset) = self.sent[index] else { return Sent::Nothing };
        let data = read(&self.dir, stream, offset).await.unwrap_or_default();
        if data.is_empty() {
            return Sent::Nothing;
        }
        let (job, data) = (self.job, &data);
        let append =
            |client: Client| async move { client.node_append_log(job, stream, offset, data).await };
        match context.link.call(append).await {
            // The orchestrator knows best what it has: a predecessor of this node may have sent more.
            Ok(position) if position.next_offset != offset => {
                self.sent[index] = Progress::Sent(position.next_offset);
                Sent::More
            }
            Ok(_) => self.close(index, "the orchestrator takes no more"),
            Err(error) if error.is_final() => self.close(index, &error.to_string()),
            Err(error) if error.is_answer() => Sent::Failed,
            Err(_) => Sent::Unanswered,
        }
    }

    fn close(&mut self, index: usize, reason: &str) -> Sent {
        let job = self.job;
        tracing::warn!(job.id = %job, "output of job {job} is no longer sent: {reason}");
        self.sent[index] = Progress::Closed;
        Sent::Nothing
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Sent {
    More,
    Nothing,
    /// The orchestrator answered with an error that may pass.
    Failed,
    /// The orchestrator did not answer.
    Unanswered,
}

async fn read(dir: &JobDir, stream: Stream, offset: u64) -> std::io::Result<Vec<u8>> {
    let mut file = File::open(dir.stream(stream)).await?;
    file.seek(SeekFrom::Start(offset)).await?;
    let mut data = Vec::new();
    file.take(BATCH_BYTES).read_to_end(&mut data).await?;
    Ok(data)
}
