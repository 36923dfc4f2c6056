-- What people do to runs.

-- Set while no runner may take the task. It is kept here and not in the run, because a claim locks the
-- task, and so cannot miss a pause that was committed a moment before.
ALTER TABLE tasks ADD COLUMN paused_at INTEGER;

-- The run and the row of it that this run goes on from.
ALTER TABLE runs ADD COLUMN parent_run_id TEXT;
ALTER TABLE runs ADD COLUMN parent_sequence INTEGER;

-- Questions of runs to people. An answer is also an effect of the run, under the same key.
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

-- What people did to a run, and after which transition of it.
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
