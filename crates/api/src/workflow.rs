//! The workflow API, called by runners. How to add a call is described in [`cynode_wire::runner_calls`].

use axum::Json;
use axum::extract::State;
use cynode_domain::ids::{JobId, TaskId};
use cynode_execution::WorkflowService;
use cynode_wire::continuing::{ContinuationView, ContinueRun};
use cynode_wire::jobs::JobView;
use cynode_wire::planning::{PlanRun, PlanningView};
use cynode_wire::problem::Problem;
use cynode_wire::replanning::{ReplanStep, ReplanView};
use cynode_wire::run_suspension::{CheckpointAckView, SuspendForQuestion};
use cynode_wire::runner_calls::RunnerRequest;
use cynode_wire::workflow::{
    AwaitJob, CheckpointView, ClaimRun, ClaimView, DispatchStep, DispatchedView, GoneView,
    GrantView, HolderGone, LoadTask, PollJob, RecordEffect, ReleaseLease, RenewLease, ResumeRun,
    SaveCheckpoint, StartRun, TaskContextView, VerificationView, VerifyStep,
};
use http::StatusCode;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::error::ApiError;
use crate::extract::{JsonBody, PathSegment, QueryParams};
use crate::identity::AuthenticatedRunner;
use crate::state::ApiState;

/// Result of a handler: the response of the request, so that client and server cannot disagree on its type.
type CallResult<R> = Result<Json<<R as RunnerRequest>::Response>, ApiError>;

pub(crate) fn routes() -> OpenApiRouter<ApiState> {
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
}

/// Claims one task. 409: another runner holds it, or it may not start.
#[utoipa::path(post, path = StartRun::PATH, tag = "workflow api", request_body = StartRun,
    responses((status = 200, body = GrantView), (status = "4XX", body = Problem)))]
async fn start(
    State(workflow): State<WorkflowService>,
    _: AuthenticatedRunner,
    JsonBody(body): JsonBody<StartRun>,
) -> CallResult<StartRun> {
    Ok(Json(workflow.start(&body).await?))
}

/// Claims the oldest runnable tasks; waits if there is none.
#[utoipa::path(post, path = ClaimRun::PATH, tag = "workflow api", request_body = ClaimRun,
    responses((status = 200, body = ClaimView), (status = "4XX", body = Problem)))]
async fn claim(
    State(workflow): State<WorkflowService>,
    _: AuthenticatedRunner,
    JsonBody(body): JsonBody<ClaimRun>,
) -> CallResult<ClaimRun> {
    Ok(Json(workflow.claim(&body).await?))
}

/// Returns the newest checkpoint of a task.
#[utoipa::path(post, path = ResumeRun::PATH, tag = "workflow api", request_body = ResumeRun,
    responses((status = 200, body = CheckpointView), (status = "4XX", body = Problem)))]
async fn resume(
    State(workflow): State<WorkflowService>,
    _: AuthenticatedRunner,
    JsonBody(body): JsonBody<ResumeRun>,
) -> CallResult<ResumeRun> {
    Ok(Json(workflow.resume(&body).await?))
}

/// Persists a transition; the response says whether the run should pause. 409: the caller no longer holds the
/// lease and must stop.
#[utoipa::path(post, path = SaveCheckpoint::PATH, tag = "workflow api", request_body = SaveCheckpoint,
    responses((status = 200, body = CheckpointAckView), (status = "4XX", body = Problem)))]
async fn checkpoint(
    State(workflow): State<WorkflowService>,
    _: AuthenticatedRunner,
    JsonBody(body): JsonBody<SaveCheckpoint>,
) -> CallResult<SaveCheckpoint> {
    Ok(Json(workflow.checkpoint(body).await?))
}

/// Journals the answer of an effect; the first answer for a key wins.
#[utoipa::path(post, path = RecordEffect::PATH, tag = "workflow api", request_body = RecordEffect,
    responses((status = 204), (status = "4XX", body = Problem)))]
async fn effect(
    State(workflow): State<WorkflowService>,
    _: AuthenticatedRunner,
    JsonBody(body): JsonBody<RecordEffect>,
) -> Result<StatusCode, ApiError> {
    workflow.effect(body).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Suspends the run until a person answers its question. 409: the caller no longer holds the lease.
#[utoipa::path(post, path = SuspendForQuestion::PATH, tag = "workflow api", request_body = SuspendForQuestion,
    responses((status = 204), (status = "4XX", body = Problem)))]
async fn ask(
    State(workflow): State<WorkflowService>,
    _: AuthenticatedRunner,
    JsonBody(body): JsonBody<SuspendForQuestion>,
) -> Result<StatusCode, ApiError> {
    workflow.ask(body).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Renews a lease. 409: the lease has expired or was taken over.
#[utoipa::path(post, path = RenewLease::PATH, tag = "workflow api", request_body = RenewLease,
    responses((status = 204), (status = "4XX", body = Problem)))]
async fn renew(
    State(workflow): State<WorkflowService>,
    _: AuthenticatedRunner,
    JsonBody(body): JsonBody<RenewLease>,
) -> Result<StatusCode, ApiError> {
    workflow.renew(&body).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Releases a lease. No effect if the caller no longer holds it.
#[utoipa::path(post, path = ReleaseLease::PATH, tag = "workflow api", request_body = ReleaseLease,
    responses((status = 204), (status = "4XX", body = Problem)))]
