-- Until when the project manager is waited for to choose the node of a job.
ALTER TABLE jobs ADD COLUMN place_until timestamptz;

-- A handle on the workspace of a task. Its id is that of the job that opened it.
CREATE TABLE sandboxes (
    id uuid PRIMARY KEY REFERENCES jobs (id),
    task_id uuid NOT NULL REFERENCES tasks (id),
    made_by uuid NOT NULL REFERENCES users (id),
    created_at timestamptz NOT NULL,
    destroyed_at timestamptz
);
CREATE INDEX sandboxes_by_task ON sandboxes (task_id, id);

-- Commands that were run through a handle, a job each.
CREATE TABLE sandbox_execs (
    job_id uuid PRIMARY KEY REFERENCES jobs (id),
    sandbox_id uuid NOT NULL REFERENCES sandboxes (id),
    idempotency_key text,
    UNIQUE (sandbox_id, idempotency_key)
);
