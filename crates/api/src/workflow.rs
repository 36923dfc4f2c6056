//! The workflow API: what runners call.

use axum::Json;
use axum::extract::State;
use cynode_domain::ids::{JobId, TaskId};
use cynode_ops::Workflow;
use cynode_wire::continuing::{ContinuationView, ContinueRun};
use cynode_wire::jobs::JobView;
use cynode_wire::planning::{PlanRun, PlanningView};
use cynode_wire::problem::Problem;
use cynode_wire::replanning::{ReplanStep, ReplanView};
use cynode_wire::steering::{AskPerson, SavedView};
use cynode_wire::workflow::{
    AwaitJob, CheckpointView, ClaimRun, ClaimView, DispatchStep, DispatchedView, GoneView,
    GrantView, HolderGone, RecordEffect, ReleaseLease, RenewLease, ResumeRun, SaveCheckpoint,
    StartRun, TaskContextView, VerificationView, VerifyStep,
};
use http::StatusCode;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::error::ApiError;
use crate::extract::{Body, Params, Segment};
use crate::identity::Runner;

pub(crate) fn routes(workflow: Workflow) -> OpenApiRouter {
    OpenApiRouter::new()
        .routes(routes!(start))
        .routes(routes!(claim))
        .routes(routes!(resume))
        .routes(routes!(checkpoint))
        .routes(routes!(effect))
        .routes(routes!(ask))
        .routes(routes!(renew))
        .routes(routes!(release))
        .routes(routes!(gone))
        .routes(routes!(context))
        .routes(routes!(dispatch))
        .routes(routes!(job))
        .routes(routes!(plan))
        .routes(routes!(continuation))
        .routes(routes!(replan))
        .routes(routes!(verify))
        .with_state(workflow)
}

/// Takes one task. 409: somebody else has it, or it may not start.
#[utoipa::path(post, path = "/v1/workflow/start", tag = "workflow api", request_body = StartRun,
    responses((status = 200, body = GrantView), (status = "4XX", body = Problem)))]
async fn start(
    State(workflow): State<Workflow>,
    _: Runner,
    Body(body): Body<StartRun>,
) -> Result<Json<GrantView>, ApiError> {
    Ok(Json(workflow.start(&body).await?))
}

/// Takes the oldest runnable tasks, waiting for one if there is none.
#[utoipa::path(post, path = "/v1/workflow/claim", tag = "workflow api", request_body = ClaimRun,
    responses((status = 200, body = ClaimView), (status = "4XX", body = Problem)))]
async fn claim(
    State(workflow): State<Workflow>,
    _: Runner,
    Body(body): Body<ClaimRun>,
) -> Result<Json<ClaimView>, ApiError> {
    Ok(Json(workflow.claim(&body).await?))
}

/// The newest checkpoint of a task.
#[utoipa::path(post, path = "/v1/workflow/resume", tag = "workflow api", request_body = ResumeRun,
    responses((status = 200, body = CheckpointView), (status = "4XX", body = Problem)))]
async fn resume(
    State(workflow): State<Workflow>,
    _: Runner,
    Body(body): Body<ResumeRun>,
) -> Result<Json<CheckpointView>, ApiError> {
    Ok(Json(workflow.resume(&body).await?))
}

/// Stores a transition, and says whether the run is to pause. 409: the caller no longer holds the task
/// and must stop.
#[utoipa::path(post, path = "/v1/workflow/checkpoint", tag = "workflow api", request_body = SaveCheckpoint,
    responses((status = 200, body = SavedView), (status = "4XX", body = Problem)))]
async fn checkpoint(
    State(workflow): State<Workflow>,
    _: Runner,
    Body(body): Body<SaveCheckpoint>,
) -> Result<Json<SavedView>, ApiError> {
    Ok(Json(workflow.checkpoint(body).await?))
}

/// Remembers the answer of an effect; the first answer under a key stays.
#[utoipa::path(post, path = "/v1/workflow/effects", tag = "workflow api", request_body = RecordEffect,
    responses((status = 204), (status = "4XX", body = Problem)))]
async fn effect(
    State(workflow): State<Workflow>,
    _: Runner,
    Body(body): Body<RecordEffect>,
) -> Result<StatusCode, ApiError> {
    workflow.effect(body).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Puts the run down until a person has answered its question. 409: the caller no longer holds it.
#[utoipa::path(post, path = "/v1/workflow/ask", tag = "workflow api", request_body = AskPerson,
    responses((status = 204), (status = "4XX", body = Problem)))]
async fn ask(
    State(workflow): State<Workflow>,
    _: Runner,
    Body(body): Body<AskPerson>,
) -> Result<StatusCode, ApiError> {
    workflow.ask(body).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Extends a lease. 409: it is no longer in force.
#[utoipa::path(post, path = "/v1/workflow/renew", tag = "workflow api", request_body = RenewLease,
    responses((status = 204), (status = "4XX", body = Problem)))]
