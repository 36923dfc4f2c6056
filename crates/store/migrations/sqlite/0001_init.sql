-- The first schema. Ids are lowercase UUID text, times are microseconds since 1970, JSON is text.
-- The connection registers cynode_now() and cynode_after(milliseconds).

CREATE TABLE users (
    id TEXT PRIMARY KEY,
    handle TEXT NOT NULL UNIQUE,
    is_admin INTEGER NOT NULL,
    is_active INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
);

CREATE TABLE password_credentials (
    user_id TEXT PRIMARY KEY REFERENCES users (id),
    password_hash TEXT NOT NULL,
    hash_alg TEXT NOT NULL,
    updated_at INTEGER NOT NULL
);

CREATE TABLE refresh_sessions (
    id TEXT PRIMARY KEY,
    user_id TEXT NOT NULL REFERENCES users (id),
    refresh_token_hash BLOB NOT NULL UNIQUE,
    access_token_hash BLOB NOT NULL UNIQUE,
    access_expires_at INTEGER NOT NULL,
    is_active INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    last_used_at INTEGER NOT NULL
);
CREATE INDEX refresh_sessions_by_user ON refresh_sessions (user_id);

-- Refresh tokens that were already exchanged: presenting one again ends its session.
CREATE TABLE spent_refresh_tokens (
    refresh_token_hash BLOB PRIMARY KEY,
    session_id TEXT NOT NULL REFERENCES refresh_sessions (id),
    spent_at INTEGER NOT NULL
);

CREATE TABLE api_tokens (
    id TEXT PRIMARY KEY,
    user_id TEXT NOT NULL REFERENCES users (id),
    name TEXT NOT NULL,
    token_hash BLOB NOT NULL UNIQUE,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    revoked_at INTEGER
);
CREATE INDEX api_tokens_by_user ON api_tokens (user_id, id);

CREATE TABLE auth_audit_log (
    id TEXT PRIMARY KEY,
    event_type TEXT NOT NULL,
    user_id TEXT,
    subject_handle TEXT,
    success INTEGER NOT NULL,
    ip_address TEXT,
    reason TEXT,
    created_at INTEGER NOT NULL
);

CREATE TABLE projects (
    id TEXT PRIMARY KEY,
    slug TEXT NOT NULL UNIQUE,
    display_name TEXT NOT NULL,
    description TEXT NOT NULL,
    owner_id TEXT NOT NULL REFERENCES users (id),
    is_default INTEGER NOT NULL,
    is_active INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
);
CREATE UNIQUE INDEX projects_one_default ON projects (owner_id) WHERE is_default;
CREATE INDEX projects_by_owner ON projects (owner_id, id);

CREATE TABLE tasks (
    id TEXT PRIMARY KEY,
    created_by TEXT NOT NULL REFERENCES users (id),
    project_id TEXT NOT NULL REFERENCES projects (id),
    plan_id TEXT,
    name TEXT NOT NULL,
    status TEXT NOT NULL,
    closed INTEGER NOT NULL,
    input_mode TEXT NOT NULL,
    prompt TEXT NOT NULL,
    commands TEXT NOT NULL,
    acceptance_criteria TEXT NOT NULL,
    options TEXT NOT NULL,
    summary TEXT,
    idempotency_key TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    started_at INTEGER,
    ended_at INTEGER,
    UNIQUE (created_by, name),
    UNIQUE (created_by, idempotency_key)
);
CREATE INDEX tasks_by_creator ON tasks (created_by, id);
CREATE INDEX tasks_by_project ON tasks (project_id, id);
CREATE INDEX tasks_open ON tasks (status) WHERE NOT closed;

CREATE TABLE task_dependencies (
    task_id TEXT NOT NULL REFERENCES tasks (id),
    depends_on_task_id TEXT NOT NULL REFERENCES tasks (id),
    PRIMARY KEY (task_id, depends_on_task_id),
    CHECK (task_id <> depends_on_task_id)
);
CREATE INDEX task_dependencies_reverse ON task_dependencies (depends_on_task_id);

CREATE TABLE runs (
    id TEXT PRIMARY KEY,
    task_id TEXT NOT NULL REFERENCES tasks (id),
    trace_id TEXT NOT NULL,
    status TEXT NOT NULL,
    -- True while a runner may drive it; what claims look at.
    runnable INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    started_at INTEGER,
    ended_at INTEGER
);
CREATE INDEX runs_by_task ON runs (task_id, id);
CREATE INDEX runs_runnable ON runs (id) WHERE runnable;

