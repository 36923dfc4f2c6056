//! Notifications: channels of users, deliveries, and the position in the outbox up to which there are deliveries.
//!
//! Invariants: an event is turned into deliveries once, in the transaction that advances the cursor past it. One process at
//! a time delivers through a channel ([`NoticeClaim`]). All times are those of the database.

use chrono::{DateTime, Utc};
use cynode_domain::event_cursor::EventCursor;
use cynode_domain::ids::{NoticeChannelId, NoticeDeliveryId, ProjectId, UserId};
use cynode_domain::notice::{ChannelKind, DeliveryStatus, NoticeKind, NoticeMessage};
use serde_json::json;

use crate::quarantine::{not_quarantined, tables};
use crate::{Error, Tx};
use cynode_sql::Row;
use cynode_sql::{Param, params};

/// Where a user is notified. Its address and secret are sealed values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoticeChannel {
    pub id: NoticeChannelId,
    pub owner: UserId,
    /// Unique among the channels of its owner.
    pub name: String,
    pub kind: ChannelKind,
    /// Only events of this project; all projects if absent.
    pub project: Option<ProjectId>,
    pub notices: Vec<NoticeKind>,
    /// The address without its secret parts.
    pub target: String,
    pub is_enabled: bool,
    pub created_at: DateTime<Utc>,
    pub health: ChannelHealth,
}

/// How the attempts of a channel ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChannelHealth {
    /// Failures since the last delivery that succeeded.
    pub failures: u32,
    pub failing_since: Option<DateTime<Utc>>,
    pub last_error: Option<String>,
    pub last_delivered_at: Option<DateTime<Utc>>,
}

/// The right to deliver through a channel, until another process claims it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoticeClaim {
    pub channel: NoticeChannelId,
    pub epoch: i64,
}

/// One notification on its way through one channel.
#[derive(Debug, Clone, PartialEq)]
pub struct NoticeDelivery {
    /// Stays the same for every attempt.
    pub id: NoticeDeliveryId,
    pub channel: NoticeChannelId,
    /// The event that caused it.
    pub event: EventCursor,
    pub message: NoticeMessage,
    pub status: DeliveryStatus,
    /// Attempts that failed.
    pub attempts: u32,
    pub due_at: DateTime<Utc>,
    pub last_error: Option<String>,
    pub created_at: DateTime<Utc>,
    pub finished_at: Option<DateTime<Utc>>,
}

/// Selects deliveries of one user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryFilter {
    pub owner: UserId,
    pub channel: Option<NoticeChannelId>,
    pub status: Option<DeliveryStatus>,
    /// Only deliveries older than this one.
    pub before: Option<NoticeDeliveryId>,
    pub limit: u32,
}

/// When a failed delivery is attempted again, and when the next attempt of its channel is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryDelays {
    /// Absent if the delivery is given up.
    pub delivery_ms: Option<i64>,
    pub channel_ms: i64,
}

