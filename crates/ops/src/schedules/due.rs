//! Turns due times into runs and advances their schedules.

use chrono::{DateTime, Utc};
use cynode_domain::ids::ScheduleRunId;
use cynode_domain::schedule::{DueTime, IfMissed, Overlap};
use cynode_store::{DueSchedule, Error, NewScheduleRun, Schedule, Tx};
use tracing::warn;

use super::MAX_OPEN;

/// Schedules per transaction.
const PAGE: u32 = 50;
/// Ended runs retained per schedule.
pub(super) const RUNS_RETAINED: u32 = 500;

/// Records every due time and advances its schedule, in one transaction. A schedule that this
/// version cannot parse is paused, so that it does not block the others.
pub(super) async fn record_due_times(tx: &mut Tx) -> Result<(), Error> {
    for DueSchedule { id, now, schedule } in tx.schedule_list_due(PAGE).await? {
        match schedule {
            Ok(schedule) => record_due_time(tx, &schedule, now).await?,
            Err(error) => {
                warn!(
                    error = &error as &dyn std::error::Error, schedule.id = %id,
                    "schedule unreadable, paused"
                );
                drop(error);
                tx.schedule_pause(id).await?;
            }
        }
    }
    Ok(())
}

async fn record_due_time(
    tx: &mut Tx,
    schedule: &Schedule,
    now: DateTime<Utc>,
) -> Result<(), Error> {
    let Some(expected) = schedule.next_due_at else { return Ok(()) };
    let due = schedule.rule.due_time(expected, now);
    if !tx.schedule_advance(schedule.id, expected, due.next).await? {
        return Ok(());
    }
    if due.has_skipped_earlier {
        let instead = schedule.rule.zone.format_rfc3339(due.due_at);
        let why = format!("missed while no orchestrator was running; replaced by {instead}");
        tx.schedule_run_insert(&new_run(schedule, expected, Some(why))).await?;
    }
    let skipped = skip_reason(tx, schedule, due).await?;
    tx.schedule_run_insert(&new_run(schedule, due.due_at, skipped)).await?;
    tx.schedule_run_delete_old(schedule.id, RUNS_RETAINED).await.map(drop)
}

/// Returns why a due time is skipped.
async fn skip_reason(
    tx: &mut Tx,
    schedule: &Schedule,
    due: DueTime,
) -> Result<Option<String>, Error> {
    if due.is_missed && schedule.if_missed == IfMissed::Skip {
        return Ok(Some("missed while no orchestrator was running".to_owned()));
    }
    let open = tx.schedule_count_open_runs(schedule.id).await?;
    Ok(match schedule.overlap {
        Overlap::Skip if open > 0 => Some("an earlier run was still open".to_owned()),
        Overlap::Allow if open >= MAX_OPEN => {
            Some(format!("{open} earlier runs were still open, which is the limit"))
        }
        Overlap::Skip | Overlap::Allow => None,
    })
}

fn new_run(schedule: &Schedule, due_at: DateTime<Utc>, skipped: Option<String>) -> NewScheduleRun {
    NewScheduleRun {
        id: ScheduleRunId::generate(),
        schedule: schedule.id,
        due_at: Some(due_at),
        is_manual: false,
        skip_reason: skipped,
    }
}
