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
, last_used_at INTEGER);
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
, seq INTEGER, prev_hash BLOB, hash BLOB);
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
, group_id TEXT REFERENCES user_groups (id));
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
    ended_at INTEGER, paused_at INTEGER, verification TEXT, request_sha256 TEXT, attachments_deleted INTEGER NOT NULL DEFAULT 0, parent_task_id TEXT REFERENCES tasks (id), work_unit_id TEXT, profile_id TEXT,
    UNIQUE (created_by, name),
    UNIQUE (created_by, idempotency_key)
);
CREATE INDEX tasks_by_creator ON tasks (created_by, id);
CREATE INDEX tasks_by_project ON tasks (project_id, id);
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
, graph_version INTEGER, waits_for TEXT, put_down_reason TEXT, not_before INTEGER, parent_run_id TEXT, parent_sequence INTEGER);
CREATE INDEX runs_by_task ON runs (task_id, id);
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
, waiting_node TEXT, waiting_for TEXT);
CREATE TABLE workflow_checkpoints (
    id TEXT PRIMARY KEY,
    task_id TEXT NOT NULL UNIQUE REFERENCES tasks (id),
    run_id TEXT NOT NULL REFERENCES runs (id),
    state TEXT NOT NULL,
    last_node_id TEXT NOT NULL,
    edge TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
, base_sequence INTEGER NOT NULL DEFAULT 0, epoch INTEGER NOT NULL DEFAULT 0);
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
, incarnation_id TEXT, public_key BLOB, is_key_revoked INTEGER NOT NULL DEFAULT 0, removed_at INTEGER, machine_load TEXT);
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
    ended_at INTEGER, place_until INTEGER, incarnation_id TEXT, placed_by TEXT, owner_id TEXT, stop_ending TEXT, last_sign_at INTEGER,
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
CREATE INDEX events_by_task ON events (task_id, txid, seq);
CREATE VIEW committed_events AS SELECT * FROM events;
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
, schedule_run_id TEXT, thread_id TEXT, trace_id TEXT, verification TEXT, role TEXT, work_unit_id TEXT, profile TEXT, profile_revision INTEGER, profile_id TEXT);
CREATE INDEX agent_tokens_by_user ON agent_tokens (user_id, id);
CREATE INDEX agent_tokens_by_job ON agent_tokens (job_id) WHERE job_id IS NOT NULL;
CREATE INDEX agent_tokens_by_end ON agent_tokens (expires_at);
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
    updated_at INTEGER NOT NULL, server_id TEXT,
    CHECK ((subject_type = 'system') = (subject_id IS NULL))
);
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
, seq INTEGER, prev_hash BLOB, hash BLOB);
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
, seq INTEGER, prev_hash BLOB, hash BLOB);
CREATE TABLE policy_revision (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    revision INTEGER NOT NULL
);
CREATE TABLE mcp_audit_chains (
    chain_id TEXT PRIMARY KEY,
    -- The newest record.
    seq INTEGER NOT NULL,
    hash BLOB NOT NULL,
    -- No call before this one is without an outcome.
    open_from INTEGER NOT NULL,
    created_at INTEGER NOT NULL
, signature BLOB);
CREATE TABLE mcp_audit_anchors (
    chain_id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    hash BLOB NOT NULL,
    created_at INTEGER NOT NULL, signature BLOB,
    PRIMARY KEY (chain_id, seq)
);
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
CREATE TABLE preference_entries (
    id TEXT PRIMARY KEY,
    scope_type TEXT NOT NULL,
    -- Null for system only.
    scope_id TEXT,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    -- What the value is meant to be; an entry whose value is something else is passed over.
    value_type TEXT NOT NULL,
    version INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    updated_by TEXT,
    CHECK ((scope_type = 'system') = (scope_id IS NULL))
);
CREATE UNIQUE INDEX preference_entries_of_scope ON preference_entries (scope_type, scope_id, key)
    WHERE scope_id IS NOT NULL;
CREATE UNIQUE INDEX preference_entries_of_system ON preference_entries (key)
    WHERE scope_id IS NULL;
