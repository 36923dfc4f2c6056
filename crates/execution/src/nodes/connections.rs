//! Connections that agents make to hosts through the proxy of their node.

use cynode_domain::ids::JobId;
use cynode_resources::NodeCaller;
use cynode_store::{AccessChange, Job};
use cynode_wire::nodes::{JobConnectionEvent, RecordConnection};

use super::agent_token::is_agent;
use super::report::require_held_job;
use super::{NodeError, NodeService};

/// The kind of resource in the access log.
const CONNECTION: &str = "agent.connection";
/// The most bytes of a host with its port, and of a reason.
const MAX_TEXT_BYTES: usize = 300;

impl NodeService {
    /// Records an event of a connection that the agent of a job makes to a host, in the access log. It is durable when this
    /// returns. The end of a connection is also recorded after the end of its job.
    pub async fn record_connection(
        &self,
        node: &NodeCaller,
        job: JobId,
        request: RecordConnection,
    ) -> Result<(), NodeError> {
        check_texts(&request)?;
        let (node, at) = (node.clone(), self.clock.now());
        self.store
            .write(move |tx| {
                Box::pin(async move {
                    let found = tx.job_get(job).await?;
                    let held = match request.event {
                        JobConnectionEvent::Closed { .. } => require_job_of(found, &node, job)?,
                        JobConnectionEvent::Opened { .. } | JobConnectionEvent::Refused { .. } => {
                            require_held_job(found, &node, job)?
                        }
                    };
                    if !is_agent(&held) {
                        let fault = format!("job {job} is not a job of an agent");
                        return Err(NodeError::Invalid(vec![fault]));
                    }
                    let task = tx.task_get(held.spec.task).await?;
                    let change = AccessChange {
                        by: task.map(|task| task.spec.created_by),
                        action: action(&request.event),
                        resource_type: CONNECTION,
                        resource: job.to_string(),
                        allowed: !matches!(request.event, JobConnectionEvent::Refused { .. }),
                        reason: Some(format!("{} {}", request.target, describe(&request.event))),
                        task: Some(held.spec.task),
                        at,
                    };
                    Ok::<_, NodeError>(tx.access_change_append(&change).await?)
                })
            })
            .await
    }
}

fn require_job_of(found: Option<Job>, node: &NodeCaller, id: JobId) -> Result<Job, NodeError> {
    found.filter(|job| node.holds_job(job)).ok_or(NodeError::JobNotHeld(id))
}

fn check_texts(request: &RecordConnection) -> Result<(), NodeError> {
    let reason = match &request.event {
        JobConnectionEvent::Opened { .. } => None,
        JobConnectionEvent::Refused { reason } => Some(reason),
        JobConnectionEvent::Closed { reason, .. } => reason.as_ref(),
    };
    let is_invalid =
        |text: &&String| text.len() > MAX_TEXT_BYTES || text.contains(char::is_control);
    if [Some(&request.target), reason].into_iter().flatten().any(|text| is_invalid(&text)) {
        let fault = format!("target and reason are lines of at most {MAX_TEXT_BYTES} bytes");
        return Err(NodeError::Invalid(vec![fault]));
    }
    Ok(())
}

const fn action(event: &JobConnectionEvent) -> &'static str {
    match event {
        JobConnectionEvent::Opened { .. } => "agent.connect",
        JobConnectionEvent::Refused { .. } => "agent.refuse",
        JobConnectionEvent::Closed { .. } => "agent.disconnect",
    }
}

fn describe(event: &JobConnectionEvent) -> String {
    match event {
        JobConnectionEvent::Opened { address } => format!("at {address}"),
        JobConnectionEvent::Refused { reason } => reason.clone(),
        JobConnectionEvent::Closed { reason, sent, received, open_for_ms } => {
            let (seconds, tenths) = (open_for_ms / 1000, open_for_ms % 1000 / 100);
            let end = reason.as_deref().map(|reason| format!(": {reason}")).unwrap_or_default();
            format!("after {seconds}.{tenths} s, {sent} bytes sent, {received} received{end}")
        }
    }
}
