//! Everything that the next action of a request depends on.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, TimeDelta, Utc};
use cynode_domain::ids::TaskId;
use cynode_domain::role_limits::{ROLE_LIMITS_PREFIX, RoleLimits};
use cynode_domain::status::{RequestPhase, WorkUnitStatus as Status};
use cynode_domain::work::UnitKind;
use cynode_ops::WorkError;
use cynode_ops::work::{WorkBoard, load_board};
use cynode_store::{AttemptStatus, Task, Tx, WorkRequest};

use crate::RequestError;

/// The unit id of the attempts that read the project.
pub(crate) const CONTEXT: &str = "context";
/// The unit id of the attempts that merge and test the results.
pub(crate) const INTEGRATE: &str = "integrate";
/// The unit id of the attempts at resolving conflicts between units.
pub(crate) const MERGE: &str = "merge";
/// The unit id of the attempts at pushing the branch.
pub(crate) const PUSH: &str = "push";

/// A bound for the read: more than there are roles.
const MAX_LIMIT_SETTINGS: u32 = 20;

/// How long a unit waits for the end of the job of its last attempt. The lease of a job on a lost node expires much
/// earlier; this bounds the wait for a node that reports, but cannot stop the job.
const MAX_JOB_END_WAIT: TimeDelta = TimeDelta::minutes(10);

/// The unit id of the attempts at comments on the pull request.
pub(crate) const REVISE: &str = "revise";

/// A request with its task, units and attempts.
pub(crate) struct RequestSnapshot {
    pub(crate) request: WorkRequest,
    pub(crate) task: Task,
    /// Absent until it is planned.
    pub(crate) board: Option<WorkBoard>,
    /// Oldest first.
    pub(crate) attempts: Vec<AttemptStatus>,
    /// How many units of a role run at once.
    pub(crate) role_limits: RoleLimits,
    /// The units and steps whose last attempt was ended from outside, while its node still stops its job.
    pub(crate) stopping: BTreeSet<String>,
}

impl RequestSnapshot {
    /// Loads a request; `None` if it does not exist.
    pub(crate) async fn load(
        tx: &mut Tx,
        id: TaskId,
        now: DateTime<Utc>,
    ) -> Result<Option<Self>, RequestError> {
        let (Some(request), Some(task)) = (tx.request_get(id).await?, tx.task_get(id).await?)
        else {
            return Ok(None);
        };
        let board = match load_board(tx, id, now).await {
            Ok(board) => Some(board.with_max_revisions(request.settings.max_review_rounds)),
            Err(WorkError::NoPlan) => None,
            Err(error) => return Err(error.into()),
        };
        let attempts = tx.attempt_list(id).await?;
        let role_limits = load_role_limits(tx, request.phase).await?;
        let stopping = load_stopping(tx, request.phase, &attempts, now).await?;
        Ok(Some(Self { request, task, board, attempts, role_limits, stopping }))
    }

    /// The attempts at a unit or a step, oldest first.
    pub(crate) fn attempts_at<'a>(
        &'a self,
        unit: &'a str,
    ) -> impl Iterator<Item = &'a AttemptStatus> {
        self.attempts.iter().filter(move |attempt| attempt.attempt.unit == unit)
    }

    pub(crate) fn newest_attempt<'a>(&'a self, unit: &'a str) -> Option<&'a AttemptStatus> {
        self.attempts_at(unit).last()
    }

    /// Whether an attempt at a unit runs.
    pub(crate) fn is_running(&self, unit: &str) -> bool {
        self.newest_attempt(unit).is_some_and(is_open)
    }

    /// The attempt whose result a unit is.
    pub(crate) fn accepted_attempt<'a>(&'a self, unit: &'a str) -> Option<&'a AttemptStatus> {
        self.attempts_at(unit).filter(|attempt| is_done(attempt)).last()
    }

    /// An ended attempt that the request took no note of.
    pub(crate) fn unconcluded(&self) -> Option<&AttemptStatus> {
        self.attempts
            .iter()
            .find(|attempt| attempt.status.is_terminal() && attempt.attempt.concluded_at.is_none())
    }

    /// How many units of a kind run now.
    pub(crate) fn running_units(&self, kind: UnitKind) -> usize {
        let is_of_kind = |attempt: &AttemptStatus| {
            let prefix = attempt.attempt.unit.split_once(':').map(|(prefix, _)| prefix);
            prefix == Some(kind.prefix())
        };
        self.attempts.iter().filter(|attempt| is_open(attempt) && is_of_kind(attempt)).count()
    }

    /// How many attempts run now.
    pub(crate) fn running_count(&self) -> usize {
        self.attempts.iter().filter(|attempt| is_open(attempt)).count()
    }

    /// The task of the request and its child tasks.
    pub(crate) fn task_ids(&self) -> Vec<TaskId> {
        let children = self.attempts.iter().map(|attempt| attempt.attempt.child);
        std::iter::once(self.task.spec.id).chain(children).collect()
    }

    /// The number of the next attempt at a unit.
    pub(crate) fn next_number(&self, unit: &str) -> u32 {
        self.newest_attempt(unit).map_or(1, |newest| newest.attempt.number + 1)
    }
}

