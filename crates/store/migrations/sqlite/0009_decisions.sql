-- What the project manager decided, and on what: one row for each decision of a handoff.
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
