//! Schedules: work that comes due by the clock.
//!
//! Start at [`Schedules`], what people and agents do with them; [`Scheduler`] is the reconciler that deals
//! with what has come due. A schedule that says in prose what it wants is handed to the project manager,
//! which makes the tasks; one that names a task with its commands needs no interpretation, and the task
//! is made here. Which of the two it is, the kind of its payload says, and nothing else.
//!
//! Invariants: every time is the database's. That a time came and that the next one is waited for are
//! one transaction; the work follows, under a claim that runs out. The tasks of one due time are made in
//! one transaction, together with the note that they are made, so that whoever takes the work up again
//! finds all of them or none: the answer of a model may differ from one time to the next, and is never
//! mixed with an earlier one. A task that names its commands is made under a key of schedule and time.
//! Few times of a schedule are open at once, and owners take turns.

mod check;
mod due;
mod events;
mod look;
mod scheduler;
mod work;
mod write;

use cynode_domain::ids::ScheduleId;
use cynode_domain::name::Slug;
use cynode_domain::schedule::TimingError;
use cynode_store::{Schedule, ScheduleStore, Store, Tx};

pub use self::scheduler::{Scheduler, SchedulerOptions};
use crate::projects::ProjectError;
use crate::{BadCursor, Caller, Signals};

/// How many schedules a user can have.
const MAX_SCHEDULES: u32 = 100;
/// How many due times of a schedule may be open at once, whoever fires it.
const MAX_OPEN: u32 = 5;
/// How many times to come can be skipped.
const MAX_SKIPPED: u32 = 100;

/// Why an operation on schedules was refused.
#[derive(Debug, thiserror::Error)]
pub enum ScheduleError {
    /// There is no such schedule, or the caller may not see it.
    #[error("there is no schedule \"{0}\"")]
    NotFound(String),
    /// Several projects have one of that name.
    #[error("several of your projects have a schedule \"{0}\": name it by its id")]
    Ambiguous(String),
    /// The name is taken.
    #[error("there is a schedule \"{0}\" in that project already: choose another name")]
    NameTaken(String),
    /// The user has as many as there may be.
    #[error("you have {MAX_SCHEDULES} schedules, and more are not allowed: delete one first")]
    TooMany,
    /// Too much of its work is open.
    #[error(
        "work of {MAX_OPEN} times of \"{0}\" is open, and more is not allowed: wait for its tasks, or cancel them"
    )]
    TooManyOpen(String),
    /// Too much is skipped already.
    #[error(
        "no more can be skipped: at most {MAX_SKIPPED} times, and not more than a year ahead; pause the schedule instead"
    )]
    TooFarAhead,
    /// Nothing is ahead that could be skipped.
    #[error("nothing is ahead: the schedule is {0}")]
    NothingAhead(&'static str),
    /// The request breaks rules.
    #[error("{}", .0.join("; "))]
    Invalid(Vec<String>),
    /// The project was not found.
    #[error(transparent)]
    Project(#[from] ProjectError),
    /// The page asked for cannot be given.
    #[error(transparent)]
    Page(#[from] BadCursor),
    /// The database does not answer.
    #[error(transparent)]
    Store(#[from] cynode_store::Error),
}

impl From<TimingError> for ScheduleError {
    fn from(error: TimingError) -> Self {
        Self::Invalid(vec![error.to_string()])
    }
}

/// Schedules. Cheap to clone.
#[derive(Clone)]
pub struct Schedules {
    store: Store,
    signals: Signals,
}

impl Schedules {
    /// Schedules kept in `store`.
    pub fn new(store: Store, signals: Signals) -> Self {
        Self { store, signals }
    }
}

/// The schedule that `wanted` names by id or by the caller's own name for it, if the caller may see it.
async fn find(tx: &mut Tx, caller: &Caller, wanted: &str) -> Result<Schedule, ScheduleError> {
    let short = || wanted.chars().take(100).collect::<String>();
    let found = if let Ok(id) = wanted.parse::<ScheduleId>() {
        tx.schedule_get(id).await?
    } else {
        let name = Slug::normalise(wanted).map_err(|_| ScheduleError::NotFound(short()))?;
        let mut named = tx.schedule_named(caller.user, name.as_str()).await?;
        if named.len() > 1 {
            return Err(ScheduleError::Ambiguous(short()));
        }
        named.pop()
    };
    found
        .filter(|schedule| caller.may_see(schedule.owner))
        .ok_or_else(|| ScheduleError::NotFound(short()))
}

/// As [`find`], locked until the transaction ends.
async fn lock(tx: &mut Tx, caller: &Caller, wanted: &str) -> Result<Schedule, ScheduleError> {
    let found = find(tx, caller, wanted).await?;
    let locked = tx.schedule_lock(found.id).await?;
    locked.ok_or_else(|| ScheduleError::NotFound(wanted.chars().take(100).collect()))
}

/// Where a schedule stands, as a word.
fn state(schedule: &Schedule) -> &'static str {
    match (schedule.is_enabled, schedule.next_due_at) {
        (false, _) => "paused",
        (true, Some(_)) => "active",
        (true, None) => "finished",
    }
}
