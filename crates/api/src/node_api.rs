//! The node API, called by worker nodes. Every call except `register` identifies the calling process
//! with the header `x-cynode-incarnation`.

use axum::Json;
use axum::body::Body as RawBody;
use axum::extract::{DefaultBodyLimit, State};
use axum::response::{IntoResponse, Response};
use cynode_blobs::BlobContent;
use cynode_domain::ids::{IncarnationId, JobId};
use cynode_domain::trace::TraceEvents;
use cynode_execution::{ArtifactService, NodeService};
use cynode_models::credentials::CredentialManager;
use cynode_wire::artifacts::ArtifactView;
use cynode_wire::git::{BundleQuery, GitCredentialView};
use cynode_wire::jobs::JobResult;
use cynode_wire::nodes::{
    AppendLog, AskWorkspaces, Incarnation, JobAgentToken, LogPosition, Poll, PollView,
    RecordConnection, RegisterNode, RegisteredView, WorkspacesView,
};
use cynode_wire::problem::Problem;
use http::StatusCode;
use http::header::CONTENT_LENGTH;
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouterExt};
use utoipa_axum::routes;

use crate::artifacts::FileQuery;
use crate::error::ApiError;
use crate::extract::{JsonBody, PathSegment, QueryParams};
use crate::identity::{AuthenticatedJoin, AuthenticatedNode};
use crate::state::ApiState;

/// Two output streams of 1 MiB each, where JSON may escape every byte with six characters.
const MAX_RESULT_BYTES: usize = 16 * 1024 * 1024;

/// Routes for clients with the join token.
pub(crate) fn join_routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(register))
}

/// Routes for registered nodes.
pub(crate) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(start))
        .routes(routes!(stop))
        .routes(routes!(workspaces))
        .routes(routes!(poll))
        .routes(routes!(append_log))
        .routes(routes!(issue_agent_token))
        .routes(routes!(record_connection))
        .routes(routes!(record_job_trace))
        .routes(routes!(finish).layer(DefaultBodyLimit::max(MAX_RESULT_BYTES)))
        .routes(routes!(lease_git_credential))
        // The size limit is enforced while the content streams to disk.
        .routes(routes!(put_artifact).layer(DefaultBodyLimit::disable()))
        .routes(routes!(put_changes).layer(DefaultBodyLimit::disable()))
        .routes(routes!(attachment))
        .routes(routes!(bundle))
}

/// Registers a worker node. The first registration binds the name to the node's key. Registering it again with that
/// key keeps the node's id and issues a new token; rejected with another key, and while another process is active
/// under that name.
#[utoipa::path(post, path = "/v1/nodes/register", tag = "node api", request_body = RegisterNode,
    responses((status = 200, body = RegisteredView), (status = "4XX", body = Problem)))]
async fn register(
    State(nodes): State<NodeService>,
    AuthenticatedJoin(credential): AuthenticatedJoin,
    JsonBody(body): JsonBody<RegisterNode>,
) -> Result<Json<RegisteredView>, ApiError> {
    Ok(Json(nodes.register(body, credential).await?))
}

/// Starts a process of the node; it takes over the jobs of earlier processes. Rejected while another
/// process is active under the node's name.
#[utoipa::path(post, path = "/v1/node/start", tag = "node api", request_body = Incarnation,
    params(("x-cynode-incarnation" = IncarnationId, Header, description = "the calling process")),
    responses((status = 204), (status = "4XX", body = Problem)))]
async fn start(
    State(nodes): State<NodeService>,
    AuthenticatedNode(node): AuthenticatedNode,
    JsonBody(body): JsonBody<Incarnation>,
) -> Result<StatusCode, ApiError> {
    nodes.start(&node, body).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Stops the calling process; another one may use the node's name immediately.
#[utoipa::path(post, path = "/v1/node/stop", tag = "node api",
    params(("x-cynode-incarnation" = IncarnationId, Header, description = "the calling process")),
    responses((status = 204), (status = "4XX", body = Problem)))]
async fn stop(
    State(nodes): State<NodeService>,
    AuthenticatedNode(node): AuthenticatedNode,
) -> Result<StatusCode, ApiError> {
    nodes.end_incarnation(&node).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Lists which of the node's workspaces belong to closed tasks and may be removed.
#[utoipa::path(post, path = "/v1/node/workspaces", tag = "node api", request_body = AskWorkspaces,
    params(("x-cynode-incarnation" = IncarnationId, Header, description = "the calling process")),
    responses((status = 200, body = WorkspacesView), (status = "4XX", body = Problem)))]
