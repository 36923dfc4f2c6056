//! Requests of schedules.

use async_trait::async_trait;
use cynode_domain::ids::ScheduleRunId;
use cynode_execution::tasks::TaskError;
use cynode_ops::schedules::{IntakeOutcome, ScheduledIntake};
use cynode_resources::Caller;
use cynode_store::Error;
use cynode_wire::requests::SubmitRequest;

use crate::{RequestError, RequestService};

#[async_trait]
impl ScheduledIntake for RequestService {
    async fn submit_scheduled(
        &self,
        owner: &Caller,
        run: ScheduleRunId,
        request: SubmitRequest,
    ) -> Result<IntakeOutcome, Error> {
        match self.submit_for_run(owner, request, Some(run)).await {
            Ok(request) => Ok(IntakeOutcome::Submitted { name: request.name }),
            Err(RequestError::Duplicate { name }) => Ok(IntakeOutcome::AlreadyOpen { name }),
            Err(RequestError::Store(error) | RequestError::Task(TaskError::Store(error))) => {
                Err(error)
            }
            Err(error) => Ok(IntakeOutcome::Rejected { reason: error.to_string() }),
        }
    }
}