/// Channels.
impl Tx {
    /// Adds a channel; returns false if its owner has one of that name.
    pub async fn notice_channel_insert(&mut self, channel: &NoticeChannel) -> Result<bool, Error> {
        let sql =
            "INSERT INTO notice_channels (id, owner_id, name, kind, project_id, notices, target,
                   is_enabled, created_at, attempted_at)
                   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, cynode_now(), cynode_now())
                   ON CONFLICT DO NOTHING";
        let params = params![
            channel.id,
            channel.owner,
            &channel.name,
            channel.kind.as_str(),
            channel.project,
            json!(channel.notices),
            &channel.target,
            channel.is_enabled,
        ];
        Ok(self.execute(sql, params).await? == 1)
    }

    /// Lists the channels of a user, or of all users, by name.
    pub async fn notice_channel_list(
        &mut self,
        owner: Option<UserId>,
    ) -> Result<Vec<NoticeChannel>, Error> {
        let sql = "SELECT * FROM notice_channels WHERE ($1 /*pg ::uuid */ IS NULL OR owner_id = $1)
                   ORDER BY name, id";
        self.list(&tables::NOTICE_CHANNELS, sql, params![owner], channel).await
    }

    pub async fn notice_channel_get(
        &mut self,
        id: NoticeChannelId,
    ) -> Result<Option<NoticeChannel>, Error> {
        let sql = "SELECT * FROM notice_channels WHERE id = $1";
        self.one(&tables::NOTICE_CHANNELS, sql, params![id], channel).await
    }

    /// Lists the enabled channels of a user, and those of the administrators if `with_admins`. Users that are not active
    /// are left out.
    pub async fn notice_channels_of(
        &mut self,
        owner: Option<UserId>,
        with_admins: bool,
    ) -> Result<Vec<NoticeChannel>, Error> {
        let sql = "SELECT c.* FROM notice_channels c JOIN users u ON u.id = c.owner_id
                   WHERE c.is_enabled AND u.is_active AND (c.owner_id = $1 OR ($2 AND u.is_admin))
                   ORDER BY c.id";
        self.list(&tables::NOTICE_CHANNELS, sql, params![owner, with_admins], channel).await
    }

    /// Enables or disables a channel; its next attempt is made at once.
    pub async fn notice_channel_enable(
        &mut self,
        id: NoticeChannelId,
        is_enabled: bool,
    ) -> Result<(), Error> {
        let sql = "UPDATE notice_channels SET is_enabled = $2, retry_at = NULL WHERE id = $1";
        self.execute(sql, params![id, is_enabled]).await.map(drop)
    }

    /// Removes a channel with its deliveries.
    pub async fn notice_channel_delete(&mut self, id: NoticeChannelId) -> Result<(), Error> {
        let sql = "DELETE FROM notice_deliveries WHERE channel_id = $1";
        self.execute(sql, params![id]).await?;
        self.execute("DELETE FROM notice_channels WHERE id = $1", params![id]).await.map(drop)
    }

    /// Whether a channel has a delivery that is due.
    pub async fn notice_has_work(&mut self) -> Result<bool, Error> {
        let sql = format!("SELECT c.id {} LIMIT 1", claimable());
        Ok(self.row(&sql, &[]).await?.is_some())
    }

    /// Claims the channel with a due delivery whose last attempt is longest ago, for `lease_ms` milliseconds.
    pub async fn notice_claim(&mut self, lease_ms: i64) -> Result<Option<NoticeClaim>, Error> {
        let sql = format!(
            "UPDATE notice_channels SET epoch = epoch + 1, claimed_until = cynode_after($1),
                 attempted_at = cynode_now()
             WHERE id = (SELECT c.id {} ORDER BY c.attempted_at LIMIT 1 /*pg FOR UPDATE OF c SKIP LOCKED */)
             RETURNING id, epoch",
            claimable()
        );
        let row = self.row(&sql, params![lease_ms]).await?;
        row.map(|row| Ok(NoticeClaim { channel: row.id("id")?, epoch: row.get("epoch")? }))
            .transpose()
    }

    /// Extends a claim; returns false if it is lost.
    pub async fn notice_extend(
        &mut self,
        claim: NoticeClaim,
        lease_ms: i64,
    ) -> Result<bool, Error> {
        let sql = "UPDATE notice_channels SET claimed_until = cynode_after($3)
                   WHERE id = $1 AND epoch = $2";
        Ok(self.execute(sql, params![claim.channel, claim.epoch, lease_ms]).await? == 1)
    }

    pub async fn notice_release(&mut self, claim: NoticeClaim) -> Result<(), Error> {
        let sql = "UPDATE notice_channels SET claimed_until = NULL WHERE id = $1 AND epoch = $2";
        self.execute(sql, params![claim.channel, claim.epoch]).await.map(drop)
    }
}

