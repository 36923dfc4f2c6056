//! What the clock brings: due times become runs, and the next ones are waited for.

use chrono::{DateTime, Utc};
use cynode_domain::ids::ScheduleRunId;
use cynode_domain::schedule::{Due, IfMissed, Overlap};
use cynode_store::{DueStore, Error, NewScheduleRun, Schedule, ScheduleRunStore, Tx};

/// How many schedules are looked at in one transaction.
const PAGE: u32 = 50;
/// How many runs of a schedule are kept.
const KEPT: u32 = 500;

/// Notes every time that has come and moves its schedule on, in one transaction.
pub(super) async fn note_due(tx: &mut Tx) -> Result<(), Error> {
    for (schedule, now) in tx.schedule_due(PAGE).await? {
        let Some(expected) = schedule.next_due_at else { continue };
        let due = schedule.rule.due(expected, now);
        if !tx.schedule_advance(schedule.id, expected, due.next).await? {
            continue;
        }
        if due.has_passed_others {
            let instead = schedule.rule.zone.local(due.due_at);
            let why = format!("nobody was there; {instead} takes the place of what was missed");
            tx.schedule_run_insert(&run(&schedule, expected, Some(why))).await?;
        }
        let skipped = why_not(tx, &schedule, due).await?;
        tx.schedule_run_insert(&run(&schedule, due.due_at, skipped)).await?;
        tx.schedule_run_forget(schedule.id, KEPT).await?;
    }
    Ok(())
}

/// Why a time that came is passed over.
async fn why_not(tx: &mut Tx, schedule: &Schedule, due: Due) -> Result<Option<String>, Error> {
    if due.is_missed && schedule.if_missed == IfMissed::Skip {
        return Ok(Some("nobody was there when it came".to_owned()));
    }
    let is_busy = schedule.overlap == Overlap::Skip && tx.schedule_is_busy(schedule.id).await?;
    Ok(is_busy.then(|| "work of an earlier time was still open".to_owned()))
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