CREATE TABLE preference_audit_log (
    id TEXT PRIMARY KEY,
    entry_id TEXT NOT NULL,
    scope_type TEXT NOT NULL,
    scope_id TEXT,
    key TEXT NOT NULL,
    old_value TEXT,
    new_value TEXT,
    changed_by TEXT,
    changed_at INTEGER NOT NULL,
    reason TEXT
, seq INTEGER, prev_hash BLOB, hash BLOB);
CREATE INDEX preference_audit_log_by_entry ON preference_audit_log (entry_id, id);
CREATE TABLE job_memory (
    job_id TEXT NOT NULL REFERENCES jobs (id),
    key TEXT NOT NULL,
    summary TEXT,
    content TEXT NOT NULL,
    size_bytes INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (job_id, key)
);
CREATE TABLE skills (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    scope TEXT NOT NULL,
    -- The project of a project's skill.
    project_id TEXT REFERENCES projects (id),
    -- Null: the system's own.
    owner_id TEXT REFERENCES users (id),
    content TEXT NOT NULL,
    content_sha256 TEXT NOT NULL,
    version INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL, group_id TEXT REFERENCES user_groups (id), updated_by TEXT REFERENCES users (id),
    CHECK ((scope = 'project') = (project_id IS NOT NULL))
);
CREATE INDEX skills_by_owner ON skills (owner_id, id);
CREATE INDEX skills_by_scope ON skills (scope, id);
CREATE TABLE verification_findings (
    id TEXT PRIMARY KEY,
    task_id TEXT NOT NULL REFERENCES tasks (id),
    -- What it is about within the task; rows it names may be gone.
    run_id TEXT,
    job_id TEXT,
    step_index INTEGER,
    status TEXT NOT NULL,
    severity TEXT NOT NULL,
    message TEXT NOT NULL,
    location TEXT,
    suggestion TEXT,
    -- Who found it: in which role, with which token, for whom.
    agent_type TEXT NOT NULL,
    token_id TEXT,
    user_id TEXT NOT NULL,
    created_at INTEGER NOT NULL
, verification TEXT);
CREATE INDEX verification_findings_by_task ON verification_findings (task_id, id);
CREATE TABLE task_agents (
    id TEXT PRIMARY KEY,
    task_id TEXT NOT NULL REFERENCES tasks (id),
    role TEXT NOT NULL,
    -- Who speaks in this role: a job, or a token that is bound to none.
    holder TEXT NOT NULL,
    job_id TEXT,
    status TEXT NOT NULL,
    closed INTEGER NOT NULL,
    activity TEXT,
    progress TEXT,
    context_usage INTEGER,
    artifacts TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    last_heartbeat_at INTEGER NOT NULL,
    ended_at INTEGER
);
CREATE UNIQUE INDEX task_agents_open ON task_agents (task_id, role) WHERE NOT closed;
CREATE INDEX task_agents_by_task ON task_agents (task_id, id);
CREATE TABLE agent_messages (
    id TEXT PRIMARY KEY,
    task_id TEXT NOT NULL REFERENCES tasks (id),
    -- The life that sent it; null for the project manager.
    agent_id TEXT REFERENCES task_agents (id),
    sender TEXT NOT NULL,
    recipient TEXT NOT NULL,
    kind TEXT NOT NULL,
    -- The type within its kind, such as work_completed or revise.
    subtype TEXT NOT NULL,
    component TEXT,
    work_unit_id TEXT,
    content TEXT NOT NULL,
    payload TEXT NOT NULL,
    -- A repeated message has the key of the first, and is not stored again.
    idempotency_key TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    -- Instructions only: when the agent first got it, and when it said so.
    delivered_at INTEGER,
    acknowledged_at INTEGER,
    -- Messages to the project manager only: when it was done with it.
    processed_at INTEGER, claimed_until INTEGER, turns INTEGER NOT NULL DEFAULT 0, begun INTEGER NOT NULL DEFAULT 0, given_up TEXT, needs_person TEXT, answered_by TEXT, redelivered_at INTEGER,
    UNIQUE (task_id, sender, idempotency_key)
);
CREATE INDEX agent_messages_by_task ON agent_messages (task_id, id);
CREATE INDEX agent_messages_unprocessed ON agent_messages (id)
    WHERE processed_at IS NULL AND recipient = 'pm';
CREATE INDEX agent_messages_pending ON agent_messages (task_id, recipient, id)
    WHERE acknowledged_at IS NULL AND kind = 'instruction';
