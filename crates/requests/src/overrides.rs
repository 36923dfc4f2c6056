//! Decisions of people about the kind, the scope and the workflow of a request, until it is planned.

use cynode_domain::ids::TaskId;
use cynode_domain::name_or_id::NameOrId;
use cynode_domain::request::{Decided, DecisionAuthor};
use cynode_domain::status::RequestPhase;
use cynode_execution::tasks::task_event;
use cynode_planning::workflow::check_workflow;
use cynode_resources::Caller;
use cynode_resources::secrets::RedactSecrets as _;
use cynode_resources::signals::Topic;
use cynode_wire::requests::{OverrideRequest, RequestView};
use cynode_wire::runs::MAX_COMMENT_CHARS;
use serde_json::json;

use crate::queries::find;
use crate::remember::remember_override;
use crate::{RequestError, RequestService};

impl RequestService {
    /// Sets the kind, the scope or the workflow of a request.
    pub async fn override_decisions(
        &self,
        caller: &Caller,
        request: &NameOrId<TaskId>,
        body: OverrideRequest,
    ) -> Result<RequestView, RequestError> {
        let OverrideRequest { kind, scope, workflow, reason } = validate(body)?;
        let (who, name, now) = (caller.clone(), request.to_owned(), self.clock.now());
        self.store
            .write(move |tx| {
                Box::pin(async move {
                    let task = find(tx, &who, &name).await?;
                    let missing = || RequestError::NotFound(name.excerpt());
                    let mut request = tx.request_lock(task.spec.id).await?.ok_or_else(missing)?;
                    let is_early = matches!(
                        request.phase,
                        RequestPhase::Intake | RequestPhase::Context | RequestPhase::Planning
                    );
                    if !is_early || task.status.is_terminal() {
                        return Err(RequestError::AlreadyPlanned { phase: request.phase });
                    }
                    let mut data = json!({ "kind": kind, "scope": scope, "by": who.handle });
                    if let Some(workflow) = &workflow {
                        data["workflow"] = json!(workflow);
                    }
                    if let Some(reason) = &reason {
                        data["reason"] = json!(reason);
                    }
                    let why = match &reason {
                        Some(reason) => format!("decided by {}: {reason}", who.handle),
                        None => format!("decided by {}", who.handle),
                    };
                    let state = &mut request.state;
                    decide(&mut state.kind, kind, &why);
                    decide(&mut state.scope, scope, &why);
                    decide(&mut state.workflow, workflow, &why);
                    request.updated_at = now;
                    tx.request_update(&request).await?;
                    tx.request_wake(request.task).await?;
                    remember_override(tx, &task, &data, &who.handle, now).await?;
                    tx.event_append(&task_event(&task, "request.overridden", data)).await?;
                    Ok(())
                })
            })
            .await?;
        self.signals.send(Topic::Messages);
        self.get(caller, request).await
    }
}

/// Replaces a decision by that of a person; `None` leaves it.
fn decide<T>(decision: &mut Option<Decided<T>>, value: Option<T>, why: &str) {
    if let Some(value) = value {
        let (by, reason) = (DecisionAuthor::Person, why.to_owned());
        *decision = Some(Decided { value, by, reason });
    }
}

/// Rejects decisions that cannot be carried out; orders the units of the workflow, and redacts the reason.
fn validate(body: OverrideRequest) -> Result<OverrideRequest, RequestError> {
    let invalid = |fault: String| RequestError::Invalid(vec![fault]);
    let OverrideRequest { kind, scope, workflow, reason } = body;
    let workflow = workflow.map(|units| check_workflow(&units)).transpose().map_err(invalid)?;
    let reason = reason.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
    if reason.as_ref().is_some_and(|text| text.chars().count() > MAX_COMMENT_CHARS) {
        return Err(invalid(format!("reason is longer than {MAX_COMMENT_CHARS} characters")));
    }
    if kind.is_none() && scope.is_none() && workflow.is_none() {
        return Err(invalid("nothing is decided: set kind, scope or workflow".to_owned()));
    }
    Ok(OverrideRequest { kind, scope, workflow, reason: reason.redact_secrets() })
}
