//! A fake orchestrator: assigns jobs, records what a node reports, and can be stopped. Like the real one, it lets
//! one process at a time hold the node's name.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use axum::body::Bytes;
use axum::extract::{Path as UrlPath, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::routing::{get, post, put};
use axum::{Json, Router};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cynode_domain::ids::{ArtifactId, IncarnationId, JobId, NodeId, TaskId};
use cynode_domain::policy::network::AllowedNetworks;
use cynode_domain::trace::TraceEvents;
use cynode_runtime::clock::{Clock as _, SystemClock};
use cynode_runtime::health::Readiness;
use cynode_runtime::shutdown::Shutdown;
use cynode_sandbox::sandbox::SandboxOptions;
use cynode_wire::agent_profiles::CanaryReport;
use cynode_wire::artifacts::ArtifactView;
use cynode_wire::git::{BundleQuery, GitCredentialView};
use cynode_wire::jobs::{JobResult, Stream};
use cynode_wire::nodes::{
    AppendLog, AskWorkspaces, Assignment, INCARNATION_HEADER, Incarnation, LogPosition, Poll,
    PollView, RecordConnection, RegisterNode, RegisteredView, WorkspacesView,
};
use cynode_worker::agent::{ImageOptions, NodeDaemon, NodeDaemonOptions, RepositoryAccess};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use crate::agent_answers::AgentAnswers;
use crate::fake_agent_api::{agent_request, agent_token, canary, connection, trace};
use crate::workbench::TEST_TIMEOUT;

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

#[expect(clippy::disallowed_methods, reason = "the test owns the task and ends it")]
fn spawn(future: impl Future<Output = ()> + Send + 'static) -> JoinHandle<()> {
    tokio::spawn(future)
}

/// A node in this process, with sandboxes of the real executable.
pub(crate) struct InProcessNode {
    shutdown: Shutdown,
    pub(crate) running: JoinHandle<()>,
}

impl InProcessNode {
    pub(crate) async fn start(state: &Path, orchestrator: SocketAddr) -> Self {
        let agent =
            NodeDaemon::prepare(options(state, orchestrator), Readiness::new()).await.unwrap();
        let shutdown = Shutdown::new();
        let request = shutdown.clone();
        Self { shutdown, running: spawn(async move { agent.run(request).await.unwrap() }) }
    }

    /// Stops as on SIGTERM.
    pub(crate) async fn stop(self) {
        self.shutdown.trigger();
        tokio::time::timeout(TEST_TIMEOUT, self.running).await.unwrap().unwrap();
    }
}

/// Writes the join token that the fake accepts.
pub(crate) fn join_token(state: &Path) -> PathBuf {
    let path = state.join("node-join.token");
    std::fs::write(&path, "join").unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    path
}

pub(crate) fn options(state: &Path, orchestrator: SocketAddr) -> NodeDaemonOptions {
    let join_token_file = join_token(state);
    let mut sandbox = SandboxOptions::new(state.join("node"));
    sandbox.executable = PathBuf::from(env!("CARGO_BIN_EXE_cynode-node"));
    NodeDaemonOptions {
        orchestrator_url: format!("http://{orchestrator}"),
        join_token_file,
        slug: "test".to_owned(),
        max_concurrency: 2,
        labels: cynode_domain::node_labels::NodeLabels::new(),
        workspace_retention: Duration::from_hours(1),
        sandbox,
        required_features: vec![],
        repositories: RepositoryAccess::new(
            vec![state.join(REPOSITORIES)],
            AllowedNetworks::default(),
        ),
        agent_networks: AllowedNetworks::default(),
        has_edge: false,
        images: ImageOptions::default(),
    }
}

async fn register(
    State(fake): State<OrchestratorFake>,
    headers: HeaderMap,
    Json(body): Json<RegisterNode>,
) -> Result<Json<RegisteredView>, StatusCode> {
    if headers["authorization"] != "Bearer join" {
        return Err(StatusCode::UNAUTHORIZED);
    }
    let mut known = fake.state();
    known.take_name(&body.incarnation)?;
    known.registrations += 1;
    known.images = body.capabilities.images;
    let node_token = known.registrations.to_string();
    Ok(Json(RegisteredView { node_id: NodeId::generate(), node_token }))
}

async fn start(
    State(fake): State<OrchestratorFake>,
    headers: HeaderMap,
    Json(body): Json<Incarnation>,
) -> Result<StatusCode, StatusCode> {
    let mut known = fake.state();
    authorize(&known, &headers)?;
    known.take_name(&body)?;
    Ok(StatusCode::NO_CONTENT)
}

async fn stop(State(fake): State<OrchestratorFake>, headers: HeaderMap) -> StatusCode {
    let mut known = fake.state();
    known.holder.take_if(|holder| *holder == calling_incarnation(&headers));
    StatusCode::NO_CONTENT
}

async fn workspaces(
    State(fake): State<OrchestratorFake>,
    Json(body): Json<AskWorkspaces>,
) -> Json<WorkspacesView> {
    let known = fake.state();
    let removable = body.tasks.into_iter().filter(|task| known.closed.contains(task)).collect();
    Json(WorkspacesView { removable })
}

fn authorize(known: &OrchestratorFakeState, headers: &HeaderMap) -> Result<(), StatusCode> {
    let token = headers["authorization"].to_str().unwrap().trim_start_matches("Bearer ");
    let is_valid = token.parse::<u32>().is_ok_and(|number| number > known.valid_from);
    is_valid.then_some(()).ok_or(StatusCode::UNAUTHORIZED)
}

async fn poll(
    State(fake): State<OrchestratorFake>,
    headers: HeaderMap,
    Json(body): Json<Poll>,
) -> Result<Json<PollView>, StatusCode> {
    let patience = tokio::time::sleep(Duration::from_millis(body.wait_ms.into()));
    tokio::pin!(patience);
    authorize(&fake.state(), &headers)?;
    if fake.state().holder != Some(calling_incarnation(&headers)) {
        return Err(StatusCode::CONFLICT);
    }
    record_poll(&mut fake.state(), &body);
    loop {
        let news = fake.changed.notified();
        let view = poll_view(&mut fake.state(), &headers, &body)?;
        if view != PollView::default() {
            return Ok(Json(view));
        }
        tokio::select! {
            () = news => {}
            () = &mut patience => return Ok(Json(view)),
        }
    }
}

/// A job named in a poll is never assigned again, so it must be on disk or delivered by then.
fn record_poll(known: &mut OrchestratorFakeState, body: &Poll) {
    let is_kept = |job: &&JobId| {
        known.jobs_dir.join(job.to_string()).exists() || known.results.contains_key(job)
    };
    let lost: Vec<JobId> = body.holding.iter().filter(|job| !is_kept(job)).copied().collect();
    known.not_kept.extend(lost);
    known.polls.push(body.clone());
}

fn poll_view(
    known: &mut OrchestratorFakeState,
    headers: &HeaderMap,
    body: &Poll,
) -> Result<PollView, StatusCode> {
    authorize(known, headers)?;
    let caller = calling_incarnation(headers);
    let is_held = |job: &JobId| body.holding.contains(job);
    let open = known.assigned.values().filter(|job| {
        known.reassigns_everything
            || !is_held(&job.job_id) && !known.results.contains_key(&job.job_id)
    });
    let open: Vec<Assignment> = open
        .take(body.free_slots as usize)
        .map(|job| Assignment { incarnation: Some(caller), ..job.clone() })
        .collect();
    for job in &open {
        known.held_by.entry(job.job_id).or_insert(caller);
    }
    Ok(PollView {
        assignments: open,
        cancel: known.cancel.iter().copied().filter(is_held).collect(),
        forget: known.forget.iter().copied().filter(is_held).collect(),
    })
}

async fn logs(
    State(fake): State<OrchestratorFake>,
    UrlPath(job): UrlPath<JobId>,
    headers: HeaderMap,
    Json(body): Json<AppendLog>,
) -> Result<Json<LogPosition>, StatusCode> {
    let mut known = fake.state();
    known.check_holder(&headers, job)?;
    let log = known.logs.entry((job, body.stream.as_str())).or_default();
    if body.offset == log.len() as u64 {
        log.extend(STANDARD.decode(body.data_base64).unwrap());
    }
    Ok(Json(LogPosition { next_offset: log.len() as u64 }))
}

async fn artifact(
    State(fake): State<OrchestratorFake>,
    UrlPath(job): UrlPath<JobId>,
    Query(query): Query<BTreeMap<String, String>>,
    headers: HeaderMap,
    content: Bytes,
) -> Result<Json<ArtifactView>, StatusCode> {
    let path = query["path"].clone();
    let mut known = fake.state();
    known.check_holder(&headers, job)?;
    known.check_disk(&path)?;
    known.artifacts.insert(path.clone(), content.to_vec());
    Ok(Json(artifact_view(job, "output", path, &content)))
}

async fn changes(
    State(fake): State<OrchestratorFake>,
    UrlPath((job, file)): UrlPath<(JobId, String)>,
    headers: HeaderMap,
    content: Bytes,
) -> Result<Json<ArtifactView>, StatusCode> {
    let mut known = fake.state();
    known.check_holder(&headers, job)?;
    known.check_disk(&file)?;
    if known.assigned[&job].repository.is_none() {
        return Err(StatusCode::BAD_REQUEST);
    }
    known.changes.push((job, file.clone(), content.to_vec()));
    Ok(Json(artifact_view(job, "changes", file, &content)))
}

/// There is no credential for any host.
async fn git_credential(
    State(fake): State<OrchestratorFake>,
    UrlPath(job): UrlPath<JobId>,
    headers: HeaderMap,
) -> Result<Json<GitCredentialView>, StatusCode> {
    fake.state().check_holder(&headers, job)?;
    Ok(Json(GitCredentialView { credential: None }))
}

/// The newest bundle of the job that a push or a source names.
async fn bundle(
    State(fake): State<OrchestratorFake>,
    UrlPath(job): UrlPath<JobId>,
    Query(query): Query<BundleQuery>,
    headers: HeaderMap,
) -> Result<Vec<u8>, StatusCode> {
    let mut known = fake.state();
    known.check_holder(&headers, job)?;
    let assigned = known.assigned[&job].clone();
    let wanted = match (query.source, assigned.push, assigned.repository) {
        (None, Some(order), _) => order.source_job,
        (Some(source), _, Some(repository)) => {
            known.check_disk(&source.to_string())?;
            let found = repository.builds_on.iter().find(|known| known.task == source);
            found.ok_or(StatusCode::NOT_FOUND)?.job
        }
        _ => return Err(StatusCode::NOT_FOUND),
    };
    let mut files = known.changes.iter().rev();
    let found = files.find(|(of, file, _)| *of == wanted && file == "changes.bundle");
    found.map(|(_, _, content)| content.clone()).ok_or(StatusCode::NOT_FOUND)
}

fn artifact_view(job: JobId, kind: &str, path: String, content: &Bytes) -> ArtifactView {
    ArtifactView {
        id: ArtifactId::generate(),
        task_id: TaskId::generate(),
        job_id: Some(job),
        kind: kind.to_owned(),
        path,
        size_bytes: i64::try_from(content.len()).unwrap(),
        sha256: String::new(),
        created_at: SystemClock.now(),
    }
}

async fn attachment(
    State(fake): State<OrchestratorFake>,
    UrlPath((job, name)): UrlPath<(JobId, String)>,
    headers: HeaderMap,
) -> Result<Vec<u8>, StatusCode> {
    let mut known = fake.state();
    known.check_holder(&headers, job)?;
    known.check_disk(&name)?;
    known.attachments.get(&name).cloned().ok_or(StatusCode::NOT_FOUND)
}

async fn result(
    State(fake): State<OrchestratorFake>,
    UrlPath(job): UrlPath<JobId>,
    headers: HeaderMap,
    Json(body): Json<JobResult>,
) -> Result<StatusCode, StatusCode> {
    let mut known = fake.state();
    known.check_holder(&headers, job)?;
    if known.forget.contains(&job) {
        return Err(StatusCode::CONFLICT);
    }
    known.results.entry(job).or_default().push(body);
    Ok(StatusCode::NO_CONTENT)
}

/// The received part of a job's stream.
pub(crate) fn received_log(known: &OrchestratorFakeState, job: JobId, stream: Stream) -> String {
    let bytes = known.logs.get(&(job, stream.as_str())).cloned().unwrap_or_default();
    String::from_utf8(bytes).unwrap()
}
