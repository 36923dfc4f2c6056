-- History keeps what each transition changed, and a whole state now and then. A checkpoint keeps the
-- position of its run and the newest whole state (its base); what came since is in the history.
ALTER TABLE workflow_history ALTER COLUMN state DROP NOT NULL;
ALTER TABLE workflow_history ADD COLUMN changes json;
-- Rows are written under a checkpoint that names the run. Asking again for each of them would lock
-- the row of the run once for every transition.
ALTER TABLE workflow_history DROP CONSTRAINT workflow_history_run_id_fkey;

ALTER TABLE workflow_checkpoints ADD COLUMN base_sequence bigint NOT NULL DEFAULT 0;
-- The epoch that may move it, as the lease has it: every grant and every fencing writes it here too,
-- so that a transition needs to lock this row only.
ALTER TABLE workflow_checkpoints ADD COLUMN epoch bigint NOT NULL DEFAULT 0;
UPDATE workflow_checkpoints c SET base_sequence = c.sequence,
    epoch = coalesce((SELECT l.epoch FROM task_workflow_leases l WHERE l.task_id = c.task_id), 0);
-- Nobody looks for checkpoints by time, and with this index every transition would write all others.
DROP INDEX workflow_checkpoints_by_time;
ALTER TABLE workflow_checkpoints SET (fillfactor = 70);
ALTER TABLE task_workflow_leases SET (fillfactor = 70);

-- The version of the graph that drives the run; null until a runner took it.
ALTER TABLE runs ADD COLUMN graph_version bigint;
-- What it waits for; null when a runner may take it.
ALTER TABLE runs ADD COLUMN waits_for text;
-- Why the last runner put it down, and until when it is left alone.
ALTER TABLE runs ADD COLUMN put_down_reason text;
ALTER TABLE runs ADD COLUMN not_before timestamptz;
UPDATE runs SET graph_version = 1 WHERE status <> 'pending';
UPDATE runs r SET waits_for = 'dependencies' WHERE runnable AND EXISTS (
    SELECT 1 FROM task_dependencies d JOIN tasks t ON t.id = d.depends_on_task_id
    WHERE d.task_id = r.task_id AND t.status <> 'completed');
DROP INDEX runs_runnable;
CREATE INDEX runs_claimable ON runs (id) WHERE runnable AND waits_for IS NULL;
CREATE INDEX runs_waiting ON runs (id) WHERE runnable AND waits_for IS NOT NULL;
