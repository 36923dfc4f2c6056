-- Programs of other vendors that work as agents. A deleted profile keeps its row: a later one with its name continues its
-- revisions, so that a canary run never admits another program.
CREATE TABLE agent_profiles (
    id uuid PRIMARY KEY,
    name text COLLATE "C" NOT NULL UNIQUE,
    revision bigint NOT NULL,
    -- Description, program and hosts.
    spec json NOT NULL,
    created_by uuid NOT NULL REFERENCES users (id),
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    deleted_at timestamptz
);

-- The newest canary run of each revision of a profile on each node.
CREATE TABLE agent_canaries (
    profile_id uuid NOT NULL REFERENCES agent_profiles (id),
    revision bigint NOT NULL,
    node_id uuid NOT NULL REFERENCES nodes (id),
    is_passed boolean NOT NULL,
    report json NOT NULL,
    job_id uuid NOT NULL,
    task_id uuid NOT NULL,
    reported_at timestamptz NOT NULL,
    PRIMARY KEY (profile_id, revision, node_id)
);
