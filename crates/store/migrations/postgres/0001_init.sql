-- The first schema. JSON is kept as it was given (json): the output of commands may hold characters
-- that jsonb refuses. What is sorted or compared as text has byte order (COLLATE "C"), as in SQLite,
-- whatever the server's language. Times are read from this database's clock through these two functions; the
-- SQLite backend registers functions of the same names.
CREATE FUNCTION cynode_now() RETURNS timestamptz LANGUAGE sql VOLATILE AS 'SELECT clock_timestamp()';
CREATE FUNCTION cynode_after(milliseconds bigint) RETURNS timestamptz LANGUAGE sql VOLATILE
    AS 'SELECT clock_timestamp() + milliseconds * interval ''1 millisecond''';

CREATE TABLE users (
    id uuid PRIMARY KEY,
    handle text NOT NULL UNIQUE,
    is_admin boolean NOT NULL,
    is_active boolean NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL
);

CREATE TABLE password_credentials (
    user_id uuid PRIMARY KEY REFERENCES users (id),
    password_hash text NOT NULL,
    hash_alg text NOT NULL,
    updated_at timestamptz NOT NULL
);

CREATE TABLE refresh_sessions (
    id uuid PRIMARY KEY,
    user_id uuid NOT NULL REFERENCES users (id),
    refresh_token_hash bytea NOT NULL UNIQUE,
    access_token_hash bytea NOT NULL UNIQUE,
    access_expires_at timestamptz NOT NULL,
    is_active boolean NOT NULL,
    expires_at timestamptz NOT NULL,
    created_at timestamptz NOT NULL,
    last_used_at timestamptz NOT NULL
);
CREATE INDEX refresh_sessions_by_user ON refresh_sessions (user_id);

-- Refresh tokens that were already exchanged: presenting one again ends its session.
CREATE TABLE spent_refresh_tokens (
    refresh_token_hash bytea PRIMARY KEY,
    session_id uuid NOT NULL REFERENCES refresh_sessions (id),
    spent_at timestamptz NOT NULL
);

CREATE TABLE api_tokens (
    id uuid PRIMARY KEY,
    user_id uuid NOT NULL REFERENCES users (id),
    name text NOT NULL,
    token_hash bytea NOT NULL UNIQUE,
    created_at timestamptz NOT NULL,
    expires_at timestamptz,
    revoked_at timestamptz
);
CREATE INDEX api_tokens_by_user ON api_tokens (user_id, id);

CREATE TABLE auth_audit_log (
    id uuid PRIMARY KEY,
    event_type text NOT NULL,
    user_id uuid,
    subject_handle text,
    success boolean NOT NULL,
    ip_address text,
    reason text,
    created_at timestamptz NOT NULL
);

CREATE TABLE projects (
    id uuid PRIMARY KEY,
    slug text NOT NULL UNIQUE,
    display_name text NOT NULL,
    description text NOT NULL,
    owner_id uuid NOT NULL REFERENCES users (id),
    is_default boolean NOT NULL,
    is_active boolean NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL
);
CREATE UNIQUE INDEX projects_one_default ON projects (owner_id) WHERE is_default;
CREATE INDEX projects_by_owner ON projects (owner_id, id);

CREATE TABLE tasks (
    id uuid PRIMARY KEY,
    created_by uuid NOT NULL REFERENCES users (id),
    project_id uuid NOT NULL REFERENCES projects (id),
    plan_id uuid,
    name text COLLATE "C" NOT NULL,
    status text NOT NULL,
    closed boolean NOT NULL,
    input_mode text NOT NULL,
    prompt text NOT NULL,
    commands json NOT NULL,
    acceptance_criteria json NOT NULL,
    options json NOT NULL,
    summary text,
    idempotency_key text,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    started_at timestamptz,
    ended_at timestamptz,
    UNIQUE (created_by, name),
    UNIQUE (created_by, idempotency_key)
);
CREATE INDEX tasks_by_creator ON tasks (created_by, id);
CREATE INDEX tasks_by_project ON tasks (project_id, id);
CREATE INDEX tasks_open ON tasks (status) WHERE NOT closed;

CREATE TABLE task_dependencies (
    task_id uuid NOT NULL REFERENCES tasks (id),
    depends_on_task_id uuid NOT NULL REFERENCES tasks (id),
    PRIMARY KEY (task_id, depends_on_task_id),
    CHECK (task_id <> depends_on_task_id)
);
CREATE INDEX task_dependencies_reverse ON task_dependencies (depends_on_task_id);

CREATE TABLE runs (
    id uuid PRIMARY KEY,
    task_id uuid NOT NULL REFERENCES tasks (id),
    trace_id uuid NOT NULL,
    status text NOT NULL,
    -- True while a runner may drive it; what claims look at.
    runnable boolean NOT NULL,
    created_at timestamptz NOT NULL,
    started_at timestamptz,
    ended_at timestamptz
);
CREATE INDEX runs_by_task ON runs (task_id, id);
CREATE INDEX runs_runnable ON runs (id) WHERE runnable;

