-- Programs of other vendors that work as agents. A deleted profile keeps its row: a later one with its name continues its
-- revisions, so that a canary run never admits another program.
CREATE TABLE agent_profiles (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    revision INTEGER NOT NULL,
    -- Description, program and hosts.
    spec TEXT NOT NULL,
    created_by TEXT NOT NULL REFERENCES users (id),
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    deleted_at INTEGER
);

-- The newest canary run of each revision of a profile on each node.
CREATE TABLE agent_canaries (
    profile_id TEXT NOT NULL REFERENCES agent_profiles (id),
    revision INTEGER NOT NULL,
    node_id TEXT NOT NULL REFERENCES nodes (id),
    is_passed INTEGER NOT NULL,
    report TEXT NOT NULL,
    job_id TEXT NOT NULL,
    task_id TEXT NOT NULL,
    reported_at INTEGER NOT NULL,
    PRIMARY KEY (profile_id, revision, node_id)
);