async fn workspaces(
    State(nodes): State<NodeService>,
    _: AuthenticatedNode,
    JsonBody(body): JsonBody<AskWorkspaces>,
) -> Result<Json<WorkspacesView>, ApiError> {
    Ok(Json(nodes.removable_workspaces(body).await?))
}

/// Heartbeat: renews the leases of the node's jobs and waits for new work.
#[utoipa::path(post, path = "/v1/node/poll", tag = "node api", request_body = Poll,
    params(("x-cynode-incarnation" = IncarnationId, Header, description = "the calling process")),
    responses((status = 200, body = PollView), (status = "4XX", body = Problem)))]
async fn poll(
    State(nodes): State<NodeService>,
    AuthenticatedNode(node): AuthenticatedNode,
    JsonBody(body): JsonBody<Poll>,
) -> Result<Json<PollView>, ApiError> {
    Ok(Json(nodes.poll(&node, body).await?))
}

/// Appends to the output of a job.
#[utoipa::path(post, path = "/v1/node/jobs/{job}/logs", tag = "node api", request_body = AppendLog,
    params(("job" = JobId, Path),
        ("x-cynode-incarnation" = IncarnationId, Header, description = "the process that holds the job")),
    responses((status = 200, body = LogPosition), (status = "4XX", body = Problem)))]
async fn append_log(
    State(nodes): State<NodeService>,
    AuthenticatedNode(node): AuthenticatedNode,
    PathSegment(job): PathSegment<JobId>,
    JsonBody(body): JsonBody<AppendLog>,
) -> Result<Json<LogPosition>, ApiError> {
    Ok(Json(nodes.append_log(&node, job, body).await?))
}

/// Issues the token with which the node calls models and tools for the agent of a job. It is revoked when the job ends.
#[utoipa::path(post, path = "/v1/node/jobs/{job}/agent-token", tag = "node api",
    params(("job" = JobId, Path),
        ("x-cynode-incarnation" = IncarnationId, Header, description = "the process that holds the job")),
    responses((status = 200, body = JobAgentToken), (status = "4XX", body = Problem)))]
async fn issue_agent_token(
    State(nodes): State<NodeService>,
    AuthenticatedNode(node): AuthenticatedNode,
    PathSegment(job): PathSegment<JobId>,
) -> Result<Json<JobAgentToken>, ApiError> {
    Ok(Json(nodes.issue_agent_token(&node, job).await?))
}

/// Records a connection that the agent of a job makes to a host: before it is made, if it is refused, and when it has ended.
#[utoipa::path(post, path = "/v1/node/jobs/{job}/connections", tag = "node api", request_body = RecordConnection,
    params(("job" = JobId, Path),
        ("x-cynode-incarnation" = IncarnationId, Header, description = "the process that holds the job")),
    responses((status = 204), (status = "4XX", body = Problem)))]
async fn record_connection(
    State(nodes): State<NodeService>,
    AuthenticatedNode(node): AuthenticatedNode,
    PathSegment(job): PathSegment<JobId>,
    JsonBody(body): JsonBody<RecordConnection>,
) -> Result<StatusCode, ApiError> {
    nodes.record_connection(&node, job, body).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Stores what the agent of a job recorded of its work, once for each job. Trace, task, user, profile and actor are those of
/// the job, whatever the events say.
#[utoipa::path(put, path = "/v1/node/jobs/{job}/trace", tag = "node api", request_body = TraceEvents,
    params(("job" = JobId, Path),
        ("x-cynode-incarnation" = IncarnationId, Header, description = "the process that holds the job")),
    responses((status = 204), (status = "4XX", body = Problem)))]
async fn record_job_trace(
    State(nodes): State<NodeService>,
    AuthenticatedNode(node): AuthenticatedNode,
    PathSegment(job): PathSegment<JobId>,
    JsonBody(body): JsonBody<TraceEvents>,
) -> Result<StatusCode, ApiError> {
    nodes.record_job_trace(&node, job, body).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Leases the credential for the repository of a job, for one operation. Every lease is recorded.
#[utoipa::path(post, path = "/v1/node/jobs/{job}/git-credential", tag = "node api",
    params(("job" = JobId, Path),
        ("x-cynode-incarnation" = IncarnationId, Header, description = "the process that holds the job")),
    responses((status = 200, body = GitCredentialView), (status = "4XX", body = Problem)))]
async fn lease_git_credential(
    State(nodes): State<NodeService>,
    State(credentials): State<CredentialManager>,
    AuthenticatedNode(node): AuthenticatedNode,
    PathSegment(job): PathSegment<JobId>,
) -> Result<Json<GitCredentialView>, ApiError> {
    let repository = nodes.job_repository(&node, job).await?;
    Ok(Json(GitCredentialView { credential: credentials.lease_git(&repository).await? }))
}