CREATE TABLE task_workflow_leases (
    id uuid PRIMARY KEY,
    task_id uuid NOT NULL UNIQUE REFERENCES tasks (id),
    run_id uuid NOT NULL REFERENCES runs (id),
    lease_id uuid NOT NULL,
    -- Null: free.
    holder_id uuid,
    -- Grows with every grant and every fencing; a writer with an older one is refused.
    epoch bigint NOT NULL,
    expires_at timestamptz,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL
);

CREATE TABLE workflow_checkpoints (
    id uuid PRIMARY KEY,
    task_id uuid NOT NULL UNIQUE REFERENCES tasks (id),
    run_id uuid NOT NULL REFERENCES runs (id),
    state json NOT NULL,
    last_node_id text NOT NULL,
    edge text NOT NULL,
    sequence bigint NOT NULL,
    updated_at timestamptz NOT NULL
);
CREATE INDEX workflow_checkpoints_by_time ON workflow_checkpoints (updated_at);

CREATE TABLE workflow_history (
    run_id uuid NOT NULL REFERENCES runs (id),
    sequence bigint NOT NULL,
    task_id uuid NOT NULL,
    node_id text NOT NULL,
    edge text NOT NULL,
    step_index bigint,
    job_id uuid,
    state json NOT NULL,
    epoch bigint NOT NULL,
    duration_ms bigint NOT NULL,
    recorded_at timestamptz NOT NULL,
    PRIMARY KEY (run_id, sequence)
);

CREATE TABLE workflow_effects (
    run_id uuid NOT NULL REFERENCES runs (id),
    key text COLLATE "C" NOT NULL,
    -- The transition during which it happened; older ones are history.
    sequence bigint NOT NULL,
    answer json NOT NULL,
    recorded_at timestamptz NOT NULL,
    PRIMARY KEY (run_id, key)
);

CREATE TABLE nodes (
    id uuid PRIMARY KEY,
    node_slug text COLLATE "C" NOT NULL UNIQUE,
    status text NOT NULL,
    token_hash bytea NOT NULL UNIQUE,
    capabilities json NOT NULL,
    sandbox_supported boolean NOT NULL,
    max_concurrency bigint NOT NULL,
    last_seen_at timestamptz,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL
);

CREATE TABLE jobs (
    id uuid PRIMARY KEY,
    task_id uuid NOT NULL REFERENCES tasks (id),
    run_id uuid NOT NULL REFERENCES runs (id),
    step_index bigint NOT NULL,
    attempt bigint NOT NULL,
    status text NOT NULL,
    closed boolean NOT NULL,
    node_id uuid REFERENCES nodes (id),
    -- The node that has the task's workspace; null until a first job ran.
    pinned_node_id uuid REFERENCES nodes (id),
    payload json NOT NULL,
    result json,
    cancel_requested boolean NOT NULL,
    -- Whether its node has said that it has it; from then on it is never handed out again.
    acknowledged boolean NOT NULL,
    lease_expires_at timestamptz,
    created_at timestamptz NOT NULL,
    started_at timestamptz,
    ended_at timestamptz,
    UNIQUE (run_id, step_index, attempt)
);
CREATE INDEX jobs_by_task ON jobs (task_id, id);
CREATE INDEX jobs_open ON jobs (node_id, id) WHERE NOT closed;

CREATE TABLE job_logs (
    job_id uuid NOT NULL REFERENCES jobs (id),
    stream text NOT NULL,
    start_offset bigint NOT NULL,
    data bytea NOT NULL,
    PRIMARY KEY (job_id, stream, start_offset)
);

CREATE TABLE task_artifacts (
    id uuid PRIMARY KEY,
    task_id uuid NOT NULL REFERENCES tasks (id),
    job_id uuid REFERENCES jobs (id),
    kind text COLLATE "C" NOT NULL,
    path text COLLATE "C" NOT NULL,
    size_bytes bigint NOT NULL,
    checksum_sha256 text NOT NULL,
    created_at timestamptz NOT NULL,
    UNIQUE (task_id, kind, path)
);

-- The outbox. Readers go by (txid, seq) and stop before the oldest transaction that is
-- still open, so that a slow commit is never skipped (ADR 6).
CREATE TABLE events (
    txid bigint NOT NULL DEFAULT (pg_current_xact_id()::text::bigint),
    seq bigint GENERATED ALWAYS AS IDENTITY,
    kind text NOT NULL,
    owner_id uuid,
    project_id uuid,
    task_id uuid,
    run_id uuid,
    job_id uuid,
    data json NOT NULL,
    occurred_at timestamptz NOT NULL,
    PRIMARY KEY (txid, seq)
);
CREATE INDEX events_by_task ON events (task_id, txid, seq);

CREATE VIEW committed_events AS
    SELECT * FROM events
    WHERE txid < pg_snapshot_xmin(pg_current_snapshot())::text::bigint;
