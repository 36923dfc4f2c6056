//! Requests of schedules.

use async_trait::async_trait;
use cynode_domain::ids::ScheduleRunId;
use cynode_resources::Caller;
use cynode_store::Error;
use cynode_wire::requests::SubmitRequest;

/// Accepts the requests of due schedules.
#[async_trait]
pub trait ScheduledIntake: Send + Sync {
    /// Submits a request for a run of a schedule, linked to that run. Idempotent by its idempotency key.
    async fn submit_scheduled(
        &self,
        owner: &Caller,
        run: ScheduleRunId,
        request: SubmitRequest,
    ) -> Result<IntakeOutcome, Error>;
}

/// The outcome of a submission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IntakeOutcome {
    Submitted {
        name: String,
    },
    /// A request with the same text is open, so none was submitted for this due time.
    AlreadyOpen {
        name: String,
    },
    Rejected {
        reason: String,
    },
}