/// Deliveries.
impl Tx {
    /// Adds a delivery; returns false if the channel has one for the event, or is removed.
    pub async fn notice_insert(&mut self, delivery: &NoticeDelivery) -> Result<bool, Error> {
        let sql =
            "INSERT INTO notice_deliveries (id, channel_id, event_txid, event_seq, message, status,
                   due_at, created_at)
                   SELECT $1 /*pg ::uuid */, c.id, $3 /*pg ::bigint */, $4 /*pg ::bigint */,
                   $5 /*pg ::json */, 'pending', cynode_now(), cynode_now()
                   FROM notice_channels c WHERE c.id = $2 ON CONFLICT DO NOTHING";
        let params = params![
            delivery.id,
            delivery.channel,
            delivery.event.transaction,
            delivery.event.sequence,
            json!(delivery.message),
        ];
        Ok(self.execute(sql, params).await? == 1)
    }

    /// Returns the delivery of a claimed channel that is due longest.
    pub async fn notice_due(
        &mut self,
        channel: NoticeChannelId,
    ) -> Result<Option<NoticeDelivery>, Error> {
        let readable = not_quarantined("notice_deliveries", "d.id");
        let sql = format!(
            "SELECT d.* FROM notice_deliveries d WHERE d.channel_id = $1 AND d.status = 'pending'
             AND d.due_at <= cynode_now() AND {readable} ORDER BY d.due_at, d.id LIMIT $2"
        );
        let found =
            self.page(&tables::NOTICE_DELIVERIES, &sql, params![channel, 1_i64], delivery).await?;
        Ok(found.into_iter().next())
    }

    /// Records that a delivery succeeded; returns false if the claim is lost.
    pub async fn notice_delivered(
        &mut self,
        claim: NoticeClaim,
        id: NoticeDeliveryId,
    ) -> Result<bool, Error> {
        let sql =
            "UPDATE notice_channels SET failures = 0, failing_since = NULL, last_error = NULL,
                   last_delivered_at = cynode_now(), retry_at = NULL WHERE id = $1 AND epoch = $2";
        if self.execute(sql, params![claim.channel, claim.epoch]).await? != 1 {
            return Ok(false);
        }
        let sql = "UPDATE notice_deliveries SET status = 'delivered', last_error = NULL,
                   finished_at = cynode_now() WHERE id = $1";
        self.execute(sql, params![id]).await?;
        Ok(true)
    }

    /// Records a failed attempt; returns false if the claim is lost.
    pub async fn notice_failed(
        &mut self,
        claim: NoticeClaim,
        id: NoticeDeliveryId,
        reason: &str,
        delays: RetryDelays,
    ) -> Result<bool, Error> {
        let sql = "UPDATE notice_channels SET failures = failures + 1, last_error = $3,
                   failing_since = coalesce(failing_since, cynode_now()), retry_at = cynode_after($4)
                   WHERE id = $1 AND epoch = $2";
        let params = params![claim.channel, claim.epoch, reason, delays.channel_ms];
        if self.execute(sql, params).await? != 1 {
            return Ok(false);
        }
        if let Some(delay) = delays.delivery_ms {
            let sql = "UPDATE notice_deliveries SET attempts = attempts + 1, last_error = $2,
                       due_at = cynode_after($3) WHERE id = $1";
            self.execute(sql, params![id, reason, delay]).await?;
        } else {
            let sql = "UPDATE notice_deliveries SET attempts = attempts + 1, last_error = $2,
                       status = 'dead', finished_at = cynode_now() WHERE id = $1";
            self.execute(sql, params![id, reason]).await?;
        }
        Ok(true)
    }

    /// Lists a page of deliveries, newest first.
    pub async fn notice_list(
        &mut self,
        filter: &DeliveryFilter,
    ) -> Result<Vec<NoticeDelivery>, Error> {
        let mut sql = "SELECT d.* FROM notice_deliveries d
                       JOIN notice_channels c ON c.id = d.channel_id WHERE c.owner_id = $1"
            .to_owned();
        let mut params: Vec<Param> = vec![filter.owner.into()];
        let mut add = |condition: &str, param: Param| {
            params.push(param);
            sql.push_str(&condition.replace("$n", &format!("${}", params.len())));
        };
        if let Some(channel) = filter.channel {
            add(" AND d.channel_id = $n", channel.into());
        }
        if let Some(status) = filter.status {
            add(" AND d.status = $n", status.as_str().into());
        }
        if let Some(before) = filter.before {
            add(" AND d.id < $n", before.into());
        }
        add(" ORDER BY d.id DESC LIMIT $n", filter.limit.into());
        self.page(&tables::NOTICE_DELIVERIES, &sql, &params, delivery).await
    }

    pub async fn notice_get(
        &mut self,
        id: NoticeDeliveryId,
    ) -> Result<Option<NoticeDelivery>, Error> {
        let sql = "SELECT * FROM notice_deliveries WHERE id = $1";
        self.one(&tables::NOTICE_DELIVERIES, sql, params![id], delivery).await
    }

    /// Makes a dead delivery pending again, with all of its attempts; returns false if it is not dead.
    pub async fn notice_retry(&mut self, id: NoticeDeliveryId) -> Result<bool, Error> {
        let sql =
            "UPDATE notice_deliveries SET status = 'pending', attempts = 0, due_at = cynode_now(),
                   created_at = cynode_now(), finished_at = NULL WHERE id = $1 AND status = 'dead'";
        let is_dead = self.execute(sql, params![id]).await? == 1;
        let sql = "UPDATE notice_channels SET retry_at = NULL
                   WHERE id = (SELECT channel_id FROM notice_deliveries WHERE id = $1)";
        self.execute(sql, params![id]).await?;
        Ok(is_dead)
    }

    /// Deletes the dead deliveries of a user, or of one channel; returns their number.
    pub async fn notice_purge(
        &mut self,
        owner: UserId,
        channel: Option<NoticeChannelId>,
    ) -> Result<u64, Error> {
        let sql = "DELETE FROM notice_deliveries WHERE status = 'dead' AND channel_id IN (
                   SELECT id FROM notice_channels WHERE owner_id = $1
                   AND ($2 /*pg ::uuid */ IS NULL OR id = $2))";
        self.execute(sql, params![owner, channel]).await
    }

    /// Gives up deliveries that are pending for longer than `pending_ms`, and deletes those that ended before `ended_ms`.
    pub async fn notice_sweep(&mut self, pending_ms: i64, ended_ms: i64) -> Result<(), Error> {
        let sql = "UPDATE notice_deliveries SET status = 'dead', finished_at = cynode_now(),
                   last_error = coalesce(last_error, 'not delivered in time')
                   WHERE status = 'pending' AND created_at < cynode_after($1)";
        self.execute(sql, params![-pending_ms]).await?;
        let sql = "DELETE FROM notice_deliveries
                   WHERE status IN ('delivered', 'dead') AND finished_at < cynode_after($1)";
        self.execute(sql, params![-ended_ms]).await.map(drop)
    }
}

