-- Which verification a token of an analyst, and a finding, belongs to: run, job and round. Only findings of
-- a verification decide its verdict.
ALTER TABLE agent_tokens ADD COLUMN verification TEXT;
ALTER TABLE verification_findings ADD COLUMN verification TEXT;

-- What was verified of a completed task: verified, unverified or not_checked.
ALTER TABLE tasks ADD COLUMN verification TEXT;

-- The newest verdict of a run on a job, once settled by a person as the person settled it.
CREATE TABLE step_verdicts (
    run_id TEXT NOT NULL REFERENCES runs (id),
    job_id TEXT NOT NULL,
    task_id TEXT NOT NULL REFERENCES tasks (id),
    verdict TEXT NOT NULL,
    recorded_at INTEGER NOT NULL,
    PRIMARY KEY (run_id, job_id)
);
CREATE INDEX step_verdicts_by_task ON step_verdicts (task_id);