CREATE TABLE agent_checkpoints (
    id TEXT PRIMARY KEY,
    task_id TEXT NOT NULL REFERENCES tasks (id),
    role TEXT NOT NULL,
    agent_id TEXT NOT NULL REFERENCES task_agents (id),
    summary TEXT NOT NULL,
    completed_items TEXT NOT NULL,
    pending_items TEXT NOT NULL,
    active_files TEXT NOT NULL,
    notes TEXT,
    created_at INTEGER NOT NULL
);
CREATE INDEX agent_checkpoints_by_role ON agent_checkpoints (task_id, role, id);
CREATE TABLE work_plans (
    task_id TEXT PRIMARY KEY REFERENCES tasks (id),
    issue_number INTEGER,
    components TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    completed_at INTEGER
);
CREATE TABLE work_units (
    task_id TEXT NOT NULL REFERENCES work_plans (task_id),
    -- Such as impl:auth.
    unit_id TEXT NOT NULL,
    position INTEGER NOT NULL,
    component TEXT NOT NULL,
    kind TEXT NOT NULL,
    status TEXT NOT NULL,
    closed INTEGER NOT NULL,
    -- The role that does it, and the agent that has begun.
    role TEXT NOT NULL,
    agent_id TEXT REFERENCES task_agents (id),
    parent_unit_id TEXT,
    artifact_path TEXT,
    summary TEXT,
    metadata TEXT,
    notes TEXT,
    revision_count INTEGER NOT NULL,
    revision_feedback TEXT,
    assigned_at INTEGER,
    completed_at INTEGER,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (task_id, unit_id),
    UNIQUE (task_id, position)
);
CREATE TABLE "workflow_history" (
    run_id TEXT NOT NULL REFERENCES runs (id),
    sequence INTEGER NOT NULL,
    task_id TEXT NOT NULL,
    node_id TEXT NOT NULL,
    edge TEXT NOT NULL,
    step_index INTEGER,
    job_id TEXT,
    state TEXT,
    changes TEXT,
    epoch INTEGER NOT NULL,
    duration_ms INTEGER NOT NULL,
    recorded_at INTEGER NOT NULL,
    PRIMARY KEY (run_id, sequence)
);
CREATE INDEX runs_claimable ON runs (id) WHERE runnable AND waits_for IS NULL;
CREATE INDEX runs_waiting ON runs (id) WHERE runnable AND waits_for IS NOT NULL;
CREATE TABLE run_questions (
    run_id TEXT NOT NULL REFERENCES runs (id),
    key TEXT NOT NULL,
    task_id TEXT NOT NULL REFERENCES tasks (id),
    -- The node that asks.
    asked_by TEXT NOT NULL,
    question TEXT NOT NULL,
    asked_at INTEGER NOT NULL,
    -- Until when an answer is waited for; null: for ever.
    answer_by INTEGER,
    answer TEXT,
    answered_by TEXT,
    answered_at INTEGER,
    PRIMARY KEY (run_id, key)
);
CREATE INDEX run_questions_open ON run_questions (answer_by) WHERE answered_at IS NULL;
CREATE TABLE run_acts (
    id TEXT PRIMARY KEY,
    run_id TEXT NOT NULL REFERENCES runs (id),
    task_id TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    verb TEXT NOT NULL,
    user_id TEXT NOT NULL,
    handle TEXT NOT NULL,
    detail TEXT NOT NULL,
    recorded_at INTEGER NOT NULL
);
CREATE INDEX run_acts_by_run ON run_acts (run_id, sequence, id);
CREATE TABLE model_providers (
    name TEXT PRIMARY KEY,
    kind TEXT NOT NULL,
    base_url TEXT NOT NULL,
    is_local INTEGER NOT NULL,
    is_enabled INTEGER NOT NULL,
    allow_use TEXT NOT NULL,
    -- Names of models; empty if the provider is asked.
    models TEXT NOT NULL,
    concurrency INTEGER NOT NULL,
    prices TEXT NOT NULL,
    version INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    updated_by TEXT
);
CREATE TABLE api_credentials (
    id TEXT PRIMARY KEY,
    owner_type TEXT NOT NULL,
    -- Null for system only.
    owner_id TEXT,
    provider TEXT NOT NULL,
    credential_type TEXT NOT NULL,
    credential_name TEXT NOT NULL,
    -- Sealed together with id, owner, provider and name: it opens in no other row.
    credential_ciphertext BLOB NOT NULL,
    -- The key outside the database that opens it.
    credential_kid TEXT NOT NULL,
    is_active INTEGER NOT NULL,
    expires_at INTEGER,
    version INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    updated_by TEXT,
    CHECK ((owner_type = 'system') = (owner_id IS NULL))
);
CREATE UNIQUE INDEX api_credentials_of_owner
    ON api_credentials (owner_type, owner_id, provider, credential_name) WHERE owner_id IS NOT NULL;
CREATE UNIQUE INDEX api_credentials_of_system
    ON api_credentials (provider, credential_name) WHERE owner_id IS NULL;
