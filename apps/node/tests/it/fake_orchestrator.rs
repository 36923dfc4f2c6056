//! A fake orchestrator: assigns jobs, records what a node reports, and can be stopped. Like the real one, it lets
//! one process at a time hold the node's name.

mod in_process_node;
mod routes;

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use axum::Router;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::{get, post, put};
use cynode_domain::ids::{IncarnationId, JobId, TaskId};
use cynode_domain::trace::TraceEvents;
use cynode_wire::agent_profiles::CanaryReport;
use cynode_wire::jobs::{JobResult, Stream};
use cynode_wire::nodes::{Assignment, INCARNATION_HEADER, Incarnation, Poll, RecordConnection};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::Notify;

use crate::agent_answers::AgentAnswers;
use crate::fake_agent_api::{agent_request, agent_token, canary, connection, trace};
use crate::workbench::TEST_TIMEOUT;
pub(crate) use in_process_node::{InProcessNode, join_token, options};
use routes::{
    artifact, attachment, bundle, changes, git_credential, logs, poll, register, result, start,
    stop, workspaces,
};

/// The directory of repositories that the node allows, below its data directory.
pub(crate) const REPOSITORIES: &str = "repositories";

/// State of the fake orchestrator.
#[derive(Debug, Default)]
pub(crate) struct OrchestratorFakeState {
    pub(crate) assigned: BTreeMap<JobId, Assignment>,
    pub(crate) cancel: BTreeSet<JobId>,
    pub(crate) forget: BTreeSet<JobId>,
    pub(crate) results: BTreeMap<JobId, Vec<JobResult>>,
    pub(crate) artifacts: BTreeMap<String, Vec<u8>>,
    /// Changes of repositories, in the order of their upload.
    pub(crate) changes: Vec<(JobId, String, Vec<u8>)>,
    pub(crate) logs: BTreeMap<(JobId, &'static str), Vec<u8>>,
    pub(crate) attachments: BTreeMap<String, Vec<u8>>,
    pub(crate) registrations: u32,
    /// The images that the node registered with.
    pub(crate) images: Vec<String>,
    pub(crate) polls: Vec<Poll>,
    /// The node's job directory, and the jobs named in a poll that were not on disk there.
    pub(crate) jobs_dir: PathBuf,
    pub(crate) not_kept: BTreeSet<JobId>,
    /// Assigns every job in every response, as an orchestrator that lost its state would.
    pub(crate) reassigns_everything: bool,
    /// Rejects every node token issued so far.
    pub(crate) valid_from: u32,
    /// The process that holds the node's name, and the rejected ones.
    pub(crate) holder: Option<IncarnationId>,
    pub(crate) rejected: BTreeSet<IncarnationId>,
    /// The process that each job is assigned to.
    pub(crate) held_by: BTreeMap<JobId, IncarnationId>,
    pub(crate) closed: BTreeSet<TaskId>,
    /// Attachments and artifacts for which requests fail.
    pub(crate) broken: BTreeSet<String>,
    /// Number of failed requests for those.
    pub(crate) failures: u32,
    /// The jobs of the tokens issued so far; the token is `agent-` and the index.
    pub(crate) agent_tokens: Vec<JobId>,
    /// Tokens below this index are revoked.
    pub(crate) agent_tokens_from: usize,
    /// Requests of agents.
    pub(crate) agent_requests: Vec<AgentRequest>,
    /// How requests of agents are answered.
    pub(crate) agent_answers: AgentAnswers,
    /// Reports of canary runs, in the order of their arrival.
    pub(crate) canaries: Vec<(JobId, CanaryReport)>,
    /// Traces of agents, in the order of their arrival.
    pub(crate) traces: Vec<(JobId, TraceEvents)>,
    /// Recorded connections of agents.
    pub(crate) connections: Vec<(JobId, RecordConnection)>,
}

/// A request that a node passed on for an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AgentRequest {
    pub(crate) path: String,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: String,
}

impl OrchestratorFakeState {
    /// Lets a process take the node's name.
    fn take_name(&mut self, process: &Incarnation) -> Result<(), StatusCode> {
        let follows = |holder| process.predecessors_ended && process.succeeds.contains(&holder);
        if self.holder.is_some_and(|holder| holder != process.id && !follows(holder)) {
            self.rejected.insert(process.id);
            return Err(StatusCode::CONFLICT);
        }
        self.holder = Some(process.id);
        for holder in self.held_by.values_mut().filter(|held| process.succeeds.contains(held)) {
            *holder = process.id;
        }
        Ok(())
    }

    /// Rejects a caller that does not hold the job.
    pub(crate) fn check_holder(&self, headers: &HeaderMap, job: JobId) -> Result<(), StatusCode> {
        authorize(self, headers)?;
        let is_held = self.held_by.get(&job) == Some(&calling_incarnation(headers));
        is_held.then_some(()).ok_or(StatusCode::CONFLICT)
    }

    /// Fails for files in `broken`.
    pub(crate) fn check_disk(&mut self, name: &str) -> Result<(), StatusCode> {
        if self.broken.contains(name) {
            self.failures += 1;
            return Err(StatusCode::INTERNAL_SERVER_ERROR);
        }
        Ok(())
    }
}

