-- The files that each job left behind. task_artifacts keeps the newest content at a path for people; a step is
-- judged by what its own attempt made.
CREATE TABLE job_outputs (
    job_id TEXT NOT NULL REFERENCES jobs (id),
    path TEXT NOT NULL,
    size_bytes INTEGER NOT NULL,
    checksum_sha256 TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (job_id, path)
);

INSERT INTO job_outputs (job_id, path, size_bytes, checksum_sha256, created_at)
SELECT job_id, path, size_bytes, checksum_sha256, created_at FROM task_artifacts
WHERE job_id IS NOT NULL AND kind = 'output';