/// Channels that can be claimed. One that was claimed by a process that died is claimable after its lease.
fn claimable() -> String {
    let readable = not_quarantined("notice_channels", "c.id");
    let readable_delivery = not_quarantined("notice_deliveries", "d.id");
    format!(
        "FROM notice_channels c JOIN users u ON u.id = c.owner_id
         WHERE c.is_enabled AND u.is_active AND {readable}
         AND (c.claimed_until IS NULL OR c.claimed_until <= cynode_now())
         AND (c.retry_at IS NULL OR c.retry_at <= cynode_now())
         AND EXISTS (SELECT 1 FROM notice_deliveries d
             WHERE d.channel_id = c.id AND d.status = 'pending' AND d.due_at <= cynode_now()
             AND {readable_delivery})"
    )
}

pub(crate) fn channel(row: &Row) -> Result<NoticeChannel, Error> {
    Ok(NoticeChannel {
        id: row.id("id")?,
        owner: row.id("owner_id")?,
        name: row.get("name")?,
        kind: row.keyword("kind")?,
        project: row.id_opt("project_id")?,
        notices: row.json("notices")?,
        target: row.get("target")?,
        is_enabled: row.get("is_enabled")?,
        created_at: row.get("created_at")?,
        health: ChannelHealth {
            failures: row.count("failures")?,
            failing_since: row.get("failing_since")?,
            last_error: row.get("last_error")?,
            last_delivered_at: row.get("last_delivered_at")?,
        },
    })
}

pub(crate) fn delivery(row: &Row) -> Result<NoticeDelivery, Error> {
    Ok(NoticeDelivery {
        id: row.id("id")?,
        channel: row.id("channel_id")?,
        event: EventCursor { transaction: row.get("event_txid")?, sequence: row.get("event_seq")? },
        message: row.json("message")?,
        status: row.keyword("status")?,
        attempts: row.count("attempts")?,
        due_at: row.get("due_at")?,
        last_error: row.get("last_error")?,
        created_at: row.get("created_at")?,
        finished_at: row.get("finished_at")?,
    })
}
