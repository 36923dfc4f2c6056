-- The MCP gateway: who holds tokens, which tools exist, what the rules are, and the record of every
-- call.

CREATE TABLE agent_tokens (
    id TEXT PRIMARY KEY,
    token_hash BLOB NOT NULL UNIQUE,
    agent_type TEXT NOT NULL,
    user_id TEXT NOT NULL REFERENCES users (id),
    -- What the token is bound to; rows it names may be gone.
    project_id TEXT,
    task_id TEXT,
    run_id TEXT,
    job_id TEXT,
    session_id TEXT,
    name TEXT NOT NULL,
    created_by TEXT NOT NULL REFERENCES users (id),
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    revoked_at INTEGER
);
CREATE INDEX agent_tokens_by_user ON agent_tokens (user_id, id);
CREATE INDEX agent_tokens_by_job ON agent_tokens (job_id) WHERE job_id IS NOT NULL;
CREATE INDEX agent_tokens_by_end ON agent_tokens (expires_at);

CREATE TABLE mcp_servers (
    id TEXT PRIMARY KEY,
    slug TEXT NOT NULL UNIQUE,
    owner_id TEXT NOT NULL REFERENCES users (id),
    transport TEXT NOT NULL,
    -- Holds secrets: values of variables and headers.
    config TEXT NOT NULL,
    scope TEXT NOT NULL,
    enabled INTEGER NOT NULL,
    last_error TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
);

CREATE TABLE mcp_tools (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    -- Null: built in.
    server_id TEXT REFERENCES mcp_servers (id),
    scope TEXT NOT NULL,
    enabled INTEGER NOT NULL,
    -- False: its server no longer offers it. The row stays, so that it cannot come back changed.
    present INTEGER NOT NULL,
    definition TEXT NOT NULL,
    definition_sha256 TEXT NOT NULL,
    approved_definition TEXT NOT NULL,
    approved_sha256 TEXT NOT NULL,
    first_seen_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
);
CREATE INDEX mcp_tools_by_server ON mcp_tools (server_id);

CREATE TABLE access_control_rules (
    id TEXT PRIMARY KEY,
    subject_type TEXT NOT NULL,
    -- An id, or the type of an agent; null for system only.
    subject_id TEXT,
    action TEXT NOT NULL,
    resource_type TEXT NOT NULL,
    resource_pattern TEXT NOT NULL,
    effect TEXT NOT NULL,
    priority INTEGER NOT NULL,
    conditions TEXT NOT NULL,
    updated_by TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    CHECK ((subject_type = 'system') = (subject_id IS NULL))
);

-- Who changed what access is decided by. Decisions about calls are in mcp_tool_call_audit_log.
CREATE TABLE access_control_audit_log (
    id TEXT PRIMARY KEY,
    subject_type TEXT NOT NULL,
    subject_id TEXT,
    action TEXT NOT NULL,
    resource_type TEXT NOT NULL,
    resource TEXT NOT NULL,
    decision TEXT NOT NULL,
    reason TEXT,
    task_id TEXT,
    created_at INTEGER NOT NULL
);

CREATE TABLE system_settings (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL,
    value_type TEXT NOT NULL,
    version INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    updated_by TEXT
);

CREATE TABLE system_settings_audit_log (
    id TEXT PRIMARY KEY,
    key TEXT NOT NULL,
    old_value TEXT,
    new_value TEXT,
    changed_by TEXT,
    changed_at INTEGER NOT NULL,
    reason TEXT
);

-- Grows with every change of what calls are decided by; what other processes look at.
CREATE TABLE policy_revision (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    revision INTEGER NOT NULL
);
INSERT INTO policy_revision VALUES (1, 1);

-- One chain per writer. Calls and outcomes of a chain share one sequence; each record holds the hash
-- of the one before.
CREATE TABLE mcp_audit_chains (
    chain_id TEXT PRIMARY KEY,
    -- The newest record.
    seq INTEGER NOT NULL,
    hash BLOB NOT NULL,
    -- No call before this one is without an outcome.
    open_from INTEGER NOT NULL,
    created_at INTEGER NOT NULL
);

-- What was removed because of its age: the chain begins behind the newest anchor.
CREATE TABLE mcp_audit_anchors (
    chain_id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    hash BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (chain_id, seq)
);

-- Metadata only: no arguments, no results. No foreign keys: a refused call may name what never was.
CREATE TABLE mcp_tool_call_audit_log (
    id TEXT PRIMARY KEY,
    chain_id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    agent_type TEXT NOT NULL,
    token_id TEXT,
    user_id TEXT,
    group_ids TEXT NOT NULL,
    role_names TEXT NOT NULL,
    project_id TEXT,
    task_id TEXT,
    run_id TEXT,
    job_id TEXT,
    tool_name TEXT NOT NULL,
    server TEXT NOT NULL,
    decision TEXT NOT NULL,
    stage TEXT NOT NULL,
    -- As decided; what came of a call is in mcp_tool_call_outcomes.
    status TEXT NOT NULL,
    error_type TEXT,
    duration_ms INTEGER,
    origin TEXT NOT NULL,
    request_id TEXT NOT NULL,
    prev_hash BLOB NOT NULL,
    hash BLOB NOT NULL,
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
    call_id TEXT PRIMARY KEY,
    chain_id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    status TEXT NOT NULL,
    error_type TEXT,
    duration_ms INTEGER,
    recorded_at INTEGER NOT NULL,
    prev_hash BLOB NOT NULL,
    hash BLOB NOT NULL,
    UNIQUE (chain_id, seq)
);
