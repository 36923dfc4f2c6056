//! Uploads a job's output while the job runs.

use std::io::SeekFrom;
use std::time::Duration;

use cynode_client::Client;
use cynode_domain::ids::JobId;
use cynode_sandbox::job_dir::JobDir;
use cynode_wire::jobs::Stream;
use tokio::fs::File;
use tokio::io::{AsyncReadExt as _, AsyncSeekExt as _};
use tokio::time::Instant;

use super::{DaemonContext, sleep_after_failure};

const BATCH_BYTES: u64 = 64 * 1024;
const UPLOAD_INTERVAL: Duration = Duration::from_millis(200);

/// Upload position of both output streams of one job.
#[derive(Debug)]
pub(super) struct LogUploader {
    job: JobId,
    dir: JobDir,
    progress: [StreamProgress; 2],
}

#[derive(Debug, Clone, Copy)]
enum StreamProgress {
    Offset(u64),
    /// The orchestrator accepts no more of this stream.
    Closed,
}

impl LogUploader {
    pub(super) fn new(job: JobId, dir: &JobDir) -> Self {
        Self { job, dir: dir.clone(), progress: [StreamProgress::Offset(0); 2] }
    }

    /// Uploads new output periodically; never returns.
    pub(super) async fn upload_continuously(&mut self, context: &DaemonContext) {
        loop {
            tokio::time::sleep(UPLOAD_INTERVAL).await;
            for (index, stream) in Stream::ALL.into_iter().enumerate() {
                while self.upload_next(context, index, stream).await == LogSendOutcome::More {}
            }
        }
    }

    /// Uploads the remaining output. Retries without limit while the orchestrator is unreachable; stops
    /// after `limit` of error responses, because the result also contains the output.
    pub(super) async fn upload_remaining(&mut self, context: &DaemonContext, limit: Duration) {
        let mut failures = 0;
        let mut failing_since: Option<Instant> = None;
        for (index, stream) in Stream::ALL.into_iter().enumerate() {
            loop {
                match self.upload_next(context, index, stream).await {
                    LogSendOutcome::More => {}
                    LogSendOutcome::Done => break,
                    LogSendOutcome::Failed | LogSendOutcome::Unreachable
                        if context.jobs.is_forgotten(self.job) =>
                    {
                        return;
                    }
                    LogSendOutcome::Failed
                        if failing_since.is_some_and(|since| since.elapsed() >= limit) =>
                    {
                        self.close_stream(index, "the orchestrator failed to store it");
                    }
                    LogSendOutcome::Failed => {
                        failing_since.get_or_insert_with(Instant::now);
                        sleep_after_failure(&mut failures).await;
                    }
                    LogSendOutcome::Unreachable => {
                        failing_since = None;
                        sleep_after_failure(&mut failures).await;
                    }
                }
            }
        }
    }

    async fn upload_next(
        &mut self,
        context: &DaemonContext,
        index: usize,
        stream: Stream,
    ) -> LogSendOutcome {
        let StreamProgress::Offset(offset) = self.progress[index] else {
            return LogSendOutcome::Done;
        };
        let data = read_chunk(&self.dir, stream, offset).await.unwrap_or_default();
        if data.is_empty() {
            return LogSendOutcome::Done;
        }
        let (job, data) = (self.job, &data);
        let append =
            |client: Client| async move { client.node_append_log(job, stream, offset, data).await };
        match context.connection.call(append).await {
            // The orchestrator's offset is authoritative: a predecessor of this process may have sent more.
            Ok(position) if position.next_offset != offset => {
                self.progress[index] = StreamProgress::Offset(position.next_offset);
                LogSendOutcome::More
            }
            Ok(_) => self.close_stream(index, "the orchestrator accepts no more"),
            Err(error) if error.is_final() => self.close_stream(index, &error.to_string()),
            Err(error) if error.is_response() => LogSendOutcome::Failed,
            Err(_) => LogSendOutcome::Unreachable,
        }
    }

    fn close_stream(&mut self, index: usize, reason: &str) -> LogSendOutcome {
        let job = self.job;
        tracing::warn!(job.id = %job, reason, "log upload stopped");
        self.progress[index] = StreamProgress::Closed;
        LogSendOutcome::Done
    }
}

#[derive(Debug, PartialEq, Eq)]
enum LogSendOutcome {
    More,
    Done,
    /// The orchestrator answered with a retryable error.
    Failed,
    /// The orchestrator was unreachable.
    Unreachable,
}

async fn read_chunk(dir: &JobDir, stream: Stream, offset: u64) -> std::io::Result<Vec<u8>> {
    let mut file = File::open(dir.stream(stream)).await?;
    file.seek(SeekFrom::Start(offset)).await?;
    let mut data = Vec::new();
    file.take(BATCH_BYTES).read_to_end(&mut data).await?;
    Ok(data)
}
