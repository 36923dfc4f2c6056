//! The part of the fake orchestrator that concerns agents.

use std::time::Duration;

use axum::Json;
use axum::extract::{Path as UrlPath, State};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::Response;
use cynode_domain::ids::JobId;
use cynode_domain::job::Action;
use cynode_domain::trace::TraceEvents;
use cynode_runtime::clock::{Clock as _, SystemClock};
use cynode_wire::agent_profiles::CanaryReport;
use cynode_wire::nodes::{JobAgentToken, RecordConnection};

use crate::agent_answers::answer_agent;
use crate::fake_orchestrator::{AgentRequest, OrchestratorFake};

pub(crate) async fn agent_token(
    State(fake): State<OrchestratorFake>,
    UrlPath(job): UrlPath<JobId>,
    headers: HeaderMap,
) -> Result<Json<JobAgentToken>, StatusCode> {
    let mut known = fake.state();
    known.check_holder(&headers, job)?;
    if !matches!(known.assigned[&job].action, Action::Agent { .. }) {
        return Err(StatusCode::BAD_REQUEST);
    }
    known.agent_tokens.push(job);
    let secret = format!("agent-{}", known.agent_tokens.len() - 1);
    Ok(Json(JobAgentToken { secret, expires_at: SystemClock.now() + Duration::from_hours(1) }))
}

/// A report comes before the result of its job, and only from the process that holds the job.
pub(crate) async fn canary(
    State(fake): State<OrchestratorFake>,
    UrlPath(job): UrlPath<JobId>,
    headers: HeaderMap,
    Json(report): Json<CanaryReport>,
) -> Result<StatusCode, StatusCode> {
    let mut known = fake.state();
    known.check_holder(&headers, job)?;
    known.check_disk("canary")?;
    let agent = known.assigned[&job].agent.as_ref();
    if !agent.is_some_and(|agent| agent.is_canary) {
        return Err(StatusCode::BAD_REQUEST);
    }
    if known.results.contains_key(&job) {
        return Err(StatusCode::CONFLICT);
    }
    known.canaries.push((job, report));
    Ok(StatusCode::NO_CONTENT)
}

/// A trace comes once, before the result of its job, and only from the process that holds the job.
pub(crate) async fn trace(
    State(fake): State<OrchestratorFake>,
    UrlPath(job): UrlPath<JobId>,
    headers: HeaderMap,
    Json(events): Json<TraceEvents>,
) -> Result<StatusCode, StatusCode> {
    let mut known = fake.state();
    known.check_holder(&headers, job)?;
    // An orchestrator of an earlier version.
    known.check_disk("trace").map_err(|_| StatusCode::NOT_FOUND)?;
    if known.results.contains_key(&job) {
        return Err(StatusCode::CONFLICT);
    }
    known.traces.push((job, events));
    Ok(StatusCode::NO_CONTENT)
}

pub(crate) async fn connection(
    State(fake): State<OrchestratorFake>,
    UrlPath(job): UrlPath<JobId>,
    headers: HeaderMap,
    Json(record): Json<RecordConnection>,
) -> Result<StatusCode, StatusCode> {
    let mut known = fake.state();
    known.check_holder(&headers, job)?;
    known.check_disk("connections")?;
    known.connections.push((job, record));
    Ok(StatusCode::NO_CONTENT)
}

/// Answers if the token of an agent is valid.
pub(crate) async fn agent_request(
    State(fake): State<OrchestratorFake>,
    uri: Uri,
    headers: HeaderMap,
    body: String,
) -> Result<Response, StatusCode> {
    let (number, answers) = {
        let mut known = fake.state();
        let token = headers["authorization"].to_str().unwrap().strip_prefix("Bearer agent-");
        let index: usize =
            token.and_then(|index| index.parse().ok()).ok_or(StatusCode::UNAUTHORIZED)?;
        if index < known.agent_tokens_from || index >= known.agent_tokens.len() {
            return Err(StatusCode::UNAUTHORIZED);
        }
        let headers = headers
            .iter()
            .map(|(name, value)| (name.to_string(), value.to_str().unwrap_or_default().to_owned()));
        let (path, body) = (uri.path().to_owned(), body.clone());
        known.agent_requests.push(AgentRequest { path, headers: headers.collect(), body });
        (known.agent_requests.len(), known.agent_answers)
    };
    Ok(answer_agent(answers, number, uri.path(), &body).await)
}
