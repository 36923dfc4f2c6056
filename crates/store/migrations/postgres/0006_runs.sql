-- What people do to runs.

-- Set while no runner may take the task. It is kept here and not in the run, because a claim locks the
-- task, and so cannot miss a pause that was committed a moment before.
ALTER TABLE tasks ADD COLUMN paused_at timestamptz;

-- The run and the row of it that this run goes on from.
ALTER TABLE runs ADD COLUMN parent_run_id uuid;
ALTER TABLE runs ADD COLUMN parent_sequence bigint;

-- Questions of runs to people. An answer is also an effect of the run, under the same key.
CREATE TABLE run_questions (
    run_id uuid NOT NULL REFERENCES runs (id),
    key text COLLATE "C" NOT NULL,
    task_id uuid NOT NULL REFERENCES tasks (id),
    -- The node that asks.
    asked_by text NOT NULL,
    question json NOT NULL,
    asked_at timestamptz NOT NULL,
    -- Until when an answer is waited for; null: for ever.
    answer_by timestamptz,
    answer json,
    answered_by uuid,
    answered_at timestamptz,
    PRIMARY KEY (run_id, key)
);
CREATE INDEX run_questions_open ON run_questions (answer_by) WHERE answered_at IS NULL;

-- What people did to a run, and after which transition of it.
CREATE TABLE run_acts (
    id uuid PRIMARY KEY,
    run_id uuid NOT NULL REFERENCES runs (id),
    task_id uuid NOT NULL,
    sequence bigint NOT NULL,
    verb text NOT NULL,
    user_id uuid NOT NULL,
    handle text NOT NULL,
    detail json NOT NULL,
    recorded_at timestamptz NOT NULL
);
CREATE INDEX run_acts_by_run ON run_acts (run_id, sequence, id);
