//! The node API: what worker nodes themselves call. Every call but `register` names the calling process
//! in the header `x-cynode-incarnation`.

use axum::Json;
use axum::body::Body as RawBody;
use axum::extract::{DefaultBodyLimit, State};
use axum::response::{IntoResponse, Response};
use cynode_domain::ids::{IncarnationId, JobId};
use cynode_ops::{Artifacts, Nodes};
use cynode_wire::artifacts::ArtifactView;
use cynode_wire::jobs::JobResult;
use cynode_wire::nodes::{
    AppendLog, AskWorkspaces, Incarnation, LogPosition, Poll, PollView, RegisterNode,
    RegisteredView, WorkspacesView,
};
use cynode_wire::problem::Problem;
use http::StatusCode;
use http::header::CONTENT_LENGTH;
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouterExt};
use utoipa_axum::routes;

use crate::artifacts::FileQuery;
use crate::error::ApiError;
use crate::extract::{Body, Params, Segment};
use crate::identity::{Joining, Node};

/// Two streams of 1 MiB each, every byte of which may be a control character that JSON writes as six.
const MAX_RESULT_BYTES: usize = 16 * 1024 * 1024;

/// Routes for whoever has the join token.
pub(crate) fn join_routes(nodes: Nodes) -> OpenApiRouter {
    OpenApiRouter::new().routes(routes!(register)).with_state(nodes)
}

/// Routes for registered nodes.
pub(crate) fn routes(nodes: Nodes, artifacts: Artifacts) -> OpenApiRouter {
    let jobs = OpenApiRouter::new()
        .routes(routes!(start))
        .routes(routes!(stop))
        .routes(routes!(workspaces))
        .routes(routes!(poll))
        .routes(routes!(append_log))
        .routes(routes!(finish).layer(DefaultBodyLimit::max(MAX_RESULT_BYTES)))
        .with_state(nodes);
    let files = OpenApiRouter::new()
        // The size is bounded while the content streams to disk.
        .routes(routes!(put_artifact).layer(DefaultBodyLimit::disable()))
        .routes(routes!(attachment))
        .with_state(artifacts);
    jobs.merge(files)
}

/// Registers a node. The same name again keeps its id and gets a new token; while another process
/// works under that name, it is rejected.
#[utoipa::path(post, path = "/v1/nodes/register", tag = "node api", request_body = RegisterNode,
    responses((status = 200, body = RegisteredView), (status = "4XX", body = Problem)))]
async fn register(
    State(nodes): State<Nodes>,
    _: Joining,
    Body(body): Body<RegisterNode>,
) -> Result<Json<RegisteredView>, ApiError> {
    Ok(Json(nodes.register(body).await?))
}

/// A process that has the node's token begins to work under the node's name, with the jobs of the
/// processes before it. Rejected while another one works under that name.
#[utoipa::path(post, path = "/v1/node/start", tag = "node api", request_body = Incarnation,
    params(("x-cynode-incarnation" = IncarnationId, Header, description = "the calling process")),
    responses((status = 204), (status = "4XX", body = Problem)))]
async fn start(
    State(nodes): State<Nodes>,
    Node(node): Node,
    Body(body): Body<Incarnation>,
) -> Result<StatusCode, ApiError> {
    nodes.start(&node, body).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The calling process stops: another one may take the node's name at once.
#[utoipa::path(post, path = "/v1/node/stop", tag = "node api",
    params(("x-cynode-incarnation" = IncarnationId, Header, description = "the calling process")),
    responses((status = 204), (status = "4XX", body = Problem)))]
async fn stop(State(nodes): State<Nodes>, Node(node): Node) -> Result<StatusCode, ApiError> {
    nodes.stop(&node).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Which of the node's workspaces belong to tasks that are closed, and may be removed.
#[utoipa::path(post, path = "/v1/node/workspaces", tag = "node api", request_body = AskWorkspaces,
    params(("x-cynode-incarnation" = IncarnationId, Header, description = "the calling process")),
    responses((status = 200, body = WorkspacesView), (status = "4XX", body = Problem)))]
