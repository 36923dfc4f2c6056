//! What the fake orchestrator answers to a node.

use std::collections::BTreeMap;
use std::time::Duration;

use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path as UrlPath, Query, State};
use axum::http::{HeaderMap, StatusCode};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cynode_domain::ids::{ArtifactId, JobId, NodeId, TaskId};
use cynode_runtime::clock::{Clock as _, SystemClock};
use cynode_wire::artifacts::ArtifactView;
use cynode_wire::git::{BundleQuery, GitCredentialView};
use cynode_wire::jobs::JobResult;
use cynode_wire::nodes::{
    AppendLog, AskWorkspaces, Assignment, Incarnation, LogPosition, Poll, PollView, RegisterNode,
    RegisteredView, WorkspacesView,
};

use super::{OrchestratorFake, OrchestratorFakeState, authorize, calling_incarnation};

pub(super) async fn register(
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

pub(super) async fn start(
    State(fake): State<OrchestratorFake>,
    headers: HeaderMap,
    Json(body): Json<Incarnation>,
) -> Result<StatusCode, StatusCode> {
    let mut known = fake.state();
    authorize(&known, &headers)?;
    known.take_name(&body)?;
    Ok(StatusCode::NO_CONTENT)
}

pub(super) async fn stop(State(fake): State<OrchestratorFake>, headers: HeaderMap) -> StatusCode {
    let mut known = fake.state();
    known.holder.take_if(|holder| *holder == calling_incarnation(&headers));
    StatusCode::NO_CONTENT
}

pub(super) async fn workspaces(
    State(fake): State<OrchestratorFake>,
    Json(body): Json<AskWorkspaces>,
) -> Json<WorkspacesView> {
    let known = fake.state();
    let removable = body.tasks.into_iter().filter(|task| known.closed.contains(task)).collect();
    Json(WorkspacesView { removable })
}

pub(super) async fn poll(
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

pub(super) async fn logs(
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

pub(super) async fn artifact(
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

pub(super) async fn changes(
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
pub(super) async fn git_credential(
    State(fake): State<OrchestratorFake>,
    UrlPath(job): UrlPath<JobId>,
    headers: HeaderMap,
) -> Result<Json<GitCredentialView>, StatusCode> {
    fake.state().check_holder(&headers, job)?;
    Ok(Json(GitCredentialView { credential: None }))
}

/// The newest bundle of the job that a push or a source names.
pub(super) async fn bundle(
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

pub(super) async fn attachment(
    State(fake): State<OrchestratorFake>,
    UrlPath((job, name)): UrlPath<(JobId, String)>,
    headers: HeaderMap,
) -> Result<Vec<u8>, StatusCode> {
    let mut known = fake.state();
    known.check_holder(&headers, job)?;
    known.check_disk(&name)?;
    known.attachments.get(&name).cloned().ok_or(StatusCode::NOT_FOUND)
}

pub(super) async fn result(
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
