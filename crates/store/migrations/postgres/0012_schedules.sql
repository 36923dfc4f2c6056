-- Work that comes due by the clock: schedules, one row for each time that came, and the tasks made for it.

CREATE TABLE schedules (
    id uuid PRIMARY KEY,
    owner_id uuid NOT NULL REFERENCES users (id),
    project_id uuid NOT NULL REFERENCES projects (id),
    name text NOT NULL,
    timing json NOT NULL,
    time_zone text NOT NULL,
    -- From when intervals are counted.
    anchor_at timestamptz NOT NULL,
    payload json NOT NULL,
    is_enabled boolean NOT NULL,
    if_missed text NOT NULL,
    overlap text NOT NULL,
    -- NULL while it is paused, and when it will never be due again.
    next_due_at timestamptz,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    UNIQUE (owner_id, project_id, name)
);
CREATE INDEX schedules_by_owner ON schedules (owner_id, id);
CREATE INDEX schedules_by_due ON schedules (next_due_at) WHERE next_due_at IS NOT NULL;

-- The number of attempts tells holders of a claim apart: who has an older one writes nothing more.
CREATE TABLE schedule_runs (
    id uuid PRIMARY KEY,
    schedule_id uuid NOT NULL REFERENCES schedules (id) ON DELETE CASCADE,
    due_at timestamptz NOT NULL,
    is_manual boolean NOT NULL,
    status text NOT NULL,
    summary text NOT NULL,
    attempts bigint NOT NULL,
    claimed_until timestamptz NOT NULL,
    created_at timestamptz NOT NULL,
    ended_at timestamptz,
    UNIQUE (schedule_id, due_at)
);
CREATE INDEX schedule_runs_by_schedule ON schedule_runs (schedule_id, id);
CREATE INDEX schedule_runs_open ON schedule_runs (claimed_until) WHERE ended_at IS NULL;

CREATE TABLE schedule_run_tasks (
    run_id uuid NOT NULL REFERENCES schedule_runs (id) ON DELETE CASCADE,
    task_id uuid NOT NULL REFERENCES tasks (id),
    PRIMARY KEY (run_id, task_id)
);

-- The run for which a token was issued: what its agent creates, it creates for that schedule.
ALTER TABLE agent_tokens ADD COLUMN schedule_run_id uuid;