/// The calling process.
fn calling_incarnation(headers: &HeaderMap) -> IncarnationId {
    headers[INCARNATION_HEADER].to_str().unwrap().parse().unwrap()
}

#[derive(Debug, Clone, Default)]
pub(crate) struct OrchestratorFake {
    state: Arc<Mutex<OrchestratorFakeState>>,
    changed: Arc<Notify>,
}

impl OrchestratorFake {
    pub(crate) fn state(&self) -> MutexGuard<'_, OrchestratorFakeState> {
        self.state.lock().unwrap()
    }

    /// Changes the state and wakes a waiting poll.
    pub(crate) fn change(&self, change: impl FnOnce(&mut OrchestratorFakeState)) {
        change(&mut self.state());
        self.changed.notify_waiters();
    }

    pub(crate) fn assign(&self, job: &Assignment) {
        self.change(|known| {
            known.assigned.insert(job.job_id, job.clone());
        });
    }

    /// Serves on `address` until [`ServedOrchestratorFake::shut_down`].
    pub(crate) async fn serve(&self, address: SocketAddr) -> (SocketAddr, ServedOrchestratorFake) {
        let listener = listener(address).await;
        let address = listener.local_addr().unwrap();
        let routes = Router::new()
            .route("/v1/nodes/register", post(register))
            .route("/v1/node/start", post(start))
            .route("/v1/node/stop", post(stop))
            .route("/v1/node/workspaces", post(workspaces))
            .route("/v1/node/poll", post(poll))
            .route("/v1/node/jobs/{job}/logs", post(logs))
            .route("/v1/node/jobs/{job}/artifacts", put(artifact))
            .route("/v1/node/jobs/{job}/changes/{file}", put(changes))
            .route("/v1/node/jobs/{job}/bundle", get(bundle))
            .route("/v1/node/jobs/{job}/git-credential", post(git_credential))
            .route("/v1/node/jobs/{job}/attachments/{name}", get(attachment))
            .route("/v1/node/jobs/{job}/result", post(result))
            .route("/v1/node/jobs/{job}/agent-token", post(agent_token))
            .route("/v1/node/jobs/{job}/canary", put(canary))
            .route("/v1/node/jobs/{job}/connections", post(connection))
            .route("/v1/node/jobs/{job}/trace", put(trace))
            .route("/v1/egress/chat/completions", post(agent_request))
            .route("/v1/egress/messages", post(agent_request))
            .route("/mcp", post(agent_request))
            .with_state(self.clone());
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        let runtime = builder.worker_threads(1).enable_all().build().unwrap();
        runtime.spawn(async move {
            let listener = TcpListener::from_std(listener).unwrap();
            axum::serve(listener, routes).await.unwrap();
        });
        (address, ServedOrchestratorFake(Some(runtime)))
    }

    /// Waits until `look` finds something in the state.
    pub(crate) async fn wait_for<T>(
        &self,
        what: &str,
        look: impl Fn(&OrchestratorFakeState) -> Option<T>,
    ) -> T {
        let waited = tokio::time::timeout(TEST_TIMEOUT, async {
            loop {
                if let Some(found) = look(&self.state()) {
                    return found;
                }
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        });
        waited.await.unwrap_or_else(|_| panic!("{what} did not happen: {:?}", self.state()))
    }

    pub(crate) async fn result_of(&self, job: JobId) -> JobResult {
        self.wait_for("the result", |known| known.results.get(&job)?.first().cloned()).await
    }
}

/// Binds `address`; another process may hold the port for a moment after a restart.
async fn listener(address: SocketAddr) -> std::net::TcpListener {
    let begun = Instant::now();
    loop {
        match std::net::TcpListener::bind(address) {
            Ok(listener) => {
                listener.set_nonblocking(true).unwrap();
                return listener;
            }
            Err(error) => assert!(begun.elapsed() < TEST_TIMEOUT, "{address}: {error}"),
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// A serving fake. It has its own runtime, so that stopping it closes every connection.
pub(crate) struct ServedOrchestratorFake(Option<Runtime>);

impl ServedOrchestratorFake {
    /// Stops serving.
    pub(crate) fn shut_down(mut self) {
        let runtime = self.0.take().unwrap();
        tokio::task::block_in_place(|| runtime.shutdown_timeout(TEST_TIMEOUT));
    }
}

impl Drop for ServedOrchestratorFake {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

fn authorize(known: &OrchestratorFakeState, headers: &HeaderMap) -> Result<(), StatusCode> {
    let token = headers["authorization"].to_str().unwrap().trim_start_matches("Bearer ");
    let is_valid = token.parse::<u32>().is_ok_and(|number| number > known.valid_from);
    is_valid.then_some(()).ok_or(StatusCode::UNAUTHORIZED)
}

/// The received part of a job's stream.
pub(crate) fn received_log(known: &OrchestratorFakeState, job: JobId, stream: Stream) -> String {
    let bytes = known.logs.get(&(job, stream.as_str())).cloned().unwrap_or_default();
    String::from_utf8(bytes).unwrap()
}
