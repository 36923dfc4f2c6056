-- The user for whom a job runs: free slots are shared between users.
ALTER TABLE jobs ADD COLUMN owner_id uuid;
UPDATE jobs SET owner_id = (SELECT created_by FROM tasks WHERE tasks.id = jobs.task_id) WHERE NOT closed;
CREATE INDEX jobs_open_by_owner ON jobs (owner_id, id) WHERE NOT closed;
