//! The result that an agent wrote in its sandbox. Nothing in it is trusted.

use std::io::{self, Read as _};
use std::time::Duration;

use cynode_client::Client;
use cynode_domain::ids::JobId;
use cynode_domain::job::Action;
use cynode_domain::trace::TraceEvents;
use cynode_sandbox::job_dir::JobDir;
use cynode_sandbox::spec::AGENT_RESULT;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::artifacts::open_beneath;
use super::{DaemonContext, run_blocking};

/// The most bytes of a result that are read.
const MAX_RESULT_BYTES: u64 = 8 << 20;
/// How long an orchestrator may fail to store a trace.
const TRACE_PATIENCE: Duration = Duration::from_secs(30);

/// The part of a result that describes the work.
#[derive(Debug, Default, Deserialize)]
struct RecordedWork {
    #[serde(default)]
    trace: TraceEvents,
}

/// Reads the result as far as `T` knows it.
pub(super) fn read_agent_result<T: DeserializeOwned>(dir: &JobDir) -> io::Result<T> {
    let mut text = Vec::new();
    let file = open_beneath(&dir.artifacts_dir(), AGENT_RESULT).map_err(io::Error::from)?;
    file.take(MAX_RESULT_BYTES).read_to_end(&mut text)?;
    Ok(serde_json::from_slice(&text)?)
}

/// Sends what the agent of a job recorded. A trace that is missing, unreadable or rejected does not change the job's
/// result.
pub(super) async fn send_trace(context: &DaemonContext, job: JobId, dir: &JobDir) {
    let dir = dir.clone();
    let read = run_blocking(move || {
        let is_agent =
            dir.spec().is_ok_and(|spec| matches!(spec.assignment.action, Action::Agent { .. }));
        is_agent.then(|| read_agent_result::<RecordedWork>(&dir))
    });
    let events = match read.await {
        Ok(Some(Ok(work))) if !work.trace.is_empty() => work.trace,
        Ok(Some(Err(error))) => {
            tracing::debug!(job.id = %job, %error, "trace of the job not read");
            return;
        }
        Ok(_) | Err(_) => return,
    };
    let put = |client: Client| {
        let events = events.clone();
        async move { client.node_record_trace(job, &events).await }
    };
    if let Err(error) = context.call_until_answered_within(job, TRACE_PATIENCE, put).await {
        tracing::warn!(job.id = %job, %error, "trace of the job not accepted");
    }
}
