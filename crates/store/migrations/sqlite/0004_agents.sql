-- Agents at work on a task: who they are, what they and the project manager said, how far they came,
-- and the units of work that are handed between them.

-- One row for each life of an agent; a task has at most one open life for each role.
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
    processed_at INTEGER,
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