/// Closes a job with its result.
#[utoipa::path(post, path = "/v1/node/jobs/{job}/result", tag = "node api", request_body = JobResult,
    params(("job" = JobId, Path),
        ("x-cynode-incarnation" = IncarnationId, Header, description = "the process that holds the job")),
    responses((status = 204), (status = "4XX", body = Problem)))]
async fn finish(
    State(nodes): State<NodeService>,
    AuthenticatedNode(node): AuthenticatedNode,
    PathSegment(job): PathSegment<JobId>,
    JsonBody(body): JsonBody<JobResult>,
) -> Result<StatusCode, ApiError> {
    nodes.finish(&node, job, body).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Uploads an artifact of a job.
#[utoipa::path(put, path = "/v1/node/jobs/{job}/artifacts", tag = "node api",
    params(("job" = JobId, Path), FileQuery,
        ("x-cynode-incarnation" = IncarnationId, Header, description = "the process that holds the job")),
    request_body(content_type = "application/octet-stream"),
    responses((status = 200, body = ArtifactView), (status = "4XX", body = Problem)))]
async fn put_artifact(
    State(artifacts): State<ArtifactService>,
    AuthenticatedNode(node): AuthenticatedNode,
    PathSegment(job): PathSegment<JobId>,
    QueryParams(query): QueryParams<FileQuery>,
    content: RawBody,
) -> Result<Json<ArtifactView>, ApiError> {
    Ok(Json(artifacts.put(&node, job, &query.path, content.into_data_stream()).await?))
}

/// Uploads a file of the changes that the node collected in the repository of the job's task: `changes.patch` and
/// `changes.bundle`, then `changes.json`, which makes them visible.
#[utoipa::path(put, path = "/v1/node/jobs/{job}/changes/{file}", tag = "node api",
    params(("job" = JobId, Path), ("file" = String, Path),
        ("x-cynode-incarnation" = IncarnationId, Header, description = "the process that holds the job")),
    request_body(content_type = "application/octet-stream"),
    responses((status = 200, body = ArtifactView), (status = "4XX", body = Problem)))]
async fn put_changes(
    State(artifacts): State<ArtifactService>,
    AuthenticatedNode(node): AuthenticatedNode,
    PathSegment((job, file)): PathSegment<(JobId, String)>,
    content: RawBody,
) -> Result<Json<ArtifactView>, ApiError> {
    Ok(Json(artifacts.put_changes(&node, job, &file, content.into_data_stream()).await?))
}

/// Downloads an attachment of the job's task.
#[utoipa::path(get, path = "/v1/node/jobs/{job}/attachments/{name}", tag = "node api",
    params(("job" = JobId, Path), ("name" = String, Path),
        ("x-cynode-incarnation" = IncarnationId, Header, description = "the process that holds the job")),
    responses((status = 200, content_type = "application/octet-stream"), (status = "4XX", body = Problem)))]
async fn attachment(
    State(artifacts): State<ArtifactService>,
    AuthenticatedNode(node): AuthenticatedNode,
    PathSegment((job, name)): PathSegment<(JobId, String)>,
) -> Result<Response, ApiError> {
    let (attachment, content) = artifacts.open_attachment(&node, job, &name).await?;
    Ok(file_response(&attachment, content))
}

/// Downloads the commits that the job pushes, or those of a task that it builds on, as a git bundle.
#[utoipa::path(get, path = "/v1/node/jobs/{job}/bundle", tag = "node api",
    params(("job" = JobId, Path), BundleQuery,
        ("x-cynode-incarnation" = IncarnationId, Header, description = "the process that holds the job")),
    responses((status = 200, content_type = "application/octet-stream"), (status = "4XX", body = Problem)))]
async fn bundle(
    State(artifacts): State<ArtifactService>,
    AuthenticatedNode(node): AuthenticatedNode,
    PathSegment(job): PathSegment<JobId>,
    QueryParams(query): QueryParams<BundleQuery>,
) -> Result<Response, ApiError> {
    let (bundle, content) = artifacts.open_bundle(&node, job, query.source).await?;
    Ok(file_response(&bundle, content))
}

/// A damaged file ends early; the node detects it by the length.
fn file_response(file: &ArtifactView, content: BlobContent) -> Response {
    let length = [(CONTENT_LENGTH, file.size_bytes.to_string())];
    (length, RawBody::from_stream(content)).into_response()
}