CREATE TABLE task_workflow_leases (
    id TEXT PRIMARY KEY,
    task_id TEXT NOT NULL UNIQUE REFERENCES tasks (id),
    run_id TEXT NOT NULL REFERENCES runs (id),
    lease_id TEXT NOT NULL,
    -- Null: free.
    holder_id TEXT,
    -- Grows with every grant and every fencing; a writer with an older one is refused.
    epoch INTEGER NOT NULL,
    expires_at INTEGER,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
);

CREATE TABLE workflow_checkpoints (
    id TEXT PRIMARY KEY,
    task_id TEXT NOT NULL UNIQUE REFERENCES tasks (id),
    run_id TEXT NOT NULL REFERENCES runs (id),
    state TEXT NOT NULL,
    last_node_id TEXT NOT NULL,
    edge TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
);
CREATE INDEX workflow_checkpoints_by_time ON workflow_checkpoints (updated_at);

CREATE TABLE workflow_history (
    run_id TEXT NOT NULL REFERENCES runs (id),
    sequence INTEGER NOT NULL,
    task_id TEXT NOT NULL,
    node_id TEXT NOT NULL,
    edge TEXT NOT NULL,
    step_index INTEGER,
    job_id TEXT,
    state TEXT NOT NULL,
    epoch INTEGER NOT NULL,
    duration_ms INTEGER NOT NULL,
    recorded_at INTEGER NOT NULL,
    PRIMARY KEY (run_id, sequence)
);

CREATE TABLE workflow_effects (
    run_id TEXT NOT NULL REFERENCES runs (id),
    key TEXT NOT NULL,
    -- The transition during which it happened; older ones are history.
    sequence INTEGER NOT NULL,
    answer TEXT NOT NULL,
    recorded_at INTEGER NOT NULL,
    PRIMARY KEY (run_id, key)
);

CREATE TABLE nodes (
    id TEXT PRIMARY KEY,
    node_slug TEXT NOT NULL UNIQUE,
    status TEXT NOT NULL,
    token_hash BLOB NOT NULL UNIQUE,
    capabilities TEXT NOT NULL,
    sandbox_supported INTEGER NOT NULL,
    max_concurrency INTEGER NOT NULL,
    last_seen_at INTEGER,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
);

CREATE TABLE jobs (
    id TEXT PRIMARY KEY,
    task_id TEXT NOT NULL REFERENCES tasks (id),
    run_id TEXT NOT NULL REFERENCES runs (id),
    step_index INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    status TEXT NOT NULL,
    closed INTEGER NOT NULL,
    node_id TEXT REFERENCES nodes (id),
    -- The node that has the task's workspace; null until a first job ran.
    pinned_node_id TEXT REFERENCES nodes (id),
    payload TEXT NOT NULL,
    result TEXT,
    cancel_requested INTEGER NOT NULL,
    -- Whether its node has said that it has it; from then on it is never handed out again.
    acknowledged INTEGER NOT NULL,
    lease_expires_at INTEGER,
    created_at INTEGER NOT NULL,
    started_at INTEGER,
    ended_at INTEGER,
    UNIQUE (run_id, step_index, attempt)
);
CREATE INDEX jobs_by_task ON jobs (task_id, id);
CREATE INDEX jobs_open ON jobs (node_id, id) WHERE NOT closed;

CREATE TABLE job_logs (
    job_id TEXT NOT NULL REFERENCES jobs (id),
    stream TEXT NOT NULL,
    start_offset INTEGER NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (job_id, stream, start_offset)
);

CREATE TABLE task_artifacts (
    id TEXT PRIMARY KEY,
    task_id TEXT NOT NULL REFERENCES tasks (id),
    job_id TEXT REFERENCES jobs (id),
    kind TEXT NOT NULL,
    path TEXT NOT NULL,
    size_bytes INTEGER NOT NULL,
    checksum_sha256 TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    UNIQUE (task_id, kind, path)
);

-- The outbox. One writer at a time, so the sequence is the order of commits (ADR 6).
CREATE TABLE events (
    txid INTEGER NOT NULL DEFAULT 0,
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL,
    owner_id TEXT,
    project_id TEXT,
    task_id TEXT,
    run_id TEXT,
    job_id TEXT,
    data TEXT NOT NULL,
    occurred_at INTEGER NOT NULL
);
CREATE INDEX events_in_order ON events (txid, seq);
CREATE INDEX events_by_task ON events (task_id, txid, seq);

CREATE VIEW committed_events AS SELECT * FROM events;
