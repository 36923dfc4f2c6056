-- What the runner says that its node waits for, with each renewal of its lease. It holds for that node
-- only: a run that has moved on since waits for something else.
ALTER TABLE task_workflow_leases ADD COLUMN waiting_node TEXT;
ALTER TABLE task_workflow_leases ADD COLUMN waiting_for TEXT;