CREATE TABLE brain_calls (
    id TEXT PRIMARY KEY,
    created_at INTEGER NOT NULL,
    purpose TEXT NOT NULL,
    agent TEXT,
    user_id TEXT NOT NULL,
    project_id TEXT,
    task_id TEXT,
    run_id TEXT,
    thread_id TEXT,
    trace_id TEXT NOT NULL,
    provider TEXT NOT NULL,
    model TEXT NOT NULL,
    prompt_hash TEXT,
    input_tokens INTEGER,
    output_tokens INTEGER,
    -- Null if it is not known.
    cost_micro_usd INTEGER,
    latency_ms INTEGER NOT NULL,
    first_ms INTEGER,
    outcome TEXT NOT NULL,
    error TEXT
, is_estimate INTEGER NOT NULL DEFAULT 0);
CREATE INDEX brain_calls_by_time ON brain_calls (created_at);
CREATE INDEX brain_calls_by_run ON brain_calls (run_id, id) WHERE run_id IS NOT NULL;
CREATE INDEX brain_calls_by_user ON brain_calls (user_id, id);
CREATE INDEX brain_calls_by_purpose ON brain_calls (purpose, id);
CREATE TABLE egress_audit (
    id TEXT PRIMARY KEY,
    created_at INTEGER NOT NULL,
    -- The call that the decision is about; one call may be decided for several providers.
    call_id TEXT NOT NULL,
    agent TEXT,
    user_id TEXT NOT NULL,
    task_id TEXT,
    resource TEXT NOT NULL,
    decision TEXT NOT NULL,
    reason TEXT NOT NULL,
    credential_id TEXT,
    trace_id TEXT NOT NULL
, seq INTEGER, prev_hash BLOB, hash BLOB);
CREATE INDEX egress_audit_by_call ON egress_audit (call_id, id);
CREATE INDEX egress_audit_by_time ON egress_audit (created_at);
CREATE TABLE pm_decisions (
    id TEXT PRIMARY KEY,
    handoff TEXT NOT NULL,
    user_id TEXT NOT NULL REFERENCES users (id),
    project_id TEXT,
    task_id TEXT REFERENCES tasks (id),
    run_id TEXT,
    thread_id TEXT,
    trace_id TEXT NOT NULL,
    purpose TEXT NOT NULL,
    decided_by TEXT NOT NULL,
    reason TEXT NOT NULL,
    input_hash TEXT NOT NULL,
    model TEXT,
    created_at INTEGER NOT NULL
);
CREATE INDEX pm_decisions_by_task ON pm_decisions (task_id, id);
CREATE TABLE chat_threads (
    id TEXT PRIMARY KEY,
    user_id TEXT NOT NULL REFERENCES users (id),
    project_id TEXT NOT NULL REFERENCES projects (id),
    number INTEGER NOT NULL,
    title TEXT,
    created_at INTEGER NOT NULL,
    UNIQUE (user_id, project_id, number)
);
CREATE INDEX chat_threads_by_user ON chat_threads (user_id, id);
CREATE TABLE chat_messages (
    id TEXT PRIMARY KEY,
    thread_id TEXT NOT NULL REFERENCES chat_threads (id),
    role TEXT NOT NULL,
    content TEXT NOT NULL,
    -- True if the answer was cut off: by its reader, a timeout or a fault.
    is_partial INTEGER NOT NULL,
    metadata TEXT NOT NULL,
    created_at INTEGER NOT NULL
, turn_id TEXT);
CREATE INDEX chat_messages_by_thread ON chat_messages (thread_id, id);
CREATE TABLE chat_audit_log (
    id TEXT PRIMARY KEY,
    created_at INTEGER NOT NULL,
    user_id TEXT NOT NULL,
    project_id TEXT,
    thread_id TEXT,
    model TEXT NOT NULL,
    outcome TEXT NOT NULL,
    error_code TEXT,
    redaction_applied INTEGER NOT NULL,
    redaction_kinds TEXT NOT NULL,
    duration_ms INTEGER NOT NULL,
    request_id TEXT NOT NULL
, seq INTEGER, prev_hash BLOB, hash BLOB);
CREATE INDEX chat_audit_log_by_user ON chat_audit_log (user_id, id);
CREATE TABLE schedules (
    id TEXT PRIMARY KEY,
    owner_id TEXT NOT NULL REFERENCES users (id),
    project_id TEXT NOT NULL REFERENCES projects (id),
    name TEXT NOT NULL,
    timing TEXT NOT NULL,
    time_zone TEXT NOT NULL,
    -- From when intervals are counted.
    anchor_at INTEGER NOT NULL,
    payload TEXT NOT NULL,
    is_enabled INTEGER NOT NULL,
    if_missed TEXT NOT NULL,
    overlap TEXT NOT NULL,
    -- NULL while it is paused, and when it will never be due again.
    next_due_at INTEGER,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    UNIQUE (owner_id, project_id, name)
);
CREATE INDEX schedules_by_owner ON schedules (owner_id, id);
CREATE INDEX schedules_by_due ON schedules (next_due_at) WHERE next_due_at IS NOT NULL;
CREATE TABLE schedule_runs (
    id TEXT PRIMARY KEY,
    schedule_id TEXT NOT NULL REFERENCES schedules (id) ON DELETE CASCADE,
    due_at INTEGER NOT NULL,
    is_manual INTEGER NOT NULL,
    status TEXT NOT NULL,
    summary TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    claimed_until INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    ended_at INTEGER, failures INTEGER NOT NULL DEFAULT 0, made_at INTEGER, put_off INTEGER NOT NULL DEFAULT 0, given_back INTEGER NOT NULL DEFAULT 0,
    UNIQUE (schedule_id, due_at)
);
CREATE INDEX schedule_runs_by_schedule ON schedule_runs (schedule_id, id);
CREATE INDEX schedule_runs_open ON schedule_runs (claimed_until) WHERE ended_at IS NULL;
CREATE TABLE schedule_run_tasks (
    run_id TEXT NOT NULL REFERENCES schedule_runs (id) ON DELETE CASCADE,
    task_id TEXT NOT NULL REFERENCES tasks (id),
    PRIMARY KEY (run_id, task_id)
);
CREATE TABLE sandboxes (
    id TEXT PRIMARY KEY REFERENCES jobs (id),
    task_id TEXT NOT NULL REFERENCES tasks (id),
    made_by TEXT NOT NULL REFERENCES users (id),
    created_at INTEGER NOT NULL,
    destroyed_at INTEGER
);
CREATE INDEX sandboxes_by_task ON sandboxes (task_id, id);
CREATE TABLE sandbox_execs (
    job_id TEXT PRIMARY KEY REFERENCES jobs (id),
    sandbox_id TEXT NOT NULL REFERENCES sandboxes (id),
    idempotency_key TEXT, kept_bytes INTEGER,
    UNIQUE (sandbox_id, idempotency_key)
);
CREATE INDEX chat_messages_by_turn ON chat_messages (thread_id, turn_id, id)
    WHERE turn_id IS NOT NULL;
