-- Secrets outside of other tables, encrypted. The name says what a value belongs to, and is bound to it.
CREATE TABLE sealed_values (
    name text PRIMARY KEY,
    key_id text NOT NULL,
    sealed bytea NOT NULL
);

-- Where users are notified. Address and secret are sealed.
CREATE TABLE notice_channels (
    id uuid PRIMARY KEY,
    owner_id uuid NOT NULL REFERENCES users (id),
    name text NOT NULL,
    kind text NOT NULL,
    -- Only events of this project; all projects if absent.
    project_id uuid REFERENCES projects (id),
    -- The kinds of notifications.
    notices json NOT NULL,
    -- The address without its secret parts.
    target text NOT NULL,
    is_enabled boolean NOT NULL,
    created_at timestamptz NOT NULL,
    -- Failures since the last delivery that succeeded.
    failures bigint NOT NULL DEFAULT 0,
    failing_since timestamptz,
    last_error text,
    last_delivered_at timestamptz,
    -- The process that delivers, and until when. The epoch fences an earlier one.
    epoch bigint NOT NULL DEFAULT 0,
    claimed_until timestamptz,
    attempted_at timestamptz NOT NULL,
    -- No attempt before this time, after a failure.
    retry_at timestamptz,
    UNIQUE (owner_id, name)
);

CREATE TABLE notice_deliveries (
    id uuid PRIMARY KEY,
    channel_id uuid NOT NULL REFERENCES notice_channels (id) ON DELETE CASCADE,
    -- The event that caused it.
    event_txid bigint NOT NULL,
    event_seq bigint NOT NULL,
    message json NOT NULL,
    status text NOT NULL,
    attempts bigint NOT NULL DEFAULT 0,
    due_at timestamptz NOT NULL,
    last_error text,
    created_at timestamptz NOT NULL,
    finished_at timestamptz,
    UNIQUE (channel_id, event_txid, event_seq)
);
CREATE INDEX notice_deliveries_due ON notice_deliveries (channel_id, due_at) WHERE status = 'pending';
CREATE INDEX notice_deliveries_finished ON notice_deliveries (status, finished_at) WHERE finished_at IS NOT NULL;

-- The newest event that was turned into deliveries.
CREATE TABLE notice_cursor (
    id bigint PRIMARY KEY,
    event_txid bigint NOT NULL,
    event_seq bigint NOT NULL
);
INSERT INTO notice_cursor VALUES (1, 0, 0);

-- The events that notify people.
CREATE INDEX events_notable ON events (txid, seq)
    WHERE kind IN ('run.asked', 'request.waiting', 'agent.needs_person', 'agent.report_given_up', 'tool.changed', 'task.closed');
