-- What the project manager decided, and on what: one row for each decision of a handoff.
CREATE TABLE pm_decisions (
    id uuid PRIMARY KEY,
    handoff text NOT NULL,
    user_id uuid NOT NULL REFERENCES users (id),
    project_id uuid,
    task_id uuid REFERENCES tasks (id),
    run_id uuid,
    thread_id uuid,
    trace_id text NOT NULL,
    purpose text NOT NULL,
    decided_by text NOT NULL,
    reason text NOT NULL,
    input_hash text NOT NULL,
    model text,
    created_at timestamptz NOT NULL
);
CREATE INDEX pm_decisions_by_task ON pm_decisions (task_id, id);
