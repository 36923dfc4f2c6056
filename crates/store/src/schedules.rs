//! Schedules.
//!
//! Invariant: a paused schedule has no next due time, so a query by that time never returns it.

use chrono::{DateTime, Utc};
use cynode_domain::ids::{ProjectId, ScheduleId, UserId};
use cynode_domain::schedule::{IfMissed, Overlap, SchedulePayload, ScheduleRule};
use serde_json::json;

use crate::quarantine::tables;
use crate::{Error, Tx};
use cynode_sql::Row;
use cynode_sql::params;

/// A schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schedule {
    pub id: ScheduleId,
    pub owner: UserId,
    /// The project in which its tasks are created.
    pub project: ProjectId,
    /// Unique per owner and project.
    pub name: String,
    /// The recurrence rule.
    pub rule: ScheduleRule,
    /// The work to do.
    pub payload: SchedulePayload,
    pub is_enabled: bool,
    /// The policy for due times that passed while no process was running.
    pub if_missed: IfMissed,
    /// The policy for due times at which earlier work is still open.
    pub overlap: Overlap,
    pub next_due_at: Option<DateTime<Utc>>,
    pub created_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
}

impl Tx {
    /// Adds a schedule; returns false if its owner has one of that name in the project.
    pub async fn schedule_insert(&mut self, schedule: &Schedule) -> Result<bool, Error> {
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

    pub async fn schedule_get(&mut self, id: ScheduleId) -> Result<Option<Schedule>, Error> {
        let sql = "SELECT * FROM schedules WHERE id = $1";
        self.one(&tables::SCHEDULES, sql, params![id], schedule).await
    }

    /// Returns the schedule, locked until the transaction ends.
    pub async fn schedule_lock(&mut self, id: ScheduleId) -> Result<Option<Schedule>, Error> {
        let sql = "SELECT * FROM schedules WHERE id = $1 /*pg FOR UPDATE */";
        self.one(&tables::SCHEDULES, sql, params![id], schedule).await
    }

    /// Lists the owner's schedules with this name, in any project.
    pub async fn schedule_list_by_name(
        &mut self,
        owner: UserId,
        name: &str,
    ) -> Result<Vec<Schedule>, Error> {
        let sql = "SELECT * FROM schedules WHERE owner_id = $1 AND name = $2 ORDER BY id LIMIT 10";
        self.list(&tables::SCHEDULES, sql, params![owner, name], schedule).await
    }

    /// Lists a page of schedules, newest first, older than `before`; of one owner and project, or of all.
    /// Undecodable rows are skipped.
    pub async fn schedule_list(
        &mut self,
        owner: Option<UserId>,
        project: Option<ProjectId>,
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

    /// Counts the schedules of a user.
    pub async fn schedule_count(&mut self, owner: UserId) -> Result<u32, Error> {
        let sql = "SELECT count(*) AS found FROM schedules WHERE owner_id = $1";
        self.row(sql, params![owner]).await?.map_or(Ok(0), |row| row.count("found"))
    }

    /// Updates a schedule, except owner and project. A taken name is an [`Error::Duplicate`].
    pub async fn schedule_update(&mut self, schedule: &Schedule) -> Result<(), Error> {
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

    /// Deletes a schedule and its runs, but not their tasks. Returns false if it does not exist.
    pub async fn schedule_delete(&mut self, id: ScheduleId) -> Result<bool, Error> {
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
        rule: ScheduleRule {
            timing: row.json("timing")?,
            zone: row.keyword("time_zone")?,
            anchor: row.get("anchor_at")?,
        },
        payload: row.json("payload")?,
        is_enabled: row.get("is_enabled")?,
        if_missed: row.keyword("if_missed")?,
        overlap: row.keyword("overlap")?,
        next_due_at: row.get("next_due_at")?,
        created_at: row.get("created_at")?,
        updated_at: row.get("updated_at")?,
    })
}
