-- The MCP gateway: who holds tokens, which tools exist, what the rules are, and the record of every
-- call.

CREATE TABLE agent_tokens (
    id uuid PRIMARY KEY,
    token_hash bytea NOT NULL UNIQUE,
    agent_type text NOT NULL,
    user_id uuid NOT NULL REFERENCES users (id),
    -- What the token is bound to; rows it names may be gone.
    project_id uuid,
    task_id uuid,
    run_id uuid,
    job_id uuid,
    session_id uuid,
    name text NOT NULL,
    created_by uuid NOT NULL REFERENCES users (id),
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    revoked_at timestamptz
);
CREATE INDEX agent_tokens_by_user ON agent_tokens (user_id, id);
CREATE INDEX agent_tokens_by_job ON agent_tokens (job_id) WHERE job_id IS NOT NULL;
CREATE INDEX agent_tokens_by_end ON agent_tokens (expires_at);

CREATE TABLE mcp_servers (
    id uuid PRIMARY KEY,
    slug text COLLATE "C" NOT NULL UNIQUE,
    owner_id uuid NOT NULL REFERENCES users (id),
    transport text NOT NULL,
    -- Holds secrets: values of variables and headers.
    config json NOT NULL,
    scope text NOT NULL,
    enabled boolean NOT NULL,
    last_error text,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL
);

CREATE TABLE mcp_tools (
    id uuid PRIMARY KEY,
    name text COLLATE "C" NOT NULL UNIQUE,
    -- Null: built in.
    server_id uuid REFERENCES mcp_servers (id),
    scope text NOT NULL,
    enabled boolean NOT NULL,
    -- False: its server no longer offers it. The row stays, so that it cannot come back changed.
    present boolean NOT NULL,
    definition json NOT NULL,
    definition_sha256 text NOT NULL,
    approved_definition json NOT NULL,
    approved_sha256 text NOT NULL,
    first_seen_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL
);
CREATE INDEX mcp_tools_by_server ON mcp_tools (server_id);

CREATE TABLE access_control_rules (
    id uuid PRIMARY KEY,
    subject_type text NOT NULL,
    -- An id, or the type of an agent; null for system only.
    subject_id text,
    action text NOT NULL,
    resource_type text NOT NULL,
    resource_pattern text NOT NULL,
    effect text NOT NULL,
    priority bigint NOT NULL,
    conditions json NOT NULL,
    updated_by uuid,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    CHECK ((subject_type = 'system') = (subject_id IS NULL))
);

-- Who changed what access is decided by. Decisions about calls are in mcp_tool_call_audit_log.
CREATE TABLE access_control_audit_log (
    id uuid PRIMARY KEY,
    subject_type text NOT NULL,
    subject_id text,
    action text NOT NULL,
    resource_type text NOT NULL,
    resource text NOT NULL,
    decision text NOT NULL,
    reason text,
    task_id uuid,
    created_at timestamptz NOT NULL
);

CREATE TABLE system_settings (
    key text COLLATE "C" PRIMARY KEY,
    value json NOT NULL,
    value_type text NOT NULL,
    version bigint NOT NULL,
    updated_at timestamptz NOT NULL,
    updated_by uuid
);

CREATE TABLE system_settings_audit_log (
    id uuid PRIMARY KEY,
    key text NOT NULL,
    old_value json,
    new_value json,
    changed_by uuid,
    changed_at timestamptz NOT NULL,
    reason text
);

-- Grows with every change of what calls are decided by; what other processes look at.
CREATE TABLE policy_revision (
    id bigint PRIMARY KEY CHECK (id = 1),
    revision bigint NOT NULL
);
INSERT INTO policy_revision VALUES (1, 1);

-- One chain per writer. Calls and outcomes of a chain share one sequence; each record holds the hash
-- of the one before.
CREATE TABLE mcp_audit_chains (
    chain_id uuid PRIMARY KEY,
    -- The newest record.
    seq bigint NOT NULL,
    hash bytea NOT NULL,
    -- No call before this one is without an outcome.
    open_from bigint NOT NULL,
    created_at timestamptz NOT NULL
);

-- What was removed because of its age: the chain begins behind the newest anchor.
CREATE TABLE mcp_audit_anchors (
    chain_id uuid NOT NULL,
    seq bigint NOT NULL,
    hash bytea NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (chain_id, seq)
);

-- Metadata only: no arguments, no results. No foreign keys: a refused call may name what never was.
CREATE TABLE mcp_tool_call_audit_log (
    id uuid PRIMARY KEY,
    chain_id uuid NOT NULL,
    seq bigint NOT NULL,
    created_at timestamptz NOT NULL,
    agent_type text NOT NULL,
    token_id uuid,
    user_id uuid,
    group_ids json NOT NULL,
    role_names json NOT NULL,
    project_id uuid,
    task_id uuid,
    run_id uuid,
    job_id uuid,
    tool_name text COLLATE "C" NOT NULL,
    server text NOT NULL,
    decision text NOT NULL,
    stage text NOT NULL,
    -- As decided; what came of a call is in mcp_tool_call_outcomes.
    status text NOT NULL,
    error_type text,
    duration_ms bigint,
    origin text NOT NULL,
    request_id text NOT NULL,
    prev_hash bytea NOT NULL,
    hash bytea NOT NULL,
    UNIQUE (chain_id, seq)
);
CREATE INDEX mcp_calls_by_time ON mcp_tool_call_audit_log (created_at, id);
CREATE INDEX mcp_calls_by_task ON mcp_tool_call_audit_log (task_id, created_at, id)
    WHERE task_id IS NOT NULL;
CREATE INDEX mcp_calls_by_project ON mcp_tool_call_audit_log (project_id, created_at, id)
    WHERE project_id IS NOT NULL;
CREATE INDEX mcp_calls_by_user ON mcp_tool_call_audit_log (user_id, created_at, id)
    WHERE user_id IS NOT NULL;
CREATE INDEX mcp_calls_by_tool ON mcp_tool_call_audit_log (tool_name, created_at, id);

CREATE TABLE mcp_tool_call_outcomes (
    call_id uuid PRIMARY KEY,
    chain_id uuid NOT NULL,
    seq bigint NOT NULL,
    status text NOT NULL,
    error_type text,
    duration_ms bigint,
    recorded_at timestamptz NOT NULL,
    prev_hash bytea NOT NULL,
    hash bytea NOT NULL,
    UNIQUE (chain_id, seq)
);