CREATE TABLE user_groups (
    id TEXT PRIMARY KEY,
    slug TEXT NOT NULL UNIQUE,
    display_name TEXT NOT NULL,
    created_by TEXT REFERENCES users (id),
    created_at INTEGER NOT NULL
);
CREATE TABLE user_group_members (
    group_id TEXT NOT NULL REFERENCES user_groups (id),
    user_id TEXT NOT NULL REFERENCES users (id),
    added_by TEXT REFERENCES users (id),
    added_at INTEGER NOT NULL,
    PRIMARY KEY (group_id, user_id)
);
CREATE INDEX user_group_members_by_user ON user_group_members (user_id, group_id);
CREATE INDEX skills_by_group ON skills (group_id, id) WHERE group_id IS NOT NULL;
CREATE INDEX preference_audit_log_by_key ON preference_audit_log (key, scope_type, scope_id, id);
CREATE INDEX system_settings_audit_log_by_key ON system_settings_audit_log (key, id);
CREATE INDEX access_control_audit_log_by_resource ON access_control_audit_log (resource_type, resource, id);
CREATE INDEX brain_calls_by_cost ON brain_calls (created_at, cost_micro_usd)
    WHERE cost_micro_usd > 0;
CREATE TABLE job_outputs (
    job_id TEXT NOT NULL REFERENCES jobs (id),
    path TEXT NOT NULL,
    size_bytes INTEGER NOT NULL,
    checksum_sha256 TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (job_id, path)
);
CREATE INDEX jobs_held ON jobs (incarnation_id) WHERE NOT closed OR status = 'lease_expired';
CREATE TABLE step_verdicts (
    run_id TEXT NOT NULL REFERENCES runs (id),
    job_id TEXT NOT NULL,
    task_id TEXT NOT NULL REFERENCES tasks (id),
    verdict TEXT NOT NULL,
    recorded_at INTEGER NOT NULL,
    PRIMARY KEY (run_id, job_id)
);
CREATE INDEX step_verdicts_by_task ON step_verdicts (task_id);
CREATE TABLE quarantined_rows (
    table_name TEXT NOT NULL,
    row_key TEXT NOT NULL,
    reason TEXT NOT NULL,
    first_seen_at INTEGER NOT NULL,
    PRIMARY KEY (table_name, row_key)
);
CREATE TABLE write_probe (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    checked_at INTEGER NOT NULL,
    padding BLOB NOT NULL
);
CREATE INDEX tasks_by_status ON tasks (status, id);
CREATE INDEX tasks_by_creator_status ON tasks (created_by, status, id);
CREATE INDEX tasks_by_project_status ON tasks (project_id, status, id);
CREATE INDEX runs_open ON runs (id) WHERE runnable;
CREATE INDEX runs_ended ON runs (status, id) WHERE NOT runnable;
CREATE INDEX events_by_owner ON events (owner_id, txid, seq);
CREATE TABLE node_join_tokens (
    id TEXT PRIMARY KEY,
    token_hash BLOB NOT NULL UNIQUE,
    -- The only node that may use it; any new one if absent.
    node_slug TEXT,
    created_by TEXT NOT NULL REFERENCES users (id),
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    used_at INTEGER,
    used_by TEXT REFERENCES nodes (id),
    revoked_at INTEGER
);
CREATE UNIQUE INDEX auth_audit_log_by_seq ON auth_audit_log (seq) WHERE seq IS NOT NULL;
CREATE INDEX auth_audit_log_unsealed ON auth_audit_log (id) WHERE seq IS NULL;
CREATE UNIQUE INDEX access_control_audit_log_by_seq ON access_control_audit_log (seq) WHERE seq IS NOT NULL;
CREATE INDEX access_control_audit_log_unsealed ON access_control_audit_log (id) WHERE seq IS NULL;
CREATE UNIQUE INDEX system_settings_audit_log_by_seq ON system_settings_audit_log (seq) WHERE seq IS NOT NULL;
CREATE INDEX system_settings_audit_log_unsealed ON system_settings_audit_log (id) WHERE seq IS NULL;
CREATE UNIQUE INDEX preference_audit_log_by_seq ON preference_audit_log (seq) WHERE seq IS NOT NULL;
CREATE INDEX preference_audit_log_unsealed ON preference_audit_log (id) WHERE seq IS NULL;
CREATE UNIQUE INDEX chat_audit_log_by_seq ON chat_audit_log (seq) WHERE seq IS NOT NULL;
CREATE INDEX chat_audit_log_unsealed ON chat_audit_log (id) WHERE seq IS NULL;
CREATE UNIQUE INDEX egress_audit_by_seq ON egress_audit (seq) WHERE seq IS NOT NULL;
CREATE INDEX egress_audit_unsealed ON egress_audit (id) WHERE seq IS NULL;
CREATE INDEX jobs_open_by_owner ON jobs (owner_id, id) WHERE NOT closed;
CREATE TABLE storage_usage (
    subject_id TEXT PRIMARY KEY, -- a user or a project
    held_bytes INTEGER NOT NULL
);
CREATE TRIGGER storage_artifact_added AFTER INSERT ON task_artifacts WHEN NEW.job_id IS NULL
BEGIN
    INSERT INTO storage_usage (subject_id, held_bytes)
    SELECT created_by, max(NEW.size_bytes, 4096) FROM tasks WHERE id = NEW.task_id
    UNION ALL SELECT project_id, max(NEW.size_bytes, 4096) FROM tasks WHERE id = NEW.task_id
    ON CONFLICT (subject_id) DO UPDATE SET held_bytes = held_bytes + excluded.held_bytes;
