-- What every run writes more than once costs less.

-- Leases and checkpoints are written under the lock of their task, by who has just read it and its run:
-- asking for both again would lock either once more for every run. Tasks and runs are never deleted.
ALTER TABLE task_workflow_leases DROP CONSTRAINT task_workflow_leases_task_id_fkey;
ALTER TABLE task_workflow_leases DROP CONSTRAINT task_workflow_leases_run_id_fkey;
ALTER TABLE workflow_checkpoints DROP CONSTRAINT workflow_checkpoints_task_id_fkey;
ALTER TABLE workflow_checkpoints DROP CONSTRAINT workflow_checkpoints_run_id_fkey;

-- Nobody looks for tasks by their status alone, and with this index a change of it would write all others.
DROP INDEX tasks_open;
ALTER TABLE tasks SET (fillfactor = 80);
ALTER TABLE runs SET (fillfactor = 70);
