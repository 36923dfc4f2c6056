-- Secrets outside of other tables, encrypted. The name says what a value belongs to, and is bound to it.
CREATE TABLE sealed_values (
    name TEXT PRIMARY KEY,
    key_id TEXT NOT NULL,
    sealed BLOB NOT NULL
);

-- Where users are notified. Address and secret are sealed.
CREATE TABLE notice_channels (
    id TEXT PRIMARY KEY,
    owner_id TEXT NOT NULL REFERENCES users (id),
    name TEXT NOT NULL,
    kind TEXT NOT NULL,
    -- Only events of this project; all projects if absent.
    project_id TEXT REFERENCES projects (id),
    -- The kinds of notifications.
    notices TEXT NOT NULL,
    -- The address without its secret parts.
    target TEXT NOT NULL,
    is_enabled INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    -- Failures since the last delivery that succeeded.
    failures INTEGER NOT NULL DEFAULT 0,
    failing_since INTEGER,
    last_error TEXT,
    last_delivered_at INTEGER,
    -- The process that delivers, and until when. The epoch fences an earlier one.
    epoch INTEGER NOT NULL DEFAULT 0,
    claimed_until INTEGER,
    attempted_at INTEGER NOT NULL,
    -- No attempt before this time, after a failure.
    retry_at INTEGER,
    UNIQUE (owner_id, name)
);

CREATE TABLE notice_deliveries (
    id TEXT PRIMARY KEY,
    channel_id TEXT NOT NULL REFERENCES notice_channels (id) ON DELETE CASCADE,
    -- The event that caused it.
    event_txid INTEGER NOT NULL,
    event_seq INTEGER NOT NULL,
    message TEXT NOT NULL,
    status TEXT NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    due_at INTEGER NOT NULL,
    last_error TEXT,
    created_at INTEGER NOT NULL,
    finished_at INTEGER,
    UNIQUE (channel_id, event_txid, event_seq)
);
CREATE INDEX notice_deliveries_due ON notice_deliveries (channel_id, due_at) WHERE status = 'pending';
CREATE INDEX notice_deliveries_finished ON notice_deliveries (status, finished_at) WHERE finished_at IS NOT NULL;

-- The newest event that was turned into deliveries.
CREATE TABLE notice_cursor (
    id INTEGER PRIMARY KEY,
    event_txid INTEGER NOT NULL,
    event_seq INTEGER NOT NULL
);
INSERT INTO notice_cursor VALUES (1, 0, 0);

-- The events that notify people.
CREATE INDEX events_notable ON events (txid, seq)
    WHERE kind IN ('run.asked', 'request.waiting', 'agent.needs_person', 'agent.report_given_up', 'tool.changed', 'task.closed');