END;
CREATE TRIGGER storage_artifact_removed AFTER DELETE ON task_artifacts WHEN OLD.job_id IS NULL
BEGIN
    UPDATE storage_usage SET held_bytes = held_bytes - max(OLD.size_bytes, 4096)
    WHERE subject_id IN (SELECT created_by FROM tasks WHERE id = OLD.task_id
                         UNION ALL SELECT project_id FROM tasks WHERE id = OLD.task_id);
END;
CREATE TRIGGER storage_artifact_changed AFTER UPDATE ON task_artifacts
    WHEN NEW.job_id IS NULL OR OLD.job_id IS NULL
BEGIN
    INSERT INTO storage_usage (subject_id, held_bytes)
    SELECT created_by, 0 FROM tasks WHERE id = NEW.task_id
    UNION ALL SELECT project_id, 0 FROM tasks WHERE id = NEW.task_id
    ON CONFLICT (subject_id) DO NOTHING;
    UPDATE storage_usage SET held_bytes = held_bytes
        + CASE WHEN NEW.job_id IS NULL THEN max(NEW.size_bytes, 4096) ELSE 0 END
        - CASE WHEN OLD.job_id IS NULL THEN max(OLD.size_bytes, 4096) ELSE 0 END
    WHERE subject_id IN (SELECT created_by FROM tasks WHERE id = NEW.task_id
                         UNION ALL SELECT project_id FROM tasks WHERE id = NEW.task_id);
END;
CREATE TRIGGER storage_output_added AFTER INSERT ON job_outputs
BEGIN
    INSERT INTO storage_usage (subject_id, held_bytes)
    SELECT t.created_by, max(NEW.size_bytes, 4096) FROM jobs j JOIN tasks t ON t.id = j.task_id WHERE j.id = NEW.job_id
    UNION ALL
    SELECT t.project_id, max(NEW.size_bytes, 4096) FROM jobs j JOIN tasks t ON t.id = j.task_id WHERE j.id = NEW.job_id
    ON CONFLICT (subject_id) DO UPDATE SET held_bytes = held_bytes + excluded.held_bytes;
END;
CREATE TRIGGER storage_output_removed AFTER DELETE ON job_outputs
BEGIN
    UPDATE storage_usage SET held_bytes = held_bytes - max(OLD.size_bytes, 4096)
    WHERE subject_id IN (
        SELECT t.created_by FROM jobs j JOIN tasks t ON t.id = j.task_id WHERE j.id = OLD.job_id
        UNION ALL SELECT t.project_id FROM jobs j JOIN tasks t ON t.id = j.task_id WHERE j.id = OLD.job_id);
END;
CREATE TRIGGER storage_output_changed AFTER UPDATE ON job_outputs
BEGIN
    UPDATE storage_usage SET held_bytes = held_bytes + max(NEW.size_bytes, 4096) - max(OLD.size_bytes, 4096)
    WHERE subject_id IN (
        SELECT t.created_by FROM jobs j JOIN tasks t ON t.id = j.task_id WHERE j.id = NEW.job_id
        UNION ALL SELECT t.project_id FROM jobs j JOIN tasks t ON t.id = j.task_id WHERE j.id = NEW.job_id);