async fn renew(
    State(workflow): State<Workflow>,
    _: Runner,
    Body(body): Body<RenewLease>,
) -> Result<StatusCode, ApiError> {
    workflow.renew(&body).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Gives a task up. Giving up what one no longer holds changes nothing.
#[utoipa::path(post, path = "/v1/workflow/release", tag = "workflow api", request_body = ReleaseLease,
    responses((status = 204), (status = "4XX", body = Problem)))]
async fn release(
    State(workflow): State<Workflow>,
    _: Runner,
    Body(body): Body<ReleaseLease>,
) -> Result<StatusCode, ApiError> {
    workflow.release(body).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Ends the leases of a runner that the caller saw end, so that others take its tasks at once.
#[utoipa::path(post, path = "/v1/workflow/gone", tag = "workflow api", request_body = HolderGone,
    responses((status = 200, body = GoneView), (status = "4XX", body = Problem)))]
async fn gone(
    State(workflow): State<Workflow>,
    _: Runner,
    Body(body): Body<HolderGone>,
) -> Result<Json<GoneView>, ApiError> {
    Ok(Json(workflow.gone(body.holder_id).await?))
}

/// What a task asks for.
#[utoipa::path(get, path = "/v1/workflow/tasks/{task}", tag = "workflow api", params(("task" = TaskId, Path)),
    responses((status = 200, body = TaskContextView), (status = "4XX", body = Problem)))]
async fn context(
    State(workflow): State<Workflow>,
    _: Runner,
    Segment(task): Segment<TaskId>,
) -> Result<Json<TaskContextView>, ApiError> {
    Ok(Json(workflow.context(task).await?))
}

/// Makes the job for a step attempt, once.
#[utoipa::path(post, path = "/v1/workflow/dispatch", tag = "workflow api", request_body = DispatchStep,
    responses((status = 200, body = DispatchedView), (status = "4XX", body = Problem)))]
async fn dispatch(
    State(workflow): State<Workflow>,
    _: Runner,
    Body(body): Body<DispatchStep>,
) -> Result<Json<DispatchedView>, ApiError> {
    Ok(Json(workflow.dispatch(body).await?))
}

/// A job; waits until it has ended.
#[utoipa::path(get, path = "/v1/workflow/jobs/{job}", tag = "workflow api", params(("job" = JobId, Path), AwaitJob),
    responses((status = 200, body = JobView), (status = "4XX", body = Problem)))]
async fn job(
    State(workflow): State<Workflow>,
    _: Runner,
    Segment(job): Segment<JobId>,
    Params(query): Params<AwaitJob>,
) -> Result<Json<JobView>, ApiError> {
    Ok(Json(workflow.await_job(job, query).await?))
}

/// Has the prompt of a task turned into steps; waits for a plan that takes its time. 409: the caller no
/// longer holds the task.
#[utoipa::path(post, path = "/v1/workflow/plan", tag = "workflow api", request_body = PlanRun,
    responses((status = 200, body = PlanningView), (status = "4XX", body = Problem)))]
async fn plan(
    State(workflow): State<Workflow>,
    _: Runner,
    Body(body): Body<PlanRun>,
) -> Result<Json<PlanningView>, ApiError> {
    Ok(Json(workflow.plan(body).await?))
}

/// Has a step planned anew whose result was not accepted; says why where it is not. 409: the caller no
/// longer holds the task.
#[utoipa::path(post, path = "/v1/workflow/replan", tag = "workflow api", request_body = ReplanStep,
    responses((status = 200, body = ReplanView), (status = "4XX", body = Problem)))]
async fn replan(
    State(workflow): State<Workflow>,
    _: Runner,
    Body(body): Body<ReplanStep>,
) -> Result<Json<ReplanView>, ApiError> {
    Ok(Json(workflow.replan(body).await?))
}

/// Says how a run goes on whose step was not accepted and has no attempt left; waits for an answer that
/// takes its time. 409: the caller no longer holds the task.
#[utoipa::path(post, path = "/v1/workflow/continue", tag = "workflow api", request_body = ContinueRun,
    responses((status = 200, body = ContinuationView), (status = "4XX", body = Problem)))]
async fn continuation(
    State(workflow): State<Workflow>,
    _: Runner,
    Body(body): Body<ContinueRun>,
) -> Result<Json<ContinuationView>, ApiError> {
    Ok(Json(workflow.continuation(body).await?))
}

/// Has the result of a job judged; waits for a verdict that takes its time.
#[utoipa::path(post, path = "/v1/workflow/verify", tag = "workflow api", request_body = VerifyStep,
    responses((status = 200, body = VerificationView), (status = "4XX", body = Problem)))]
async fn verify(
    State(workflow): State<Workflow>,
    _: Runner,
    Body(body): Body<VerifyStep>,
) -> Result<Json<VerificationView>, ApiError> {
    Ok(Json(workflow.verify(body).await?))
}