/// Loads the limits of roles, in the phase in which units start.
async fn load_role_limits(tx: &mut Tx, phase: RequestPhase) -> Result<RoleLimits, RequestError> {
    if phase != RequestPhase::Working {
        return Ok(RoleLimits::default());
    }
    let settings = tx.setting_list(ROLE_LIMITS_PREFIX, None, MAX_LIMIT_SETTINGS).await?;
    let values = settings.iter().map(|setting| (setting.key.as_str(), &setting.value));
    Ok(RoleLimits::from_settings(values))
}

/// Loads the units and steps whose last attempt was ended from outside while its job runs. The node collects the changes
/// of the job before it ends it: an attempt that starts earlier would not have them.
async fn load_stopping(
    tx: &mut Tx,
    phase: RequestPhase,
    attempts: &[AttemptStatus],
    now: DateTime<Utc>,
) -> Result<BTreeSet<String>, RequestError> {
    let mut stopping = BTreeSet::new();
    if phase != RequestPhase::Working {
        return Ok(stopping);
    }
    let newest: BTreeMap<&str, &AttemptStatus> =
        attempts.iter().map(|attempt| (attempt.attempt.unit.as_str(), attempt)).collect();
    for (unit, attempt) in newest {
        let ended_at = attempt.attempt.concluded_at;
        let is_recent = ended_at.is_some_and(|ended_at| now - ended_at < MAX_JOB_END_WAIT);
        if is_recent && !is_done(attempt) && tx.task_has_open_job(attempt.attempt.child).await? {
            stopping.insert(unit.to_owned());
        }
    }
    Ok(stopping)
}

/// Whether an attempt runs. A concluded attempt stays ended, whatever happens to its task.
fn is_open(attempt: &AttemptStatus) -> bool {
    !attempt.status.is_terminal() && attempt.attempt.concluded_at.is_none()
}

/// Whether an attempt succeeded.
pub(crate) fn is_done(attempt: &AttemptStatus) -> bool {
    attempt.attempt.outcome.as_ref().is_some_and(|outcome| outcome["result"] == "done")
}

/// Whether the budget of the request ended an attempt.
pub(crate) fn is_budget_stop(attempt: &AttemptStatus) -> bool {
    attempt.attempt.outcome.as_ref().is_some_and(|outcome| outcome["result"] == "budget")
}

/// Whether an attempt did not start, because the changes that it builds on conflict.
pub(crate) fn is_conflict_stop(attempt: &AttemptStatus) -> bool {
    attempt.attempt.outcome.as_ref().is_some_and(|outcome| outcome["result"] == "conflict")
}

/// Whether an attempt was replaced, because the scope of its unit changed.
pub(crate) fn is_replanned(attempt: &AttemptStatus) -> bool {
    attempt.attempt.outcome.as_ref().is_some_and(|outcome| outcome["result"] == "replanned")
}

/// Whether the units after one may start.
pub(crate) fn is_passed(status: Status) -> bool {
    matches!(status, Status::Approved | Status::Routed | Status::Completed)
}