END;
CREATE INDEX task_artifacts_by_content ON task_artifacts (checksum_sha256);
CREATE INDEX job_outputs_by_content ON job_outputs (checksum_sha256);
CREATE TABLE blob_groups (prefix TEXT PRIMARY KEY);
CREATE TABLE blob_directory (database_id TEXT NOT NULL);
CREATE TABLE "mcp_servers" (
    id TEXT PRIMARY KEY,
    slug TEXT NOT NULL,
    owner_id TEXT NOT NULL REFERENCES users (id),
    -- Installed by an administrator for every user.
    is_system INTEGER NOT NULL DEFAULT 0,
    transport TEXT NOT NULL,
    -- Holds secrets: values of variables and headers.
    config TEXT NOT NULL,
    scope TEXT NOT NULL,
    enabled INTEGER NOT NULL,
    last_error TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    listed_at INTEGER
);
CREATE TABLE "mcp_tools" (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    -- Null: built in.
    server_id TEXT REFERENCES "mcp_servers" (id),
    scope TEXT NOT NULL,
    enabled INTEGER NOT NULL,
    -- False: its server no longer offers it. The row stays, so that it cannot come back changed.
    present INTEGER NOT NULL,
    definition TEXT NOT NULL,
    definition_sha256 TEXT NOT NULL,
    approved_definition TEXT NOT NULL,
    approved_sha256 TEXT NOT NULL,
    first_seen_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    disabled_by_owner INTEGER NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX mcp_servers_by_owner ON mcp_servers (owner_id, slug) WHERE is_system = 0;
CREATE UNIQUE INDEX mcp_servers_of_system ON mcp_servers (slug) WHERE is_system = 1;
CREATE UNIQUE INDEX mcp_tools_by_server ON mcp_tools (server_id, name);
CREATE UNIQUE INDEX mcp_tools_built_in ON mcp_tools (name) WHERE server_id IS NULL;
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
CREATE TABLE lease_keys (
    id TEXT PRIMARY KEY,
    public_key TEXT NOT NULL,
    -- The data directory whose file has the private key.
    owner TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    retired_at INTEGER
);
CREATE TABLE capability_leases (
    id TEXT PRIMARY KEY,
    node_id TEXT NOT NULL REFERENCES nodes (id) ON DELETE CASCADE,
    -- The public key of the node, which keeps it when it is removed and joins again.
    node_key TEXT NOT NULL,
    -- The token that asked for it.
    token_id TEXT NOT NULL,
    user_id TEXT NOT NULL REFERENCES users (id),
    -- What was signed: caller, sandbox, tools and limits.
    claims TEXT NOT NULL,
    issued_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    revoked_at INTEGER,
    revoked_reason TEXT
);
CREATE INDEX capability_leases_of_node ON capability_leases (node_key, expires_at);
CREATE TABLE edge_audit_chains (
    chain_id TEXT PRIMARY KEY,
    node_slug TEXT NOT NULL,
    node_key TEXT NOT NULL,
    created_at INTEGER NOT NULL
);
CREATE INDEX edge_audit_chains_of_node ON edge_audit_chains (node_key);
CREATE INDEX jobs_by_sign ON jobs (last_sign_at) WHERE last_sign_at IS NOT NULL AND NOT closed;
CREATE INDEX task_agents_by_job ON task_agents (job_id) WHERE NOT closed;
CREATE INDEX tasks_by_parent ON tasks (parent_task_id, id) WHERE parent_task_id IS NOT NULL;
CREATE TABLE work_requests (
    task_id TEXT PRIMARY KEY REFERENCES tasks (id),
    phase TEXT NOT NULL,
    source TEXT NOT NULL,
    settings TEXT NOT NULL,
    -- What was decided so far.
    state TEXT NOT NULL,
    -- What it waits for from a person.
    question TEXT,
    asked_at INTEGER,
    -- Compared with other open requests of the same user.
    text_sha256 TEXT NOT NULL,
    -- The process that advances it, and until when. The epoch fences an earlier one.
    epoch INTEGER NOT NULL DEFAULT 0,
    claimed_until INTEGER,
    -- Failures of the present step.
    failures INTEGER NOT NULL DEFAULT 0,
    -- When it is advanced without an event; null if it waits for its child tasks or a person.
    due_at INTEGER,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
);
CREATE INDEX work_requests_due ON work_requests (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX work_requests_open ON work_requests (text_sha256) WHERE phase <> 'ended';
CREATE TABLE unit_attempts (
    task_id TEXT NOT NULL REFERENCES tasks (id),
    unit_id TEXT NOT NULL,
    number INTEGER NOT NULL,
    child_task_id TEXT NOT NULL UNIQUE REFERENCES tasks (id),
    -- What came of it, once the request took note of its end.
    outcome TEXT,
    created_at INTEGER NOT NULL,
    concluded_at INTEGER, sequence INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (task_id, unit_id, number)
);
CREATE INDEX unit_attempts_open ON unit_attempts (child_task_id) WHERE concluded_at IS NULL;
CREATE TABLE sealed_values (
    name TEXT PRIMARY KEY,
    key_id TEXT NOT NULL,
    sealed BLOB NOT NULL
);
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
CREATE TABLE notice_cursor (
    id INTEGER PRIMARY KEY,
    event_txid INTEGER NOT NULL,
    event_seq INTEGER NOT NULL
);
CREATE INDEX events_notable ON events (txid, seq)
    WHERE kind IN ('run.asked', 'request.waiting', 'agent.needs_person', 'agent.report_given_up', 'tool.changed', 'task.closed');
CREATE TABLE project_forges (
    id TEXT PRIMARY KEY,
    project_id TEXT NOT NULL REFERENCES projects (id),
    -- The repository as tasks name it.
    repository_url TEXT NOT NULL,
    settings TEXT NOT NULL,
    has_webhook INTEGER NOT NULL,
    -- Issues that a webhook submits belong to this user.
    updated_by TEXT NOT NULL REFERENCES users (id),
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    UNIQUE (project_id, repository_url)
);
CREATE TABLE forge_deliveries (
    forge_id TEXT NOT NULL REFERENCES project_forges (id) ON DELETE CASCADE,
    body_sha256 TEXT NOT NULL,
    received_at INTEGER NOT NULL,
    PRIMARY KEY (forge_id, body_sha256)
);
CREATE INDEX forge_deliveries_received ON forge_deliveries (forge_id, received_at);
CREATE INDEX work_requests_in_review ON work_requests (task_id) WHERE phase = 'in_review';
CREATE INDEX brain_calls_by_task ON brain_calls (task_id) WHERE task_id IS NOT NULL;
CREATE INDEX projects_by_group ON projects (group_id) WHERE group_id IS NOT NULL;
CREATE TABLE profiles (
    id TEXT PRIMARY KEY,
    project_id TEXT NOT NULL REFERENCES projects (id),
    name TEXT NOT NULL,
    is_default INTEGER NOT NULL,
    -- Tools, hosts, models, limits and memory.
    spec TEXT NOT NULL,
    -- Incremented by every change; starts at 1.
    revision INTEGER NOT NULL,
    created_by TEXT NOT NULL REFERENCES users (id),
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    UNIQUE (project_id, name)
);
CREATE UNIQUE INDEX profiles_default ON profiles (project_id) WHERE is_default;
CREATE INDEX tasks_by_profile ON tasks (profile_id) WHERE profile_id IS NOT NULL;
CREATE INDEX agent_tokens_by_profile ON agent_tokens (profile_id);
CREATE TABLE project_memory (
    id TEXT PRIMARY KEY,
    project_id TEXT NOT NULL REFERENCES projects (id),
    profile_id TEXT NOT NULL REFERENCES profiles (id),
    kind TEXT NOT NULL,
    title TEXT NOT NULL,
    text TEXT NOT NULL,
    -- person, rule or model.
    author_kind TEXT NOT NULL,
    author_id TEXT NOT NULL REFERENCES users (id),
    source_task_id TEXT,
    source_run_id TEXT,
    source_step TEXT,
    source_agent TEXT,
    -- What a rule wrote the entry about.
    rule_key TEXT,
    -- Incremented by every change; starts at 1.
    revision INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    UNIQUE (profile_id, rule_key)
);
CREATE INDEX project_memory_by_profile ON project_memory (profile_id, id);
CREATE TABLE trace_events (
    id TEXT PRIMARY KEY,
    trace_id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    task_id TEXT,
    run_id TEXT,
    job_id TEXT,
    -- The kind of the handoff in which it was recorded.
    handoff TEXT,
    actor TEXT NOT NULL,
    kind TEXT NOT NULL,
    step_index INTEGER,
    stop TEXT,
    fields TEXT NOT NULL,
    -- By the clock of the agent.
    at INTEGER NOT NULL,
    recorded_at INTEGER NOT NULL
, profile_id TEXT);
CREATE INDEX trace_events_by_trace ON trace_events (trace_id, id);
CREATE INDEX trace_events_by_time ON trace_events (recorded_at);
CREATE INDEX runs_by_trace ON runs (trace_id);
CREATE INDEX brain_calls_by_trace ON brain_calls (trace_id);
CREATE INDEX pm_decisions_by_trace ON pm_decisions (trace_id);
CREATE INDEX chat_audit_log_by_request ON chat_audit_log (request_id);
CREATE TABLE skill_versions (
    skill_id TEXT NOT NULL REFERENCES skills (id) ON DELETE CASCADE,
    version INTEGER NOT NULL,
    name TEXT NOT NULL,
    content TEXT NOT NULL,
    content_sha256 TEXT NOT NULL,
    -- Null: the text of a release.
    author_id TEXT REFERENCES users (id),
    reason TEXT,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (skill_id, version)
);
CREATE TABLE skill_scans (
    skill_id TEXT PRIMARY KEY REFERENCES skills (id) ON DELETE CASCADE,
    content_sha256 TEXT NOT NULL,
    -- The fingerprint of the rules.
    rules TEXT NOT NULL,
    -- Why the skill is in quarantine, as JSON; null if it passed.
    findings TEXT,
    -- The rules that an administrator released this text from, as JSON.
    released TEXT,
    scanned_at INTEGER NOT NULL
);
CREATE INDEX skill_scans_quarantined ON skill_scans (skill_id) WHERE findings IS NOT NULL;
CREATE TABLE project_contexts (
    project_id TEXT NOT NULL REFERENCES projects (id),
    tree TEXT NOT NULL,
    rules INTEGER NOT NULL,
    context TEXT NOT NULL,
    used_at INTEGER NOT NULL,
    PRIMARY KEY (project_id, tree)
);
CREATE TABLE knowledge_documents (
    id TEXT PRIMARY KEY,
    profile_id TEXT NOT NULL REFERENCES profiles (id),
    source TEXT NOT NULL,
    path TEXT NOT NULL,
    kind TEXT NOT NULL,
    -- Of the content as it was given; decides whether a document is unchanged.
    hash TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    passages INTEGER NOT NULL,
    -- person or model.
    author_kind TEXT NOT NULL,
    created_by TEXT NOT NULL REFERENCES users (id),
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    UNIQUE (profile_id, source, path)
);
CREATE TABLE knowledge_passages (
    id INTEGER PRIMARY KEY,
    profile_id TEXT NOT NULL,
    document_id TEXT NOT NULL REFERENCES knowledge_documents (id),
    ordinal INTEGER NOT NULL,
    heading TEXT NOT NULL,
    first_line INTEGER NOT NULL,
    last_line INTEGER NOT NULL,
    text TEXT NOT NULL
);
CREATE INDEX knowledge_passages_by_document ON knowledge_passages (document_id);
CREATE TABLE knowledge_terms (
    profile_id TEXT NOT NULL,
    term INTEGER NOT NULL,
    passages INTEGER NOT NULL,
    PRIMARY KEY (profile_id, term)
) WITHOUT ROWID;
CREATE TABLE knowledge_totals (
    profile_id TEXT PRIMARY KEY,
    documents INTEGER NOT NULL,
    passages INTEGER NOT NULL,
    words INTEGER NOT NULL,
    bytes INTEGER NOT NULL
) WITHOUT ROWID;
CREATE VIRTUAL TABLE knowledge_index USING fts5 (
    terms, content = '', contentless_delete = 1, detail = none, tokenize = 'ascii'
);

INSERT INTO policy_revision VALUES (1, 1);
INSERT INTO write_probe VALUES (1, cynode_now(), x'');
INSERT INTO blob_groups
WITH RECURSIVE numbers (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n < 255)
SELECT printf('%02x', n) FROM numbers;
INSERT INTO blob_directory VALUES (lower(hex(randomblob(16))));
INSERT INTO notice_cursor VALUES (1, 0, 0);
