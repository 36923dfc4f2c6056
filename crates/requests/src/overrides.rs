//! Decisions of people about the kind and the scope of a request, until it is planned.

use cynode_domain::ids::TaskId;
use cynode_domain::name_or_id::NameOrId;
use cynode_domain::request::{Decided, DecisionAuthor};
use cynode_domain::status::RequestPhase;
use cynode_execution::tasks::task_event;
use cynode_resources::Caller;
use cynode_resources::signals::Topic;
use cynode_wire::requests::{OverrideRequest, RequestView};
use serde_json::json;

use crate::queries::find;
use crate::remember::remember_override;
use crate::{RequestError, RequestService};

impl RequestService {
    /// Sets the kind or the scope of a request.
    pub async fn override_decisions(
        &self,
        caller: &Caller,
        request: &NameOrId<TaskId>,
        body: OverrideRequest,
    ) -> Result<RequestView, RequestError> {
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
                    let reason = format!("decided by {}", who.handle);
                    if let Some(value) = body.kind {
                        let by = DecisionAuthor::Person;
                        request.state.kind = Some(Decided { value, by, reason: reason.clone() });
                    }
                    if let Some(value) = body.scope {
                        request.state.scope =
                            Some(Decided { value, by: DecisionAuthor::Person, reason });
                    }
                    request.updated_at = now;
                    tx.request_update(&request).await?;
                    tx.request_wake(request.task).await?;
                    let data = json!({ "kind": body.kind, "scope": body.scope, "by": who.handle });
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
