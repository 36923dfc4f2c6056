-- Until when the project manager is waited for to choose the node of a job.
ALTER TABLE jobs ADD COLUMN place_until INTEGER;

-- A handle on the workspace of a task. Its id is that of the job that opened it.
CREATE TABLE sandboxes (
    id TEXT PRIMARY KEY REFERENCES jobs (id),
    task_id TEXT NOT NULL REFERENCES tasks (id),
    made_by TEXT NOT NULL REFERENCES users (id),
    created_at INTEGER NOT NULL,
    destroyed_at INTEGER
);
CREATE INDEX sandboxes_by_task ON sandboxes (task_id, id);

-- Commands that were run through a handle, a job each.
CREATE TABLE sandbox_execs (
    job_id TEXT PRIMARY KEY REFERENCES jobs (id),
    sandbox_id TEXT NOT NULL REFERENCES sandboxes (id),
    idempotency_key TEXT,
    UNIQUE (sandbox_id, idempotency_key)
);
