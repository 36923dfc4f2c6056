//! What the clock brings: due times become runs, and the next ones are waited for.

use chrono::{DateTime, Utc};
use cynode_domain::ids::ScheduleRunId;
use cynode_domain::schedule::{Due, IfMissed, Overlap};
use cynode_store::{DueSchedule, DueStore, Error, NewScheduleRun, Schedule, ScheduleRunStore, Tx};
use tracing::warn;

use super::MAX_OPEN;

/// How many schedules are looked at in one transaction.
const PAGE: u32 = 50;
/// How many runs of a schedule are kept, apart from those that are open.
pub(super) const KEPT: u32 = 500;

/// Notes every time that has come and moves its schedule on, in one transaction. A schedule that this
/// version cannot read is paused, so that it keeps no other waiting.
pub(super) async fn note_due(tx: &mut Tx) -> Result<(), Error> {
    for DueSchedule { id, now, schedule } in tx.schedule_due(PAGE).await? {
        match schedule {
            Ok(schedule) => note(tx, &schedule, now).await?,
            Err(error) => {
                warn!(
                    error = &error as &dyn std::error::Error, schedule.id = %id,
                    "the schedule {id} cannot be read and is paused"
                );
                drop(error);
                tx.schedule_pause(id).await?;
            }
        }
    }
    Ok(())
}

async fn note(tx: &mut Tx, schedule: &Schedule, now: DateTime<Utc>) -> Result<(), Error> {
    let Some(expected) = schedule.next_due_at else { return Ok(()) };
    let due = schedule.rule.due(expected, now);
    if !tx.schedule_advance(schedule.id, expected, due.next).await? {
        return Ok(());
    }
    if due.has_passed_others {
        let instead = schedule.rule.zone.local(due.due_at);
        let why = format!("nobody was there; {instead} takes the place of what was missed");
        tx.schedule_run_insert(&run(schedule, expected, Some(why))).await?;
    }
    let skipped = why_not(tx, schedule, due).await?;
    tx.schedule_run_insert(&run(schedule, due.due_at, skipped)).await?;
    tx.schedule_run_forget(schedule.id, KEPT).await.map(drop)
}

/// Why a time that came is passed over.
async fn why_not(tx: &mut Tx, schedule: &Schedule, due: Due) -> Result<Option<String>, Error> {
    if due.is_missed && schedule.if_missed == IfMissed::Skip {
        return Ok(Some("nobody was there when it came".to_owned()));
    }
    let open = tx.schedule_open_runs(schedule.id).await?;
    Ok(match schedule.overlap {
        Overlap::Skip if open > 0 => Some("work of an earlier time was still open".to_owned()),
        Overlap::Allow if open >= MAX_OPEN => {
            Some(format!("work of {open} earlier times was still open, and more is not allowed"))
        }
        Overlap::Skip | Overlap::Allow => None,
    })
}

fn run(schedule: &Schedule, due_at: DateTime<Utc>, skipped: Option<String>) -> NewScheduleRun {
    NewScheduleRun {
        id: ScheduleRunId::generate(),
        schedule: schedule.id,
        due_at: Some(due_at),
        is_manual: false,
        skipped,
    }
}
