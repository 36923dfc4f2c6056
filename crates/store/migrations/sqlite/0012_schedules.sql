-- Work that comes due by the clock: schedules, one row for each time that came, and the tasks made for it.

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

-- The number of attempts tells holders of a claim apart: who has an older one writes nothing more.
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
    ended_at INTEGER,
    UNIQUE (schedule_id, due_at)
);
CREATE INDEX schedule_runs_by_schedule ON schedule_runs (schedule_id, id);
CREATE INDEX schedule_runs_open ON schedule_runs (claimed_until) WHERE ended_at IS NULL;

CREATE TABLE schedule_run_tasks (
    run_id TEXT NOT NULL REFERENCES schedule_runs (id) ON DELETE CASCADE,
    task_id TEXT NOT NULL REFERENCES tasks (id),
    PRIMARY KEY (run_id, task_id)
);

-- The run for which a token was issued: what its agent creates, it creates for that schedule.
ALTER TABLE agent_tokens ADD COLUMN schedule_run_id TEXT;
