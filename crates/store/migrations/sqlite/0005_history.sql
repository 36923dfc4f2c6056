-- History keeps what each transition changed, and a whole state now and then. A checkpoint keeps the
-- position of its run and the newest whole state (its base); what came since is in the history.
-- SQLite cannot take NOT NULL away from a column, so the table is made anew.
CREATE TABLE workflow_history_new (
    run_id TEXT NOT NULL REFERENCES runs (id),
    sequence INTEGER NOT NULL,
    task_id TEXT NOT NULL,
    node_id TEXT NOT NULL,
    edge TEXT NOT NULL,
    step_index INTEGER,
    job_id TEXT,
    state TEXT,
    changes TEXT,
    epoch INTEGER NOT NULL,
    duration_ms INTEGER NOT NULL,
    recorded_at INTEGER NOT NULL,
    PRIMARY KEY (run_id, sequence)
);
INSERT INTO workflow_history_new
    (run_id, sequence, task_id, node_id, edge, step_index, job_id, state, epoch, duration_ms, recorded_at)
    SELECT run_id, sequence, task_id, node_id, edge, step_index, job_id, state, epoch, duration_ms, recorded_at
    FROM workflow_history;
DROP TABLE workflow_history;
ALTER TABLE workflow_history_new RENAME TO workflow_history;

ALTER TABLE workflow_checkpoints ADD COLUMN base_sequence INTEGER NOT NULL DEFAULT 0;
-- The epoch that may move it, as the lease has it: every grant and every fencing writes it here too,
-- so that a transition needs to look at this row only.
ALTER TABLE workflow_checkpoints ADD COLUMN epoch INTEGER NOT NULL DEFAULT 0;
UPDATE workflow_checkpoints SET base_sequence = sequence,
    epoch = coalesce((SELECT l.epoch FROM task_workflow_leases l
        WHERE l.task_id = workflow_checkpoints.task_id), 0);
-- Nobody looks for checkpoints by time, and with this index every transition would write it.
DROP INDEX workflow_checkpoints_by_time;

-- The version of the graph that drives the run; null until a runner took it.
ALTER TABLE runs ADD COLUMN graph_version INTEGER;
-- What it waits for; null when a runner may take it.
ALTER TABLE runs ADD COLUMN waits_for TEXT;
-- Why the last runner put it down, and until when it is left alone.
ALTER TABLE runs ADD COLUMN put_down_reason TEXT;
ALTER TABLE runs ADD COLUMN not_before INTEGER;
UPDATE runs SET graph_version = 1 WHERE status <> 'pending';
UPDATE runs SET waits_for = 'dependencies' WHERE runnable AND EXISTS (
    SELECT 1 FROM task_dependencies d JOIN tasks t ON t.id = d.depends_on_task_id
    WHERE d.task_id = runs.task_id AND t.status <> 'completed');
DROP INDEX runs_runnable;
CREATE INDEX runs_claimable ON runs (id) WHERE runnable AND waits_for IS NULL;
CREATE INDEX runs_waiting ON runs (id) WHERE runnable AND waits_for IS NOT NULL;
