-- Agents at work on a task: who they are, what they and the project manager said, how far they came,
-- and the units of work that are handed between them.

-- One row for each life of an agent; a task has at most one open life for each role.
CREATE TABLE task_agents (
    id uuid PRIMARY KEY,
    task_id uuid NOT NULL REFERENCES tasks (id),
    role text NOT NULL,
    -- Who speaks in this role: a job, or a token that is bound to none.
    holder text NOT NULL,
    job_id uuid,
    status text NOT NULL,
    closed boolean NOT NULL,
    activity text,
    progress text,
    context_usage bigint,
    artifacts json NOT NULL,
    started_at timestamptz NOT NULL,
    last_heartbeat_at timestamptz NOT NULL,
    ended_at timestamptz
);
CREATE UNIQUE INDEX task_agents_open ON task_agents (task_id, role) WHERE NOT closed;
CREATE INDEX task_agents_by_task ON task_agents (task_id, id);

CREATE TABLE agent_messages (
    id uuid PRIMARY KEY,
    task_id uuid NOT NULL REFERENCES tasks (id),
    -- The life that sent it; null for the project manager.
    agent_id uuid REFERENCES task_agents (id),
    sender text NOT NULL,
    recipient text NOT NULL,
    kind text NOT NULL,
    -- The type within its kind, such as work_completed or revise.
    subtype text NOT NULL,
    component text,
    work_unit_id text,
    content text NOT NULL,
    payload json NOT NULL,
    -- A repeated message has the key of the first, and is not stored again.
    idempotency_key text NOT NULL,
    created_at timestamptz NOT NULL,
    -- Instructions only: when the agent first got it, and when it said so.
    delivered_at timestamptz,
    acknowledged_at timestamptz,
    -- Messages to the project manager only: when it was done with it.
    processed_at timestamptz,
    UNIQUE (task_id, sender, idempotency_key)
);
CREATE INDEX agent_messages_by_task ON agent_messages (task_id, id);
CREATE INDEX agent_messages_unprocessed ON agent_messages (id)
    WHERE processed_at IS NULL AND recipient = 'pm';
CREATE INDEX agent_messages_pending ON agent_messages (task_id, recipient, id)
    WHERE acknowledged_at IS NULL AND kind = 'instruction';

CREATE TABLE agent_checkpoints (
    id uuid PRIMARY KEY,
    task_id uuid NOT NULL REFERENCES tasks (id),
    role text NOT NULL,
    agent_id uuid NOT NULL REFERENCES task_agents (id),
    summary text NOT NULL,
    completed_items json NOT NULL,
    pending_items json NOT NULL,
    active_files json NOT NULL,
    notes text,
    created_at timestamptz NOT NULL
);
CREATE INDEX agent_checkpoints_by_role ON agent_checkpoints (task_id, role, id);

CREATE TABLE work_plans (
    task_id uuid PRIMARY KEY REFERENCES tasks (id),
    issue_number bigint,
    components json NOT NULL,
    created_at timestamptz NOT NULL,
    completed_at timestamptz
);

CREATE TABLE work_units (
    task_id uuid NOT NULL REFERENCES work_plans (task_id),
    -- Such as impl:auth.
    unit_id text COLLATE "C" NOT NULL,
    position bigint NOT NULL,
    component text NOT NULL,
    kind text NOT NULL,
    status text NOT NULL,
    closed boolean NOT NULL,
    -- The role that does it, and the agent that has begun.
    role text NOT NULL,
    agent_id uuid REFERENCES task_agents (id),
    parent_unit_id text,
    artifact_path text,
    summary text,
    metadata json,
    notes text,
    revision_count bigint NOT NULL,
    revision_feedback json,
    assigned_at timestamptz,
    completed_at timestamptz,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (task_id, unit_id),
    UNIQUE (task_id, position)
);
