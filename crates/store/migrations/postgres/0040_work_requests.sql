-- A work unit is a child task: the task that it belongs to, and the unit.
ALTER TABLE tasks ADD COLUMN parent_task_id uuid REFERENCES tasks (id);
ALTER TABLE tasks ADD COLUMN work_unit_id text;
CREATE INDEX tasks_by_parent ON tasks (parent_task_id, id) WHERE parent_task_id IS NOT NULL;

-- Submitted work. The task of the same id has its text, owner, project and repository.
CREATE TABLE work_requests (
    task_id uuid PRIMARY KEY REFERENCES tasks (id),
    phase text NOT NULL,
    source json NOT NULL,
    settings json NOT NULL,
    -- What was decided so far.
    state json NOT NULL,
    -- What it waits for from a person.
    question json,
    asked_at timestamptz,
    -- Compared with other open requests of the same user.
    text_sha256 text NOT NULL,
    -- The process that advances it, and until when. The epoch fences an earlier one.
    epoch bigint NOT NULL DEFAULT 0,
    claimed_until timestamptz,
    -- Failures of the present step.
    failures bigint NOT NULL DEFAULT 0,
    -- When it is advanced without an event; null if it waits for its child tasks or a person.
    due_at timestamptz,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL
);
CREATE INDEX work_requests_due ON work_requests (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX work_requests_open ON work_requests (text_sha256) WHERE phase <> 'ended';

-- Attempts at work units and at the other steps of a request, each a child task.
CREATE TABLE unit_attempts (
    task_id uuid NOT NULL REFERENCES tasks (id),
    unit_id text NOT NULL,
    number bigint NOT NULL,
    child_task_id uuid NOT NULL UNIQUE REFERENCES tasks (id),
    -- What came of it, once the request took note of its end.
    outcome json,
    created_at timestamptz NOT NULL,
    concluded_at timestamptz,
    PRIMARY KEY (task_id, unit_id, number)
);
CREATE INDEX unit_attempts_open ON unit_attempts (child_task_id) WHERE concluded_at IS NULL;
