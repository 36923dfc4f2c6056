//! Events of the outbox that notify people, and the position up to which they were turned into deliveries.

use cynode_domain::event_cursor::EventCursor;
use cynode_domain::ids::UserId;

use crate::events::event;
use crate::quarantine::tables;
use crate::{Error, OutboxEvent, Tx};
use cynode_sql::Row;
use cynode_sql::{Param, params};

/// Events that notify people. The index `events_notable` has the same condition.
const NOTABLE: &str = "kind IN ('run.asked', 'request.waiting', 'agent.needs_person', \
                       'agent.report_given_up', 'tool.changed', 'task.closed')";

impl Tx {
    /// Whether there is a channel at all.
    pub async fn notice_channel_exists(&mut self) -> Result<bool, Error> {
        Ok(self.row("SELECT id FROM notice_channels LIMIT 1", &[]).await?.is_some())
    }

    /// The newest event that was turned into deliveries.
    pub async fn notice_cursor(&mut self) -> Result<EventCursor, Error> {
        let sql = "SELECT event_txid, event_seq FROM notice_cursor WHERE id = 1";
        let row = self.row(sql, &[]).await?;
        let position = |row: Row| {
            let (transaction, sequence) = (row.get("event_txid")?, row.get("event_seq")?);
            Ok(EventCursor { transaction, sequence })
        };
        row.map_or(Ok(EventCursor::default()), position)
    }

    /// Moves the cursor; returns false if another process moved it.
    pub async fn notice_cursor_advance(
        &mut self,
        from: EventCursor,
        to: EventCursor,
    ) -> Result<bool, Error> {
        let sql = "UPDATE notice_cursor SET event_txid = $3, event_seq = $4
                   WHERE id = 1 AND event_txid = $1 AND event_seq = $2";
        let params = params![from.transaction, from.sequence, to.transaction, to.sequence];
        Ok(self.execute(sql, params).await? == 1)
    }

    /// Lists events after `cursor` that notify people, in order, with their owners.
    pub async fn notice_events(
        &mut self,
        cursor: EventCursor,
        limit: u32,
    ) -> Result<Vec<(OutboxEvent, Option<UserId>)>, Error> {
        let (sql, params) = notable_statement(cursor, limit);
        let decode = |row: &Row| Ok((event(row)?, row.id_opt("owner_id")?));
        self.page(&tables::EVENTS, &sql, &params, decode).await
    }

    /// Returns the query plan of the engine.
    pub async fn notice_events_plan(&mut self) -> Result<String, Error> {
        let (sql, params) = notable_statement(EventCursor::default(), 100);
        self.plan(&sql, &params).await
    }
}

fn notable_statement(cursor: EventCursor, limit: u32) -> (String, Vec<Param>) {
    let sql = format!(
        "SELECT * FROM committed_events WHERE {NOTABLE} AND (txid, seq) > ($1, $2)
         ORDER BY txid, seq LIMIT $3"
    );
    (sql, vec![cursor.transaction.into(), cursor.sequence.into(), limit.into()])
}
