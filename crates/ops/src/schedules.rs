//! Schedules: work started by time.
//!
//! Start at [`Schedules`], the operations of people and agents; [`Scheduler`] is the reconciler
//! that processes due times. A schedule with a prompt is handed to the project manager, which
//! creates the tasks; one with a task and commands needs no interpretation, and its task is created
//! here; one with a request submits it ([`ScheduledIntake`]). The payload kind alone decides which.
//!
//! Invariants: every time is the database's. Recording a due time and computing the next one are
//! one transaction; the work follows under a lease. The tasks of one due time are created in one
//! transaction together with the note that they exist, so a retry finds all of them or none: a
//! model's answer may differ between attempts and is never mixed with an earlier one. A task with
//! commands is created under an idempotency key of schedule and time. The open runs of a schedule
//! are limited, and owners take turns.

mod due;
mod events;
mod intake;
mod manage;
mod profiles;
mod queries;
mod run_processor;
mod scheduler;
mod validate;

use cynode_domain::error_class::{Classification, Classified, ErrorClass};
use cynode_domain::ids::ScheduleId;
use cynode_domain::name::Slug;
use cynode_domain::name_or_id::NameOrId;
use cynode_domain::schedule::TimingError;
use cynode_store::{Schedule, Store, Tx};

pub use self::intake::{IntakeOutcome, ScheduledIntake};
pub use self::scheduler::{Scheduler, SchedulerOptions};
use cynode_resources::projects::ProjectError;
use cynode_resources::{Caller, PageError, Signals};

const MAX_SCHEDULES: u32 = 100;
/// Maximum open runs per schedule, scheduled or manual.
const MAX_OPEN: u32 = 5;
/// Maximum skipped future times.
const MAX_SKIPPED: u32 = 100;

#[derive(Debug, thiserror::Error)]
pub enum ScheduleError {
    /// Also returned if the caller may not see the schedule.
    #[error("there is no schedule \"{0}\"")]
    NotFound(String),
    #[error("several of your projects have a schedule \"{0}\"; use its id")]
    Ambiguous(String),
    #[error("the project already has a schedule \"{0}\"; choose another name")]
    NameTaken(String),
    #[error("you have reached the limit of {MAX_SCHEDULES} schedules; delete one first")]
    TooMany,
    #[error(
        "\"{0}\" has {MAX_OPEN} open runs, which is the limit; wait for their tasks, or cancel them"
    )]
    TooManyOpen(String),
    #[error(
        "at most {MAX_SKIPPED} times, up to a year ahead, can be skipped; pause the schedule instead"
    )]
    SkipLimit,
    #[error("there is no next time to skip: the schedule is {0}")]
    NoNextTime(&'static str),
    #[error("{}", .0.join("; "))]
    Invalid(Vec<String>),
    #[error(transparent)]
    Project(#[from] ProjectError),
    #[error(transparent)]
    Page(#[from] PageError),
    #[error(transparent)]
    Store(#[from] cynode_store::Error),
}

impl Classified for ScheduleError {
    fn classify(&self) -> Classification<'_> {
        match self {
            Self::NotFound(_) => Classification::new(ErrorClass::NotFound, self),
            Self::Ambiguous(_)
            | Self::NameTaken(_)
            | Self::TooMany
            | Self::TooManyOpen(_)
            | Self::SkipLimit
            | Self::NoNextTime(_) => Classification::new(ErrorClass::Conflict, self),
            Self::Invalid(faults) => Classification::invalid(self, faults),
            Self::Project(error) => error.classify(),
            Self::Page(error) => error.classify(),
            Self::Store(error) => error.classify(),
        }
    }
}

impl From<TimingError> for ScheduleError {
    fn from(error: TimingError) -> Self {
        Self::Invalid(vec![error.to_string()])
    }
}

/// Manages schedules. Cheap to clone.
#[derive(Clone)]
pub struct Schedules {
    store: Store,
    signals: Signals,
}

impl Schedules {
    pub fn new(store: Store, signals: Signals) -> Self {
        Self { store, signals }
    }
}

/// Finds a schedule by id or by the caller's name for it, if the caller may see it.
async fn find_schedule(
    tx: &mut Tx,
    caller: &Caller,
    name_or_id: &NameOrId<ScheduleId>,
) -> Result<Schedule, ScheduleError> {
    let unknown = || ScheduleError::NotFound(name_or_id.excerpt());
    let found = match name_or_id {
        NameOrId::Id(id) => tx.schedule_get(*id).await?,
        NameOrId::Name(name) => {
            let name = Slug::normalise(name).map_err(|_| unknown())?;
            let mut named = tx.schedule_list_by_name(caller.user, name.as_str()).await?;
            if named.len() > 1 {
                return Err(ScheduleError::Ambiguous(name_or_id.excerpt()));
            }
            named.pop()
        }
    };
    found.filter(|schedule| caller.may_see(schedule.owner)).ok_or_else(unknown)
}

/// Like [`find_schedule`], locked until the transaction ends.
async fn lock_schedule(
    tx: &mut Tx,
    caller: &Caller,
    name_or_id: &NameOrId<ScheduleId>,
) -> Result<Schedule, ScheduleError> {
    let found = find_schedule(tx, caller, name_or_id).await?;
    let locked = tx.schedule_lock(found.id).await?;
    locked.ok_or_else(|| ScheduleError::NotFound(name_or_id.excerpt()))
}

fn state_name(schedule: &Schedule) -> &'static str {
    match (schedule.is_enabled, schedule.next_due_at) {
        (false, _) => "paused",
        (true, Some(_)) => "active",
        (true, None) => "finished",
    }
}