async fn workspaces(
    State(nodes): State<Nodes>,
    _: Node,
    Body(body): Body<AskWorkspaces>,
) -> Result<Json<WorkspacesView>, ApiError> {
    Ok(Json(nodes.removable_workspaces(body).await?))
}

/// Shows that the node lives, renews its jobs, and waits for news.
#[utoipa::path(post, path = "/v1/node/poll", tag = "node api", request_body = Poll,
    params(("x-cynode-incarnation" = IncarnationId, Header, description = "the calling process")),
    responses((status = 200, body = PollView), (status = "4XX", body = Problem)))]
async fn poll(
    State(nodes): State<Nodes>,
    Node(node): Node,
    Body(body): Body<Poll>,
) -> Result<Json<PollView>, ApiError> {
    Ok(Json(nodes.poll(&node, body).await?))
}

/// Adds a piece of output.
#[utoipa::path(post, path = "/v1/node/jobs/{job}/logs", tag = "node api", request_body = AppendLog,
    params(("job" = JobId, Path),
        ("x-cynode-incarnation" = IncarnationId, Header, description = "the process that holds the job")),
    responses((status = 200, body = LogPosition), (status = "4XX", body = Problem)))]
async fn append_log(
    State(nodes): State<Nodes>,
    Node(node): Node,
    Segment(job): Segment<JobId>,
    Body(body): Body<AppendLog>,
) -> Result<Json<LogPosition>, ApiError> {
    Ok(Json(nodes.append_log(&node, job, body).await?))
}

/// Closes a job with what came of it.
#[utoipa::path(post, path = "/v1/node/jobs/{job}/result", tag = "node api", request_body = JobResult,
    params(("job" = JobId, Path),
        ("x-cynode-incarnation" = IncarnationId, Header, description = "the process that holds the job")),
    responses((status = 204), (status = "4XX", body = Problem)))]
async fn finish(
    State(nodes): State<Nodes>,
    Node(node): Node,
    Segment(job): Segment<JobId>,
    Body(body): Body<JobResult>,
) -> Result<StatusCode, ApiError> {
    nodes.finish(&node, job, body).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Stores a file that a job left behind.
#[utoipa::path(put, path = "/v1/node/jobs/{job}/artifacts", tag = "node api",
    params(("job" = JobId, Path), FileQuery,
        ("x-cynode-incarnation" = IncarnationId, Header, description = "the process that holds the job")),
    request_body(content_type = "application/octet-stream"),
    responses((status = 200, body = ArtifactView), (status = "4XX", body = Problem)))]
async fn put_artifact(
    State(artifacts): State<Artifacts>,
    Node(node): Node,
    Segment(job): Segment<JobId>,
    Params(query): Params<FileQuery>,
    content: RawBody,
) -> Result<Json<ArtifactView>, ApiError> {
    Ok(Json(artifacts.put(&node, job, &query.path, content.into_data_stream()).await?))
}

/// The content of an attachment of a job's task.
#[utoipa::path(get, path = "/v1/node/jobs/{job}/attachments/{name}", tag = "node api",
    params(("job" = JobId, Path), ("name" = String, Path),
        ("x-cynode-incarnation" = IncarnationId, Header, description = "the process that holds the job")),
    responses((status = 200, content_type = "application/octet-stream"), (status = "4XX", body = Problem)))]
async fn attachment(
    State(artifacts): State<Artifacts>,
    Node(node): Node,
    Segment((job, name)): Segment<(JobId, String)>,
) -> Result<Response, ApiError> {
    let (attachment, content) = artifacts.open_attachment(&node, job, &name).await?;
    // A damaged attachment ends early: its length tells the node so.
    let length = [(CONTENT_LENGTH, attachment.size_bytes.to_string())];
    Ok((length, RawBody::from_stream(content)).into_response())
}
