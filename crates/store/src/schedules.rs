//! Schedules.
//!
//! Invariant: a schedule that is paused has no next due time, so whoever looks for work by that time
//! never finds it.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use cynode_domain::ids::{ProjectId, ScheduleId, UserId};
use cynode_domain::schedule::{IfMissed, Overlap, Payload, Rule};
use serde_json::json;

use crate::column::Row;
use crate::param::params;
use crate::quarantine::tables;
use crate::{Error, Tx};

/// A schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schedule {
    /// The schedule's id.
    pub id: ScheduleId,
    /// Whose it is.
    pub owner: UserId,
    /// In which project its tasks are made.
    pub project: ProjectId,
    /// Its name, unique for its owner and project.
    pub name: String,
    /// When it is due.
    pub rule: Rule,
    /// What it wants done.
    pub payload: Payload,
    /// Whether it comes due at all.
    pub is_enabled: bool,
    /// What becomes of times that nobody saw come.
    pub if_missed: IfMissed,
    /// What becomes of times that come while earlier work is open.
    pub overlap: Overlap,
    /// When it is due next.
    pub next_due_at: Option<DateTime<Utc>>,
    /// When it was made.
    pub created_at: DateTime<Utc>,
    /// When it last changed.
    pub updated_at: DateTime<Utc>,
}

/// Schedules.
#[async_trait]
pub trait ScheduleStore {
    /// Adds a schedule; false if its owner has one of that name in its project.
    async fn schedule_insert(&mut self, schedule: &Schedule) -> Result<bool, Error>;
    /// The schedule with this id.
    async fn schedule_get(&mut self, id: ScheduleId) -> Result<Option<Schedule>, Error>;
    /// The schedule with this id, locked until the transaction ends.
    async fn schedule_lock(&mut self, id: ScheduleId) -> Result<Option<Schedule>, Error>;
    /// The owner's schedules with this name, in whatever project.
    async fn schedule_named(&mut self, owner: UserId, name: &str) -> Result<Vec<Schedule>, Error>;
    /// A page of schedules, newest first, older than `before`; of one owner and project, or of all.
    /// Those that this version cannot read are left out.
    async fn schedule_list(
        &mut self,
        (owner, project): (Option<UserId>, Option<ProjectId>),
        before: Option<ScheduleId>,
        limit: u32,
    ) -> Result<Vec<Schedule>, Error>;
    /// How many schedules a user has.
    async fn schedule_count(&mut self, owner: UserId) -> Result<u32, Error>;
    /// Writes what can change of a schedule; owner and project stay. A taken name is a duplicate.
    async fn schedule_update(&mut self, schedule: &Schedule) -> Result<(), Error>;
    /// Deletes a schedule and its runs; their tasks stay. False if there is none.
    async fn schedule_delete(&mut self, id: ScheduleId) -> Result<bool, Error>;
}

#[async_trait]
impl ScheduleStore for Tx {
    async fn schedule_insert(&mut self, schedule: &Schedule) -> Result<bool, Error> {
        let sql = "INSERT INTO schedules (id, owner_id, project_id, name, timing, time_zone,
                   anchor_at, payload, is_enabled, if_missed, overlap, next_due_at, created_at,
                   updated_at)
                   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
                   ON CONFLICT DO NOTHING";
        let params = params![
            schedule.id,
            schedule.owner,
            schedule.project,
            &schedule.name,
            json!(schedule.rule.timing),
            schedule.rule.zone.to_string(),
            schedule.rule.anchor,
            json!(schedule.payload),
            schedule.is_enabled,
            schedule.if_missed.as_str(),
            schedule.overlap.as_str(),
            schedule.next_due_at,
            schedule.created_at,
            schedule.updated_at,
        ];
        Ok(self.execute(sql, params).await? == 1)
    }

    async fn schedule_get(&mut self, id: ScheduleId) -> Result<Option<Schedule>, Error> {
        let sql = "SELECT * FROM schedules WHERE id = $1";
        self.one(&tables::SCHEDULES, sql, params![id], schedule).await
    }

    async fn schedule_lock(&mut self, id: ScheduleId) -> Result<Option<Schedule>, Error> {
        let sql = "SELECT * FROM schedules WHERE id = $1 /*pg FOR UPDATE */";
        self.one(&tables::SCHEDULES, sql, params![id], schedule).await
    }

    async fn schedule_named(&mut self, owner: UserId, name: &str) -> Result<Vec<Schedule>, Error> {
        let sql = "SELECT * FROM schedules WHERE owner_id = $1 AND name = $2 ORDER BY id LIMIT 10";
        self.list(&tables::SCHEDULES, sql, params![owner, name], schedule).await
    }

    async fn schedule_list(
        &mut self,
        (owner, project): (Option<UserId>, Option<ProjectId>),
        before: Option<ScheduleId>,
        limit: u32,
    ) -> Result<Vec<Schedule>, Error> {
        let sql = "SELECT * FROM schedules
                   WHERE ($1 /*pg ::uuid */ IS NULL OR owner_id = $1)
                   AND ($2 /*pg ::uuid */ IS NULL OR project_id = $2)
                   AND ($3 /*pg ::uuid */ IS NULL OR id < $3)
                   ORDER BY id DESC LIMIT $4";
        let params = params![owner, project, before, limit];
        self.page(&tables::SCHEDULES, sql, params, schedule).await
    }

    async fn schedule_count(&mut self, owner: UserId) -> Result<u32, Error> {
        let sql = "SELECT count(*) AS found FROM schedules WHERE owner_id = $1";
        self.row(sql, params![owner]).await?.map_or(Ok(0), |row| row.count("found"))
    }

    async fn schedule_update(&mut self, schedule: &Schedule) -> Result<(), Error> {
        let sql = "UPDATE schedules SET name = $2, timing = $3, time_zone = $4, anchor_at = $5,
                   payload = $6, is_enabled = $7, if_missed = $8, overlap = $9, next_due_at = $10,
                   updated_at = $11 WHERE id = $1";
        let params = params![
            schedule.id,
            &schedule.name,
            json!(schedule.rule.timing),
            schedule.rule.zone.to_string(),
            schedule.rule.anchor,
            json!(schedule.payload),
            schedule.is_enabled,
            schedule.if_missed.as_str(),
            schedule.overlap.as_str(),
            schedule.next_due_at,
            schedule.updated_at,
        ];
        self.execute(sql, params).await.map(drop)
    }

    async fn schedule_delete(&mut self, id: ScheduleId) -> Result<bool, Error> {
        let sql = "DELETE FROM schedules WHERE id = $1";
        Ok(self.execute(sql, params![id]).await? == 1)
    }
}

pub(crate) fn schedule(row: &Row) -> Result<Schedule, Error> {
    Ok(Schedule {
        id: row.id("id")?,
        owner: row.id("owner_id")?,
        project: row.id("project_id")?,
        name: row.get("name")?,
        rule: Rule {
            timing: row.json("timing")?,
            zone: row.word("time_zone")?,
            anchor: row.get("anchor_at")?,
        },
        payload: row.json("payload")?,
        is_enabled: row.get("is_enabled")?,
        if_missed: row.word("if_missed")?,
        overlap: row.word("overlap")?,
        next_due_at: row.get("next_due_at")?,
        created_at: row.get("created_at")?,
        updated_at: row.get("updated_at")?,
    })
}