async fn release(
    State(workflow): State<WorkflowService>,
    _: AuthenticatedRunner,
    JsonBody(body): JsonBody<ReleaseLease>,
) -> Result<StatusCode, ApiError> {
    workflow.release(body).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Ends the leases of a runner whose end the caller observed, so that others can claim its tasks immediately.
#[utoipa::path(post, path = HolderGone::PATH, tag = "workflow api", request_body = HolderGone,
    responses((status = 200, body = GoneView), (status = "4XX", body = Problem)))]
async fn gone(
    State(workflow): State<WorkflowService>,
    _: AuthenticatedRunner,
    JsonBody(body): JsonBody<HolderGone>,
) -> CallResult<HolderGone> {
    Ok(Json(workflow.release_runner_leases(body.holder_id).await?))
}

/// Returns the specification of a task.
#[utoipa::path(get, path = LoadTask::PATH, tag = "workflow api", params(("task" = TaskId, Path)),
    responses((status = 200, body = TaskContextView), (status = "4XX", body = Problem)))]
async fn context(
    State(workflow): State<WorkflowService>,
    _: AuthenticatedRunner,
    PathSegment(task): PathSegment<TaskId>,
) -> CallResult<LoadTask> {
    Ok(Json(workflow.load_context(task).await?))
}

/// Creates the job for a step attempt. Idempotent.
#[utoipa::path(post, path = DispatchStep::PATH, tag = "workflow api", request_body = DispatchStep,
    responses((status = 200, body = DispatchedView), (status = "4XX", body = Problem)))]
async fn dispatch(
    State(workflow): State<WorkflowService>,
    _: AuthenticatedRunner,
    JsonBody(body): JsonBody<DispatchStep>,
) -> CallResult<DispatchStep> {
    Ok(Json(workflow.dispatch(body).await?))
}

/// Returns a job; waits until it has ended.
#[utoipa::path(get, path = PollJob::PATH, tag = "workflow api", params(("job" = JobId, Path), AwaitJob),
    responses((status = 200, body = JobView), (status = "4XX", body = Problem)))]
async fn job(
    State(workflow): State<WorkflowService>,
    _: AuthenticatedRunner,
    PathSegment(job): PathSegment<JobId>,
    QueryParams(query): QueryParams<AwaitJob>,
) -> CallResult<PollJob> {
    Ok(Json(workflow.await_job(job, query).await?))
}

/// Plans the steps of a task from its prompt; long-polls for the plan. 409: the caller no longer holds the
/// lease.
#[utoipa::path(post, path = PlanRun::PATH, tag = "workflow api", request_body = PlanRun,
    responses((status = 200, body = PlanningView), (status = "4XX", body = Problem)))]
async fn plan(
    State(workflow): State<WorkflowService>,
    _: AuthenticatedRunner,
    JsonBody(body): JsonBody<PlanRun>,
) -> CallResult<PlanRun> {
    Ok(Json(workflow.plan(body).await?))
}

/// Replans a step whose result was not accepted, or says why it cannot. 409: the caller no longer holds the
/// lease.
#[utoipa::path(post, path = ReplanStep::PATH, tag = "workflow api", request_body = ReplanStep,
    responses((status = 200, body = ReplanView), (status = "4XX", body = Problem)))]
async fn replan(
    State(workflow): State<WorkflowService>,
    _: AuthenticatedRunner,
    JsonBody(body): JsonBody<ReplanStep>,
) -> CallResult<ReplanStep> {
    Ok(Json(workflow.replan_step(body).await?))
}

/// Decides how to continue a run whose step was not accepted and has no attempts left; long-polls for the
/// decision. 409: the caller no longer holds the lease.
#[utoipa::path(post, path = ContinueRun::PATH, tag = "workflow api", request_body = ContinueRun,
    responses((status = 200, body = ContinuationView), (status = "4XX", body = Problem)))]
async fn continuation(
    State(workflow): State<WorkflowService>,
    _: AuthenticatedRunner,
    JsonBody(body): JsonBody<ContinueRun>,
) -> CallResult<ContinueRun> {
    Ok(Json(workflow.decide_continuation(body).await?))
}

/// Verifies the result of a job; long-polls for the verdict.
#[utoipa::path(post, path = VerifyStep::PATH, tag = "workflow api", request_body = VerifyStep,
    responses((status = 200, body = VerificationView), (status = "4XX", body = Problem)))]
async fn verify(
    State(workflow): State<WorkflowService>,
    _: AuthenticatedRunner,
    JsonBody(body): JsonBody<VerifyStep>,
) -> CallResult<VerifyStep> {
    Ok(Json(workflow.verify_step(body).await?))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use cynode_wire::runner_calls::{CallMethod, RUNNER_CALLS};

    use super::*;

    #[test]
    fn every_call_of_the_runner_has_a_handler_and_every_handler_a_call() {
        let document = routes().into_openapi();
        let served = document.paths.paths.iter().flat_map(|(path, item)| {
            let methods = [
                item.get.is_some().then_some(CallMethod::Get),
                item.post.is_some().then_some(CallMethod::Post),
            ];
            methods.into_iter().flatten().map(|method| (method, path.as_str()))
        });

        let served: BTreeSet<_> = served.collect();

        assert_eq!(served, RUNNER_CALLS.iter().copied().collect());
    }
}
